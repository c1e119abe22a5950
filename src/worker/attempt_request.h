/* attempt_request.h - an attempt's POST: its headers, its body, and where it may go. */
#ifndef DUEPOST_WORKER_ATTEMPT_REQUEST_H
#define DUEPOST_WORKER_ATTEMPT_REQUEST_H

#include "worker/attempt.h"

/* Starts it. may_send and on_done get the attempt. NULL: there is no memory for it. */
struct http_post *attempt_request_post(struct attempt *, int64_t timeout_ms, bool (*may_send)(void *),
                                       void (*on_done)(void *, const struct http_outcome *));

#endif
