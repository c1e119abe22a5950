/* route.h - finds the route and the method of a request in a dialect's table. */
#ifndef DUEPOST_HTTP_ROUTE_H
#define DUEPOST_HTTP_ROUTE_H

#include "http/dialect.h"

enum { ROUTE_PATH_MAX = 1024 };

/* Finds the route of a raw target (RFC 3986: path and query). Decodes the segments that are names into path,
 * a buffer of ROUTE_PATH_MAX, and reads the names. The rest of an open path may be longer. Returns NULL if
 * the dialect has no such path, or if a segment cannot be a topic, a jobId or a receiver. */
const struct route *route_find(const struct dialect *, struct slice target, struct buffer *path,
                               struct route_names *, struct slice *query);

/* Writes the beginning of a path that the client may have meant, such as "/jobs" for "/job/a", or "". */
enum { ROUTE_SUGGESTION_SIZE = 40 };
void route_suggest(const struct dialect *, struct slice target, char meant[ROUTE_SUGGESTION_SIZE]);

/* These functions read the names that a route may have. */
route_names_fn route_names_topic;     /* topic, or a pattern of topics such as "orders-*" */
route_names_fn route_names_job;       /* topic and jobId */
route_names_fn route_names_group;     /* group */
route_names_fn route_names_schedule;  /* topic and scheduleId, as topic and job_id */
route_names_fn route_names_schedules; /* topic, but not a pattern */
route_names_fn route_names_workflow;  /* topic and workflowId, as topic and job_id */
route_names_fn route_names_receiver;  /* receiver, converted to its normal spelling */

/* Stops the process when a method in the table lacks its reach, its scopes or its label. */
void route_check_table(const struct dialect *);

/* Returns the method, and GET for HEAD. Returns NULL if the path does not have the method. */
const struct method *route_method(const struct route *, struct slice name);

/* Appends the methods of the route, such as "GET, HEAD, PUT, PATCH, DELETE". */
void route_allow(const struct route *, struct buffer *text);

#endif
