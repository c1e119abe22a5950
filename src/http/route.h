/* route.h - finds the route and the method of a request in a dialect's table. */
#ifndef DUEPOST_HTTP_ROUTE_H
#define DUEPOST_HTTP_ROUTE_H

#include "http/dialect.h"

enum { ROUTE_PATH_MAX = 1024 };

/* Finds the route for the target of a request (path and query, not decoded). Decodes the segments that are
 * names into path, a buffer of ROUTE_PATH_MAX bytes, and reads the names from there. The rest of an open path
 * may be longer. Returns NULL if the dialect has no such path, or if a segment cannot be a topic, a jobId or
 * a receiver. */
const struct route *route_find(const struct dialect *, struct slice target, struct buffer *path,
                               struct route_names *, struct slice *query);

/* Writes the beginning of the path that the client may have meant, such as "/jobs" for "/job/a". Writes ""
 * without a suggestion. */
enum { ROUTE_SUGGESTION_SIZE = 40 };
void route_suggest(const struct dialect *, struct slice target, char meant[ROUTE_SUGGESTION_SIZE]);

/* Functions that read the names in a path, for struct route. */
route_names_fn route_names_topic;
route_names_fn route_names_topics;   /* a topic, or a pattern of topics such as "orders-*", as topic */
route_names_fn route_names_job;      /* topic and jobId */
route_names_fn route_names_group;    /* group */
route_names_fn route_names_limit;    /* name of a limit */
route_names_fn route_names_lane;     /* topic and a key of it, as topic and job_id */
route_names_fn route_names_schedule; /* topic and scheduleId, as topic and job_id */
route_names_fn route_names_workflow; /* topic and workflowId, as topic and job_id */
route_names_fn route_names_receiver; /* receiver, converted to its normal spelling */

/* Aborts the process if a method in the table has no reach, no scopes or no label. */
void route_check_table(const struct dialect *);

/* Returns the route's method with this name. For HEAD, returns the method GET. Returns NULL if the route does
 * not have it. */
const struct method *route_method(const struct route *, struct slice name);

/* Appends the methods of the route, such as "GET, HEAD, PUT, PATCH, DELETE". */
void route_allow(const struct route *, struct buffer *text);

#endif
