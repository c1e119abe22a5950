/* attempt_request.h - an attempt's request: its headers, its body, where it may go, and its result. */
#ifndef DUEPOST_WORKER_ATTEMPT_REQUEST_H
#define DUEPOST_WORKER_ATTEMPT_REQUEST_H

#include "worker/attempt_data.h"

/* Starts it. may_send and on_done get the attempt. NULL: there is no memory for it. */
struct http_call *attempt_request_send(struct attempt *, int64_t timeout_ms, bool (*may_send)(void *),
                                       void (*on_done)(void *, const struct http_outcome *));

/* The words that jobs and metrics have for an outcome. UNSENT and CROWDED have none: they are not attempts.
 * The result borrows the outcome's detail. at_ms: the claim's time, by Redis's clock. */
struct attempt_result attempt_result_of(const struct http_outcome *, int64_t at_ms);
enum metrics_result attempt_metric_of(const struct http_outcome *);

#endif
