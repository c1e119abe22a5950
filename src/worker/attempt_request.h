/* attempt_request.h - builds and sends the request of an attempt, checks its target address, and converts its
 * result. */
#ifndef DUEPOST_WORKER_ATTEMPT_REQUEST_H
#define DUEPOST_WORKER_ATTEMPT_REQUEST_H

#include "worker/attempt_data.h"

/* Starts the request. may_send and on_done receive the attempt as their first argument. Returns NULL if
 * memory is short. */
struct http_call *attempt_request_send(struct attempt *, int64_t timeout_ms, bool (*may_send)(void *),
                                       void (*on_done)(void *, const struct http_outcome *));

/* attempt_result_of converts an outcome of the HTTP client to the result that is stored in the job's record.
 * attempt_metric_of converts the stored result to the result that the metrics count. Do not call them for
 * FAILURE_UNSENT and FAILURE_CROWDED, which are not attempts. The result borrows the outcome's detail. at_ms:
 * time of the claim, by Redis's clock. */
struct attempt_result attempt_result_of(const struct http_outcome *, int64_t at_ms);
enum metrics_result attempt_metric_of(const struct attempt_result *, bool is_not_yet);

#endif
