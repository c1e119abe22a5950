/* query.h - parameters behind the '?'. */
#ifndef DUEPOST_API_QUERY_H
#define DUEPOST_API_QUERY_H

#include "api/exchange.h"

/* True when there are no parameters; else it answers 400, which names each. */
bool query_is_empty(struct exchange *);

/* These read those of GET /jobs and GET /topics into exchange->list; false: it has answered 400. */
bool query_read_list(struct exchange *);
bool query_read_topics(struct exchange *);

#endif
