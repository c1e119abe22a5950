/* job_write.c - a job into its record. job_read.c reads what stands here. */
#include "base/json_writer.h"
#include "job/job.h"
#include "job/member.h"

static void put_sent(struct json_writer *json, const struct job *job)
{
    if (job->has_delay)
        json_add_seconds(json, "delay", job->delay_ms);
    if (job->has_due_at)
        json_add_time(json, "dueAt", job->due_at_ms);
    if (job->has_ttl)
        json_add_seconds(json, "ttl", job->ttl_ms);
    if (job->has_expires_at)
        json_add_time(json, "expiresAt", job->expires_at_ms);
    if (job->has_retry)
        json_add_number(json, "retry", job->retry);
    if (job->has_schedule) {
        json_put_name(json, "retrySchedule");
        retry_schedule_write(&job->schedule, json_put(json));
    }
    if (job->has_timeout)
        json_add_seconds(json, "timeout", job->timeout_ms);
    if (job->has_headers) {
        json_put_name(json, "headers");
        member_write_headers(json_put(json), job->headers, job->header_count, false);
    }
}

static void put_last_attempt(struct json_writer *json, const struct attempt_result *result)
{
    if (result->text.size) {
        json_add_raw(json, "lastAttempt", result->text);
        return;
    }
    json_add_object(json, "lastAttempt");
    json_add_number(json, "at", result->at_ms);
    json_add_number(json, "durationMs", result->duration_ms);
    if (result->error == ATTEMPT_ERROR_NONE)
        json_add_number(json, "status", result->status);
    else
        json_add_text(json, "error", slice_of(attempt_error_word(result->error)));
    if (result->error != ATTEMPT_ERROR_NONE && result->detail.size)
        json_add_text(json, "errorDetail", result->detail);
    json_end_object(json);
}

static void put_kept(struct json_writer *json, const struct job *job)
{
    if (job->attempts)
        json_add_number(json, "attempts", job->attempts);
    if (job->uncounted)
        json_add_number(json, "uncounted", job->uncounted);
    if (job->last_attempt.at_ms)
        put_last_attempt(json, &job->last_attempt);
    if (job->wait_ms)
        json_add_number(json, "waitMs", job->wait_ms);
    if (job->reason.size)
        json_add_text(json, "reason", job->reason);
    if (job->trace_parent.size)
        json_add_text(json, "traceparent", job->trace_parent);
    if (job->trace_state.size)
        json_add_text(json, "tracestate", job->trace_state);
}

void job_write(const struct job *job, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    if (job->created_ms) {
        json_put_object(&json);
        json_add_number(&json, "createdAt", job->created_ms);
    }
    json_add_text(&json, "url", job->url);
    put_sent(&json, job);
    put_kept(&json, job);
#ifdef DUEPOST_TEST_NEXT
    if (job->next.size) {
        json_add_text(&json, "next", job->next);
        if (slice_starts_with(job->next, SLICE("needed")))
            json_add_raw(&json, "needs", SLICE("[\"next\"]"));
    }
#endif
    carried_write(&job->carried, &json);
    if (job->body.size)
        json_add_raw(&json, "body", job->body);
    json_end_object(&json);
}
