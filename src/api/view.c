#include "api/api_private.h"

#include "app/jobs.h"
#include "job/text/sealed.h"
#include "job/attempt_line.h"
#include "job/group.h"
#include "job/job_id.h"
#include "job/job_members.h"
#include "job/target/url.h"
#include "job/topic/topic_settings.h"

void view_add_place(struct json_writer *json, enum job_state state, int64_t at_ms)
{
    json_add_text(json, "state", slice_of(job_state_word(state)));
    if (state == JOB_STATE_DELAYED || state == JOB_STATE_READY)
        json_add_time(json, "dueAt", at_ms);
}

void view_add_placed(struct json_writer *json, const struct stored_job *job)
{
    struct slice topic = {NULL, 0}, job_id = {NULL, 0};
    job_key_parse(job->id, &topic, &job_id);
    json_add_text(json, "jobId", job_id);
    json_add_text(json, "topic", topic);
    view_add_place(json, job->state, job->at_ms);
}

static void add_state(struct json_writer *json, const struct stored_job *stored, const struct job *job)
{
    view_add_place(json, stored->state, stored->at_ms);
    json_add_time(json, "createdAt", job->created_ms);
    if (job->has_ttl || job->has_expires_at)
        json_add_time(json, "expiresAt", job_expires_ms(job, job->created_ms));
    if (stored->is_workers)
        json_add_time(json, "leaseUntil", stored->at_ms);
    if (stored->state == JOB_STATE_DEAD) {
        json_add_time(json, "deadAt", stored->at_ms);
        json_add_text(json, "reason", app_job_reason(job, stored->at_ms));
    }
    if (stored->state == JOB_STATE_DELIVERED)
        json_add_time(json, "deliveredAt", stored->at_ms);
    if (stored->state == JOB_STATE_CANCELLED) {
        json_add_time(json, "cancelledAt", stored->at_ms);
        if (job_was_replaced(job))
            json_add_text(json, "reason", job->reason);
    }
    if (stored->until_ms)
        json_add_time(json, "keptUntil", stored->until_ms);
}

void view_add_headers(struct json_writer *json, const struct topic_settings *settings, const struct job *job,
                      bool is_hidden)
{
    struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX];
    size_t count = topic_defaults_headers(settings, job, headers);
    json_put_name(json, "headers");
    headers_write(json_put(json), headers, count, is_hidden);
}

/* Adds the body, except in topics with ~ in their names, where the server creates the jobs. */
static void add_body(struct json_writer *json, const struct stored_job *stored, const struct job *job)
{
    if (topic_is_sibling(job->topic))
        return;
    if (app_job_lacks_body(stored, job))
        json_add_bool(json, "bodyLeftOut", true);
    members_put(&job_members.rows[JOB_BODY_BASE64], job, MEMBERS_FOR_PEOPLE, json);
    members_put(&job_members.rows[JOB_BODY], job, MEMBERS_FOR_PEOPLE, json);
}

void view_add_outcomes(struct json_writer *json, const struct outcome_counts *outcomes)
{
    json_add_number(json, "delivered", outcomes->delivered);
    json_add_number(json, "cancelled", outcomes->cancelled);
    json_add_number(json, "dead", outcomes->dead);
}

void view_add_result(struct json_writer *json, const struct attempt_result *result)
{
    json_add_time(json, "at", result->at_ms);
    json_add_number(json, "durationMs", result->duration_ms);
    attempt_result_add(json, result);
}

/* Adds the last attempt. The attempt that delivered a job is not in its record, but in last_lines. */
static void add_last_attempt(struct json_writer *json, const struct stored_job *stored, const struct job *job)
{
    struct slice lines = stored->last_lines;
    struct attempt_line line;
    const struct attempt_result *last = attempt_line_take(&lines, &line) ? &line.result : &job->last_attempt;
    if (!last->at_ms)
        return;
    json_add_object(json, "lastAttempt");
    view_add_result(json, last);
    json_end_object(json);
}

/* Writes a job. settings: the settings of its topic, or NULL. */
static void put_job(struct json_writer *json, const struct stored_job *stored, const struct job *job,
                    const struct topic_settings *settings, const struct retry_schedule *fallback)
{
    json_put_object(json);
    json_add_text(json, "jobId", job->job_id);
    json_add_text(json, "topic", job->topic);
    add_state(json, stored, job);
    struct slice url = topic_defaults_url(settings, job);
    if (url.size > 0) {
        json_put_name(json, "url");
        url_show(url, json_put(json));
    }
    if (!job->has_due_at)
        json_add_seconds(json, "delay", job->delay_ms);
    const struct retry_schedule *schedule = topic_defaults_schedule(settings, fallback);
    json_add_number(json, "retry", job_max_retries(job, schedule));
    json_put_name(json, "retrySchedule");
    retry_schedule_write(job->has_schedule ? &job->schedule : schedule, json_put(json));
    json_add_seconds(json, "timeout", topic_defaults_timeout_ms(settings, job));
    view_add_headers(json, settings, job, true);
    json_add_number(json, "priority", job_priority(job));
    members_write(&job_members, job, MEMBERS_FOR_PEOPLE, json);
    add_body(json, stored, job);
    /* The record does not count the attempt that delivered the job, so it is added here. */
    json_add_number(json, "attempts", job->attempts + (stored->state == JOB_STATE_DELIVERED));
    if (stored->progress.size)
        view_add_progress(json, stored->id, stored->progress);
    add_last_attempt(json, stored, job);
    json_end_object(json);
}

void view_add_progress(struct json_writer *json, struct slice id, struct slice value)
{
    struct sealed_values values = {.blocks = NULL};
    json_add_raw(json, "progress", job_value_open(id, JOB_PROGRESS, value, &values));
    sealed_values_fini(&values);
}

void view_put_job(struct json_writer *json, const struct stored_job *stored,
                  const struct retry_schedule *fallback)
{
    struct job job;
    struct topic_settings settings;
    bool is_readable = app_job_read(stored, &job);
    bool has_settings =
        stored->settings.size && topic_settings_read_for(job.topic, stored->settings, &settings) == STATUS_OK;
    put_job(json, stored, &job, has_settings ? &settings : NULL, fallback);
    if (is_readable)
        job_fini(&job);
    if (has_settings)
        topic_settings_fini(&settings);
}

void view_add_settings(struct json_writer *json, struct slice text)
{
    struct topic_settings settings;
    json_put_name(json, "settings");
    struct buffer *body = json_put(json);
    size_t start = body->size;
    if (topic_settings_read(text, &settings) == STATUS_OK) {
        topic_settings_show(&settings, body);
        topic_settings_fini(&settings);
    }
    if (body->size == start)
        buffer_append(body, SLICE("{}"));
}

void view_add_group(struct json_writer *json, struct slice name, struct slice text)
{
    json_add_text(json, "group", name);
    json_put_name(json, "endpoints");
    group_show_endpoints(text, json);
}
