/* http_call_tls.h - inside the HTTP client: how libssl reads for libcurl. */
#ifndef DUEPOST_IO_HTTP_CALL_TLS_H
#define DUEPOST_IO_HTTP_CALL_TLS_H

#include <curl/curl.h>

/* Makes a read of this handle return after each TLS record, even if the record has no bytes for the caller,
 * such as a session ticket. By default libssl reads on until such bytes come. So a receiver that sends such
 * records without end could keep the loop inside one read. */
void http_call_limit_reads(CURL *);

#endif
