/* accept.h - the header Accept of a request: RFC 9110, section 12.5.1. */
#ifndef DUEPOST_HTTP_ACCEPT_H
#define DUEPOST_HTTP_ACCEPT_H

#include "http/exchange.h"

enum { ACCEPT_WEIGHT_MAX = 1000 }; /* q=1 */

/* Returns the weight (q) that the header gives to a media type, in thousandths. If several items name the
 * type, the largest weight counts; if none does, returns 0. Ranges such as "text" with any subtype are
 * ignored. An item whose parameter "version" is not in versions is ignored, too. versions ends with NULL; if
 * versions itself is NULL, every version is accepted. */
int accept_weight(const struct exchange *, struct slice type, const char *const *versions);

#endif
