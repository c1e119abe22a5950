/* route.h - finds the route and the method of a request in a dialect's table. */
#ifndef DUEPOST_HTTP_ROUTE_H
#define DUEPOST_HTTP_ROUTE_H

#include "http/dialect.h"

enum { ROUTE_PATH_MAX = 1024 };

/* Finds the route of a raw target (RFC 3986: path and query). Decodes the segments that name something into
 * path, a buffer of ROUTE_PATH_MAX, and reads the names. NULL: the dialect has no such path; a segment that
 * cannot be a topic, a jobId or a receiver is not a path either. */
const struct route *route_find(const struct dialect *, struct slice target, struct buffer *path,
                               struct route_names *, struct slice *query);

/* The names that a route may have. */
route_names_fn route_names_topic;    /* "*" as well, for all topics */
route_names_fn route_names_job;      /* topic and jobId */
route_names_fn route_names_receiver; /* in its one spelling, whichever the path has */

/* Stops the process when a method in the table lacks its reach, its scopes or its label. */
void route_check_table(const struct dialect *);

/* HEAD is GET. NULL: the path has no such method. */
const struct method *route_method(const struct route *, struct slice name);

/* Appends "GET, HEAD, PUT, PATCH, DELETE". */
void route_allow(const struct route *, struct buffer *text);

#endif
