/* attempt_private.h - what the files of an attempt (attempt*.c) share. */
#ifndef DUEPOST_WORKER_ATTEMPT_PRIVATE_H
#define DUEPOST_WORKER_ATTEMPT_PRIVATE_H

#include "job/delivery/batch.h"
#include "job/request.h"
#include "worker/attempt.h"

/* ---- the request ----
 *
 * Built and sent; the target address is checked, and the result converted. */

/* Starts the request. may_send and on_done receive the attempt as their first argument. Returns NULL if
 * memory is short. */
struct http_call *attempt_request_send(struct attempt *, int64_t timeout_ms, bool (*may_send)(void *),
                                       void (*on_done)(void *, const struct http_outcome *));

/* Returns whether the request has a token, with which the receiver may end the attempt later. */
bool attempt_may_defer(const struct attempt *);

/* attempt_result_of converts an outcome of the HTTP client to the result that is stored in the job's record.
 * attempt_metric_of converts the stored result to the result that the metrics count. Do not call them for
 * FAILURE_UNSENT and FAILURE_CROWDED, which are not attempts. The result borrows the outcome's detail. at_ms:
 * time of the claim, by Redis's clock. */
struct attempt_result attempt_result_of(const struct http_outcome *, int64_t at_ms);
enum metrics_result attempt_metric_of(const struct attempt_result *, bool is_not_yet);

/* ---- the ends of an attempt, for its company ---- */

void attempt_move(struct attempt *, enum attempt_state to);
bool attempt_needs_permit(const struct attempt *);
bool attempt_may_send_at(const struct attempt *, int64_t now_us); /* CLOCK_BOOTTIME */
void attempt_end_by(struct attempt *, enum ending_cause);
void attempt_hold(struct attempt *, enum ending_cause, int64_t hold_ms);
void attempt_end_by_outcome(struct attempt *, const struct http_outcome *, const struct batch_result *own);

/* Releases the job, because what says who sends the request is missing (identity.h). */
void attempt_hold_by_identity(struct attempt *, int64_t wait_ms);

/* Returns whether an address is allowed, and otherwise notes why (may_connect of the HTTP client). */
bool attempt_may_connect(void *attempt, const struct sockaddr *);

/* Writes the headers of the request. batch_count: number of its jobs; 0: this job alone, not in the form of a
 * batch. */
void attempt_write_headers(struct attempt *, struct slice payload, size_t batch_count, struct header_lines *);

/* ---- log lines ----
 *
 * Logs one line for each failed attempt and for each job that ended.
 *
 * A line names the receiver by host and port only, because a path may be a secret. If the log level omits a
 * line, the functions return at once. */

/* Writes attempt_failed, or job_dead if this attempt was the job's last. The job's last_attempt must be
 * this attempt. */
void attempt_log_failure(const struct attempt *);

/* Writes job_not_yet for a job that the receiver wants to get again later. */
void attempt_log_round(const struct attempt *);

/* Writes job_deferred: the receiver reports later what became of the job. */
void attempt_log_deferral(const struct attempt *);

/* Writes job_dead for a job that was not attempted. */
void attempt_log_unsent(const struct attempt *);

/* Writes attempt_replaced: a new job has replaced the job during this attempt, so its outcome has no effect.
 */
void attempt_log_replaced(const struct attempt *);

/* Writes job_delivered. Call it after Redis has stored the ending. */
void attempt_log_delivery(const struct attempt *);

/* ---- the span ----
 *
 * The span of an attempt, if duepost records spans (tracing/tracer.h). */

/* Begins the span and writes its traceparent. The span's parent is the job's traceparent. If the job has no
 * traceparent, the attempt begins a new trace. */
void attempt_span_begin(struct attempt *, char context[TRACE_PARENT_BYTES]);

/* Records the span after the ending was decided, and makes it an exemplar of the metrics. Does nothing
 * without a span. */
void attempt_span_end(struct attempt *, const struct attempt_result *);

#endif
