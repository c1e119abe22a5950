/* http_handles.h - inside the HTTP client: libcurl's handles that are not in use.
 *
 * A handle keeps the TLS sessions of its latest receivers, so that its next connection to one of them resumes
 * a session. (Handles do not share their sessions. If many handles shared them, libcurl 7.88 would resume
 * only a third of the sessions, because one connection removes a session that another connection is
 * using.) */
#ifndef DUEPOST_IO_HTTP_HANDLES_H
#define DUEPOST_IO_HTTP_HANDLES_H

#include <curl/curl.h>

struct http_handles;

struct http_handles *http_handles_new(void);
void http_handles_free(struct http_handles *); /* NULL is ignored */

/* Returns a new handle, or one that was used before and still has its old options. The caller sets each
 * option on which the call depends. */
CURL *http_handles_take(struct http_handles *);

/* Gives a handle back. Before that, the caller has removed it from the multi handle. */
void http_handles_give(struct http_handles *, CURL *);

#endif
