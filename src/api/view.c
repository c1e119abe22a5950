#include "api/view.h"

#include "api/cursor.h"
#include "job/job.h"
#include "job/job_id.h"
#include "job/seconds.h"
#include "job/timestamp.h"

/* recover.lua buries a job after so many lost consumers, without writing its record. */
enum { LOSSES_DEAD = 5 };

static void write_time(struct buffer *body, const char *name, int64_t ms)
{
    char text[TIMESTAMP_SIZE];
    timestamp_format(ms, text);
    buffer_printf(body, ",\"%s\":\"%s\"", name, text);
}

static void write_text(struct buffer *body, const char *name, struct slice text)
{
    buffer_printf(body, ",\"%s\":", name);
    buffer_append_json(body, text);
}

static void write_seconds(struct buffer *body, const char *name, int64_t ms)
{
    buffer_printf(body, ",\"%s\":", name);
    seconds_append(body, ms);
}

void view_write_place(struct buffer *body, enum job_state state, int64_t at_ms)
{
    buffer_printf(body, ",\"state\":\"%s\"", job_state_word(state));
    if (state == JOB_STATE_DELAYED || state == JOB_STATE_READY)
        write_time(body, "dueAt", at_ms);
}

void view_write_placed(struct buffer *body, struct slice key, enum job_state state, int64_t at_ms)
{
    struct slice topic, job_id;
    job_key_parse(key, &topic, &job_id);
    buffer_append(body, SLICE("\"jobId\":"));
    buffer_append_json(body, job_id);
    write_text(body, "topic", topic);
    view_write_place(body, state, at_ms);
}

struct slice view_reason(const struct store_job *stored, const struct job *job)
{
    if (job->reason.size)
        return job->reason;
    return stored->losses >= LOSSES_DEAD ? SLICE("consumer_lost") : SLICE("unreadable");
}

static void write_state(struct buffer *body, const struct store_job *stored, const struct job *job)
{
    view_write_place(body, stored->state, stored->at_ms);
    write_time(body, "createdAt", job->created_ms);
    if (job->has_ttl || job->has_expires_at)
        write_time(body, "expiresAt", job_expires_ms(job, job->created_ms));
    if (stored->state != JOB_STATE_DEAD)
        return;
    write_time(body, "deadAt", stored->at_ms);
    write_text(body, "reason", view_reason(stored, job));
}

/* A query often carries a secret. */
static void write_url(struct buffer *body, struct slice url)
{
    struct slice plain, query;
    bool has_query = slice_cut(url, '?', &plain, &query);
    buffer_append(body, SLICE(",\"url\":"));
    buffer_append_json(body, plain);
    if (has_query && !body->failed) {
        body->size--; /* its closing quote */
        buffer_append(body, SLICE("?***\""));
    }
}

static void write_retries(struct buffer *body, const struct job *job, const struct retry_schedule *fallback)
{
    const struct retry_schedule *schedule = job->has_schedule ? &job->schedule : fallback;
    buffer_printf(body, ",\"retry\":%d,\"retrySchedule\":", job_max_retries(job, fallback));
    retry_schedule_write(schedule, body);
}

static void write_headers(struct buffer *body, const struct job *job)
{
    buffer_append(body, SLICE(",\"headers\":{"));
    for (size_t i = 0; i < job->header_count; i++) {
        bool is_shown = slice_equal_nocase(job->headers[i].name, SLICE("Content-Type"));
        if (i)
            buffer_append_byte(body, ',');
        buffer_append_json(body, job->headers[i].name);
        buffer_append_byte(body, ':');
        buffer_append_json(body, is_shown ? job->headers[i].value : SLICE("***"));
    }
    buffer_append_byte(body, '}');
}

void view_write_result(struct buffer *body, const struct attempt_result *result)
{
    char at[TIMESTAMP_SIZE];
    timestamp_format(result->at_ms, at);
    buffer_printf(body, "\"at\":\"%s\",\"durationMs\":%lld,", at, (long long)result->duration_ms);
    if (result->error == ATTEMPT_ERROR_NONE)
        buffer_printf(body, "\"status\":%d", result->status);
    else
        buffer_printf(body, "\"error\":\"%s\"", attempt_error_word(result->error));
}

static void write_last_attempt(struct buffer *body, const struct attempt_result *last)
{
    buffer_append(body, SLICE(",\"lastAttempt\":{"));
    view_write_result(body, last);
    buffer_append_byte(body, '}');
}

static void write_job(struct buffer *body, const struct store_job *stored, const struct job *job,
                      const struct retry_schedule *fallback)
{
    buffer_append(body, SLICE("{\"jobId\":"));
    buffer_append_json(body, job->job_id);
    write_text(body, "topic", job->topic);
    write_state(body, stored, job);
    write_url(body, job->url);
    if (!job->has_due_at)
        write_seconds(body, "delay", job->delay_ms);
    write_retries(body, job, fallback);
    write_seconds(body, "timeout", job->timeout_ms);
    write_headers(body, job);
    if (job->body.size) {
        buffer_append(body, SLICE(",\"body\":"));
        buffer_append(body, job->body);
    }
    buffer_printf(body, ",\"attempts\":%d", job->attempts);
    if (job->last_attempt.at_ms)
        write_last_attempt(body, &job->last_attempt);
    buffer_append_byte(body, '}');
}

void view_write(struct buffer *body, const struct store_job *stored, const struct retry_schedule *fallback)
{
    struct job job;
    if (job_read(stored->id, stored->record, &job) == STATUS_OK) {
        write_job(body, stored, &job, fallback);
        job_fini(&job);
        return;
    }
    /* Somebody else wrote this record: what is known is shown. */
    struct job unreadable = {.timeout_ms = JOB_TIMEOUT_MS};
    job_key_parse(stored->id, &unreadable.topic, &unreadable.job_id);
    write_job(body, stored, &unreadable, fallback);
}

void view_write_cursor(struct buffer *body, const struct store_cursor *next)
{
    if (next->id.size == 0 && next->shard == 0)
        return;
    buffer_append(body, SLICE(",\"cursor\":\""));
    cursor_write(body, next);
    buffer_append_byte(body, '"');
}
