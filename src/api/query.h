/* query.h - parameters behind the '?'. */
#ifndef DUEPOST_API_QUERY_H
#define DUEPOST_API_QUERY_H

#include "api/exchange.h"

/* True when there are no parameters; else it answers 400, which names each. */
bool query_is_empty(struct exchange *);

/* These read those of lists of jobs, of GET /topics and of GET /receivers into exchange->parameters; false:
 * it has answered 400, or 403 where the token does not reach the topic. */
bool query_read_list(struct exchange *);
bool query_read_cancel(struct exchange *);
bool query_read_redrive(struct exchange *);
bool query_read_topics(struct exchange *);
bool query_read_receivers(struct exchange *);

#endif
