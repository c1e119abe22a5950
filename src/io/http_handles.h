/* http_handles.h - inside the HTTP client: libcurl's handles that are not in use.
 *
 * A handle keeps the TLS sessions of its latest receivers, so that its next connection to one of them resumes
 * a session. (If many handles shared their sessions, libcurl 7.88 would resume only a third of them, because
 * a connection removes a session that another connection is using.) */
#ifndef DUEPOST_IO_HTTP_HANDLES_H
#define DUEPOST_IO_HTTP_HANDLES_H

#include <curl/curl.h>

struct http_handles;

struct http_handles *http_handles_new(void);
void http_handles_free(struct http_handles *); /* NULL is ignored */

/* Returns a handle, new or used before; the caller sets all options that it needs. */
CURL *http_handles_take(struct http_handles *);

/* Takes a handle that is not in the multi handle. */
void http_handles_give(struct http_handles *, CURL *);

#endif
