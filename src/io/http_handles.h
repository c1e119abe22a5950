/* http_handles.h - inside the HTTP client: libcurl's handles that have connected for http_plain.h, and are
 * not in use.
 *
 * A handle keeps the TLS sessions of its latest receivers, so that its next connection to one of them resumes
 * a session. A handle with which libcurl has read an answer must not come here (http_call_private.h says
 * why). */
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
