/* http_call_tls.h - inside the HTTP client: how libssl reads for libcurl, and the alerts that it reads. */
#ifndef DUEPOST_IO_HTTP_CALL_TLS_H
#define DUEPOST_IO_HTTP_CALL_TLS_H

#include <curl/curl.h>
#include <stdbool.h>

/* Makes libssl note the alerts of this handle's connections, and makes a read return after each TLS record,
 * even if the record has no bytes for the caller, such as a session ticket. By default libssl reads on until
 * such bytes come. So a receiver that sends such records without end could keep the loop inside one read. */
void http_call_set_tls(CURL *);

/* The last fatal TLS alert that libssl has read in this thread since http_call_forget_alert. libcurl's own
 * message may have another cause, because libcurl keeps the first message of a transfer. */
void http_call_forget_alert(void);
bool http_call_has_alert(void);
void http_call_write_alert(char *text, size_t size); /* writes a message for people */

#endif
