/* origin.h - what a web page in somebody's browser may not do.
 *
 * Without tokens (see access.h) everybody on this host may do everything, and with them any page that one of
 * them looks at: a form is POSTed to other sites without asking, and a name of the page's own site may be
 * made to lead to this host, as which the page then speaks (DNS rebinding). Browsers tell: Host is the name
 * by which they came, Origin the site of the page. So a request has to come by a name of this host, and from
 * no other site. */
#ifndef DUEPOST_API_ORIGIN_H
#define DUEPOST_API_ORIGIN_H

#include "api/exchange.h"

/* Where there are no tokens. False: it has answered 403. */
bool origin_admit(struct exchange *);

#endif
