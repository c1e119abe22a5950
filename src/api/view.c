#include "api/view.h"

#include "api/cursor.h"
#include "base/duration.h"
#include "base/timestamp.h"
#include "job/attempt_line.h"
#include "job/job_id.h"
#include "job/json.h"
#include "job/member.h"
#include "job/topic_defaults.h"
#include "job/topic_settings.h"
#include "job/url.h"

void view_write_time(struct buffer *body, const char *name, int64_t ms)
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
        view_write_time(body, "dueAt", at_ms);
}

void view_write_placed(struct buffer *body, struct slice key, enum job_state state, int64_t at_ms)
{
    struct slice topic = {NULL, 0}, job_id = {NULL, 0};
    job_key_parse(key, &topic, &job_id);
    buffer_append(body, SLICE("\"jobId\":"));
    buffer_append_json(body, job_id);
    write_text(body, "topic", topic);
    view_write_place(body, state, at_ms);
}

/* What is shown as it is spelt must not break the answer. Without memory for the check, a record counts as
 * sound: a job must not look unreadable because memory is short. */
static bool is_sound(struct slice record)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault ignored;
    return json_check(record, &limits, &ignored) != STATUS_INVALID;
}

static bool is_deliverable(const struct job *job)
{
    struct url url;
    const char *ignored;
    return job->url.size == 0 || job->lacks.size || url_parse(job->url, &url, &ignored) == STATUS_OK;
}

bool view_read(const struct store_job *stored, struct job *job)
{
    if (is_sound(stored->record) && job_read(stored->id, stored->record, job) == STATUS_OK) {
        if (is_deliverable(job))
            return true;
        job_fini(job);
    }
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS, .reason = SLICE("unreadable")};
    job_key_parse(stored->id, &job->topic, &job->job_id);
    return false;
}

/* Who gives a job up writes why into its record, but for recover.lua. */
struct slice view_reason(const struct job *job)
{
    return job->reason.size ? job->reason : SLICE("consumer_lost");
}

static void write_state(struct buffer *body, const struct store_job *stored, const struct job *job)
{
    view_write_place(body, stored->state, stored->at_ms);
    view_write_time(body, "createdAt", job->created_ms);
    if (job->has_ttl || job->has_expires_at)
        view_write_time(body, "expiresAt", job_expires_ms(job, job->created_ms));
    if (stored->state == JOB_STATE_DEAD) {
        view_write_time(body, "deadAt", stored->at_ms);
        write_text(body, "reason", view_reason(job));
    }
    if (stored->state == JOB_STATE_DELIVERED)
        view_write_time(body, "deliveredAt", stored->at_ms);
    if (stored->state == JOB_STATE_CANCELLED)
        view_write_time(body, "cancelledAt", stored->at_ms);
    if (stored->until_ms)
        view_write_time(body, "keptUntil", stored->until_ms);
}

static void write_url(struct buffer *body, struct slice url)
{
    if (url.size == 0)
        return;
    buffer_append(body, SLICE(",\"url\":"));
    url_show(url, body);
}

static void write_retries(struct buffer *body, const struct job *job, const struct retry_schedule *fallback)
{
    const struct retry_schedule *schedule = job->has_schedule ? &job->schedule : fallback;
    buffer_printf(body, ",\"retry\":%d,\"retrySchedule\":", job_max_retries(job, fallback));
    retry_schedule_write(schedule, body);
}

static void write_headers(struct buffer *body, const struct topic_settings *settings, const struct job *job)
{
    struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX];
    size_t count = topic_defaults_headers(settings, job, headers);
    buffer_append(body, SLICE(",\"headers\":"));
    member_write_headers(body, headers, count, true);
}

static void write_body(struct buffer *body, const struct job *job)
{
    if (job->body.size == 0 || topic_is_sibling(job->topic) || job_id_is_notice(job->job_id))
        return;
    buffer_append(body, SLICE(",\"body\":"));
    buffer_append(body, job->body);
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
    if (result->detail.size)
        write_text(body, "errorDetail", result->detail);
}

/* A delivery's own is not in the record. */
static void write_last_attempt(struct buffer *body, const struct store_job *stored, const struct job *job)
{
    struct slice lines = stored->last_lines;
    struct attempt_line line;
    const struct attempt_result *last = attempt_line_take(&lines, &line) ? &line.result : &job->last_attempt;
    if (!last->at_ms)
        return;
    buffer_append(body, SLICE(",\"lastAttempt\":{"));
    view_write_result(body, last);
    buffer_append_byte(body, '}');
}

/* settings: of its topic, or NULL. */
static void write_job(struct buffer *body, const struct store_job *stored, const struct job *job,
                      const struct topic_settings *settings, const struct retry_schedule *ours)
{
    buffer_append(body, SLICE("{\"jobId\":"));
    buffer_append_json(body, job->job_id);
    write_text(body, "topic", job->topic);
    write_state(body, stored, job);
    write_url(body, topic_defaults_url(settings, job));
    if (!job->has_due_at)
        write_seconds(body, "delay", job->delay_ms);
    write_retries(body, job, topic_defaults_schedule(settings, ours));
    write_seconds(body, "timeout", topic_defaults_timeout_ms(settings, job));
    write_headers(body, settings, job);
    write_body(body, job);
    /* A delivery does not rewrite the record. */
    buffer_printf(body, ",\"attempts\":%d", job->attempts + (stored->state == JOB_STATE_DELIVERED));
    write_last_attempt(body, stored, job);
    buffer_append_byte(body, '}');
}

void view_write(struct buffer *body, const struct store_job *stored, const struct retry_schedule *fallback)
{
    struct job job;
    struct topic_settings settings;
    bool is_readable = view_read(stored, &job);
    bool has_settings = stored->settings.size &&
                        topic_settings_read_for(job.topic, stored->settings, &settings) == STATUS_OK;
    write_job(body, stored, &job, has_settings ? &settings : NULL, fallback);
    if (is_readable)
        job_fini(&job);
    if (has_settings)
        topic_settings_fini(&settings);
}

void view_write_cursor(struct buffer *body, const struct store_cursor *next, int64_t due_ms)
{
    if (next->is_partial)
        buffer_append(body, SLICE(",\"partial\":true"));
    if (cursor_is_end(next))
        return;
    buffer_append(body, SLICE(",\"cursor\":\""));
    cursor_write(body, next, due_ms);
    buffer_append_byte(body, '"');
}

void view_write_settings(struct buffer *body, struct slice text)
{
    struct topic_settings settings;
    buffer_append(body, SLICE(",\"settings\":"));
    size_t start = body->size;
    if (topic_settings_read(text, &settings) == STATUS_OK) {
        topic_settings_show(&settings, body);
        topic_settings_fini(&settings);
    }
    if (body->size == start)
        buffer_append(body, SLICE("{}"));
}
