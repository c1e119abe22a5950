/* job_write.c - a job into its record. job_read.c reads what stands here. */
#include "job/job.h"
#include "job/member.h"
#include "job/seconds.h"
#include "job/timestamp.h"

/* With the comma before it: url has gone before all others. */
static void put_name(struct buffer *out, const char *name)
{
    buffer_append(out, SLICE(",\""));
    buffer_append(out, slice_of(name));
    buffer_append(out, SLICE("\":"));
}

static void put_text(struct buffer *out, const char *name, struct slice text)
{
    put_name(out, name);
    buffer_append_json(out, text);
}

static void put_number(struct buffer *out, const char *name, int64_t number)
{
    put_name(out, name);
    buffer_append_number(out, number);
}

static void put_seconds(struct buffer *out, const char *name, int64_t ms)
{
    put_name(out, name);
    seconds_append(out, ms);
}

static void put_time(struct buffer *out, const char *name, int64_t ms)
{
    char text[TIMESTAMP_SIZE];
    timestamp_format(ms, text);
    put_text(out, name, slice_of(text));
}

static void put_sent(struct buffer *out, const struct job *job)
{
    if (job->has_delay)
        put_seconds(out, "delay", job->delay_ms);
    if (job->has_due_at)
        put_time(out, "dueAt", job->due_at_ms);
    if (job->has_ttl)
        put_seconds(out, "ttl", job->ttl_ms);
    if (job->has_expires_at)
        put_time(out, "expiresAt", job->expires_at_ms);
    if (job->has_retry)
        put_number(out, "retry", job->retry);
    if (job->has_schedule) {
        put_name(out, "retrySchedule");
        retry_schedule_write(&job->schedule, out);
    }
    if (job->has_timeout)
        put_seconds(out, "timeout", job->timeout_ms);
    if (job->has_headers) {
        put_name(out, "headers");
        member_write_headers(out, job->headers, job->header_count, false);
    }
}

static void put_last_attempt(struct buffer *out, const struct attempt_result *result)
{
    put_name(out, "lastAttempt");
    if (result->text.size) {
        buffer_append(out, result->text);
        return;
    }
    buffer_append(out, SLICE("{\"at\":"));
    buffer_append_number(out, result->at_ms);
    put_number(out, "durationMs", result->duration_ms);
    if (result->error == ATTEMPT_ERROR_NONE)
        put_number(out, "status", result->status);
    else
        put_text(out, "error", slice_of(attempt_error_word(result->error)));
    if (result->error != ATTEMPT_ERROR_NONE && result->detail.size)
        put_text(out, "errorDetail", result->detail);
    buffer_append_byte(out, '}');
}

static void put_kept(struct buffer *out, const struct job *job)
{
    if (job->attempts)
        put_number(out, "attempts", job->attempts);
    if (job->uncounted)
        put_number(out, "uncounted", job->uncounted);
    if (job->last_attempt.at_ms)
        put_last_attempt(out, &job->last_attempt);
    if (job->wait_ms)
        put_number(out, "waitMs", job->wait_ms);
    if (job->reason.size)
        put_text(out, "reason", job->reason);
    if (job->trace_parent.size)
        put_text(out, "traceparent", job->trace_parent);
    if (job->trace_state.size)
        put_text(out, "tracestate", job->trace_state);
}

void job_write(const struct job *job, struct buffer *out)
{
    if (job->created_ms) {
        buffer_append(out, SLICE("{\"createdAt\":"));
        buffer_append_number(out, job->created_ms);
        buffer_append_byte(out, ',');
    }
    buffer_append(out, SLICE("\"url\":"));
    buffer_append_json(out, job->url);
    put_sent(out, job);
    put_kept(out, job);
#ifdef DUEPOST_TEST_NEXT
    if (job->next.size) {
        put_text(out, "next", job->next);
        if (slice_starts_with(job->next, SLICE("needed")))
            buffer_append(out, SLICE(",\"needs\":[\"next\"]"));
    }
#endif
    carried_write(&job->carried, out);
    if (job->body.size) {
        put_name(out, "body");
        buffer_append(out, job->body);
    }
    buffer_append_byte(out, '}');
}
