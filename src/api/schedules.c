/* schedules.c - /schedules: lists, and GET, PUT, PATCH, DELETE, run and preview of one schedule; GET /cron */
#include "api/api_private.h"
#include "app/schedules.h"
#include "base/duration.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "http/request_headers.h"
#include "job/job_id.h"
#include "job/schedule/recurring.h"

/* The parameters of a list. The exchange has this struct as its state. */
struct schedule_query {
    const struct app *app;
    struct app_schedule_list list;
    struct recurring_cursor from;
    struct job_labels labels;
    char text[QUERY_BYTES_MAX + 1]; /* the decoded query; the values point into it */
};

/* ---- values of the parameters of a list ---- */

static const char *read_cursor(void *into, struct slice value)
{
    struct schedule_query *query = into;
    return query_open_cursor(&value) && app_schedule_cursor_parse(query->app, value, &query->from)
               ? NULL
               : QUERY_CURSOR_EXPECTED;
}

static const char *read_id_prefix(void *into, struct slice value)
{
    struct schedule_query *query = into;
    query->list.prefix = value;
    return value.size > 0 && value.size <= RECURRING_ID_MAX ? NULL : "must be the beginning of a scheduleId";
}

static const char *read_topic_prefix(void *into, struct slice value)
{
    struct schedule_query *query = into;
    query->list.prefix = value;
    return value.size > 0 && value.size <= JOB_TOPIC_NAME_MAX && !memchr(value.data, '/', value.size)
               ? NULL
               : "must be the beginning of the name of a topic";
}

static const char *read_paused(void *into, struct slice value)
{
    struct schedule_query *query = into;
    query->list.has_paused = true;
    return query_value_flag(&query->list.is_paused, value);
}

static const char *read_key(void *into, struct slice value)
{
    struct schedule_query *query = into;
    query->list.has_key = true;
    query->list.key = value;
    return value.size == 0 || lane_key_is_valid(value) ? NULL : QUERY_KEY_EXPECTED;
}

/* ---- parameters ---- */

enum parameter {
    PARAMETER_LIMIT,
    PARAMETER_CURSOR,
    PARAMETER_ID_PREFIX,
    PARAMETER_TOPIC_PREFIX,
    PARAMETER_PAUSED,
    PARAMETER_NEXT_AFTER,
    PARAMETER_NEXT_BEFORE,
    PARAMETER_LABEL,
    PARAMETER_KEY,
    PARAMETER_COUNT
};

static const struct query_parameter parameters[PARAMETER_COUNT] = {
    [PARAMETER_LIMIT] = {"limit", QUERY_LIMIT(struct schedule_query, list.max)},
    [PARAMETER_CURSOR] = {"cursor", read_cursor, 0},
    [PARAMETER_ID_PREFIX] = {"idPrefix", read_id_prefix, 0},
    [PARAMETER_TOPIC_PREFIX] = {"topicPrefix", read_topic_prefix, 0},
    [PARAMETER_PAUSED] = {"paused", read_paused, 0},
    [PARAMETER_NEXT_AFTER] = {"nextAfter", QUERY_TIME(struct schedule_query, list.after_ms)},
    [PARAMETER_NEXT_BEFORE] = {"nextBefore", QUERY_TIME(struct schedule_query, list.before_ms)},
    [PARAMETER_LABEL] = {"label", QUERY_LABELS(struct schedule_query, labels)},
    [PARAMETER_KEY] = {"key", read_key, 0},
};

/* Reads the query. Returns NULL after answering 400. */
static const struct schedule_query *schedule_query_read(struct exchange *exchange)
{
    struct schedule_query *query = NEW(struct schedule_query);
    struct buffer text = buffer_of(query->text, sizeof query->text);
    unsigned other = exchange->topic.size ? PARAMETER_TOPIC_PREFIX : PARAMETER_ID_PREFIX;
    struct query_reading reading = {.exchange = exchange,
                                    .parameters = parameters,
                                    .count = PARAMETER_COUNT,
                                    .known = ((1U << PARAMETER_COUNT) - 1) & ~(1U << other),
                                    .repeatable = 1U << PARAMETER_LABEL};
    query->app = app_of(exchange);
    query->list = (struct app_schedule_list){
        .topic = exchange->topic, .max = QUERY_LIMIT_DEFAULT, .from = &query->from, .labels = &query->labels};
    exchange_keep(exchange, query, free);
    query_read(&reading, query, &text);
    return query_end(&reading) ? query : NULL;
}

/* ---- a schedule as JSON ---- */

static const char *const outcome_words[] = {
    [FIRED_NEVER] = "none",
    [FIRED_DONE] = "fired",
    [FIRED_SKIPPED] = "skipped",
    [FIRED_OVERLAP] = "overlap",
    [FIRED_CONFLICT] = "conflict",
    [FIRED_NO_URL] = "noUrl",
    [FIRED_FULL] = "full",
    [FIRED_QUOTA] = "quota",
    [FIRED_HELD] = "held",
    [FIRED_NO_GROUP] = "noGroup",
    [FIRED_UNSENDABLE] = "unsendable",
};

/* Adds the outcome of the last occurrence, if it is known. */
static void add_last_job(struct json_writer *json, const struct stored_job *job)
{
    struct job read;
    if (job->id.size == 0)
        return;
    json_add_text(json, "state", slice_of(job_state_word(job->state)));
    if (job_read(job->id, job->record, &read) != STATUS_OK)
        return;
    json_add_number(json, "attempts", read.attempts);
    if (read.reason.size)
        json_add_text(json, "reason", read.reason);
    job_fini(&read);
}

static void add_last(struct json_writer *json, const struct app_schedule *schedule)
{
    if (schedule->last.outcome == FIRED_NEVER)
        return;
    json_add_object(json, "last");
    json_add_time(json, "time", schedule->last.time_ms);
    json_add_text(json, "outcome", slice_of(outcome_words[schedule->last.outcome]));
    json_add_time(json, "at", schedule->last.at_ms);
    json_add_bool(json, "missed", schedule->last.is_missed);
    if (schedule->last.job.size) {
        struct slice topic, job_id;
        slice_cut(schedule->last.job, '/', &topic, &job_id);
        json_add_text(json, "jobId", job_id);
        if (schedule->sent_count)
            sends_add_jobs(json, schedule->last.job, schedule->sent, schedule->sent_count);
        else
            add_last_job(json, &schedule->last_job);
    }
    json_end_object(json);
}

static void add_expectation(struct json_writer *json, const struct app_schedule *schedule)
{
    if (!schedule->recurring || !schedule->recurring->expect_by_ms)
        return;
    if (schedule->missed_ms >= 0) {
        json_add_time(json, "expectedUntil", schedule->missed_ms);
        json_add_bool(json, "missed", schedule->is_missed);
    }
    if (schedule->delivered_ms)
        json_add_time(json, "deliveredAt", schedule->delivered_ms);
}

static void put_schedule(struct json_writer *json, const struct app_schedule *schedule)
{
    struct slice topic, schedule_id;
    slice_cut(schedule->id, '/', &topic, &schedule_id);
    json_put_object(json);
    json_add_text(json, "topic", topic);
    json_add_text(json, "scheduleId", schedule_id);
    if (schedule->recurring)
        recurring_show(schedule->recurring, schedule->job, json);
    else
        json_add_text(json, "problem",
                      slice_of(schedule->needs_later
                                   ? "needs a later version of duepost, or an encryption key"
                                   : "the definition cannot be read"));
    json_add_array(json, "next");
    for (size_t i = 0; i < schedule->time_count; i++)
        json_put_time(json, schedule->times_ms[i]);
    json_end_array(json);
    add_last(json, schedule);
    add_expectation(json, schedule);
    json_end_object(json);
}

/* ---- answers ---- */

static void on_schedule(void *arg, const struct app_schedule *schedule)
{
    struct exchange *exchange = arg;
    struct etag *etag = exchange->state;
    struct json_writer json = json_writer_to(exchange_scratch(exchange));
    char tag[JOB_TAG_SIZE] = "";
    if (schedule->tag.size < sizeof tag)
        memcpy(tag, schedule->tag.data, schedule->tag.size);
    etag_header(tag, etag);
    put_schedule(&json, schedule);
}

static void schedule_refuse(struct exchange *exchange, const struct app_verdict *verdict,
                            const char *consequence)
{
    struct problem_words words = {"schedule", consequence};
    struct slice tags = buffer_slice(&exchange->seen);
    switch (verdict->end) {
    case STATUS_NOT_FOUND:
        exchange_refuse(exchange, 404, "There is no such schedule.");
        return;
    case STATUS_STALE:
        exchange_refuse(exchange, 412, "The schedule does not meet If-%sMatch; nothing changed.",
                        tags.size && tags.data[0] == JOB_TAGS_EXCLUDED ? "None-" : "");
        return;
    case STATUS_UNREADABLE:
        exchange_refuse(
            exchange, 409,
            "The schedule's definition in Redis cannot be read. PUT replaces it, DELETE removes it.");
        return;
    case STATUS_LACKING:
        exchange_refuse(exchange, 409,
                        "The schedule needs a later version of duepost, or an encryption key that this "
                        "process lacks: send the request to a process that has it.");
        return;
    default:
        problem_answer_verdict(exchange, verdict, &words);
    }
}

/* Answers with the schedule that on_schedule has written. */
static void answer_schedule(struct exchange *exchange, unsigned status)
{
    struct etag etag =
        *(const struct etag *)exchange->state; /* a copy, because the answer frees the request's state */
    struct http_header header = {SLICE("ETag"), slice_of(etag.text)};
    exchange_answer(exchange, status, &header, 1, buffer_slice(&exchange->site->scratch));
}

static void keep_etag(struct exchange *exchange)
{
    exchange_keep(exchange, NEW(struct etag), free);
}

/* ---- GET ---- */

static void on_read(void *arg, const struct app_verdict *verdict)
{
    if (verdict->end == STATUS_OK)
        answer_schedule(arg, 200);
    else
        schedule_refuse(arg, verdict, problem_of_read.consequence);
}

HANDLER(schedule_read_handle)
{
    keep_etag(exchange);
    app_schedule_read(app_of(exchange), exchange->key, on_schedule, on_read, exchange);
}

static void on_schedule_of_page(void *arg, const struct app_schedule *schedule)
{
    struct page *page = arg;
    put_schedule(&page->json, schedule);
}

static void list_schedules(struct exchange *exchange)
{
    const struct schedule_query *query = schedule_query_read(exchange);
    if (query)
        app_schedules(app_of(exchange), &query->list, on_schedule_of_page, page_end,
                      page_new(exchange, "schedules"));
}

HANDLER(schedules_handle)
{
    list_schedules(exchange);
}

HANDLER(topic_schedules_handle)
{
    list_schedules(exchange);
}

/* ---- PUT, PATCH ---- */

static void on_defined(void *arg, const struct app_verdict *verdict)
{
    if (verdict->end == STATUS_OK)
        answer_schedule(arg, verdict->was_there ? 200 : 201);
    else
        schedule_refuse(arg, verdict, "Repeating the request is safe.");
}

static void schedule_define(struct exchange *exchange, bool is_patch)
{
    keep_etag(exchange);
    if (!etag_read_matches(exchange))
        return;
    if (!is_patch && job_id_has_dots(exchange->job_id)) {
        exchange_refuse(exchange, 400, "No part of a scheduleId, between slashes, may be \".\" or \"..\".");
        return;
    }
    struct app_schedule_call call = {.id = exchange->key,
                                     .text = http_request_body(exchange->request),
                                     .tags = buffer_slice(&exchange->seen),
                                     .is_patch = is_patch};
    app_schedule_define(app_of(exchange), &exchange->caller, &call, on_schedule, on_defined, exchange);
}

HANDLER(schedule_put_handle)
{
    schedule_define(exchange, false);
}

HANDLER(schedule_patch_handle)
{
    schedule_define(exchange, true);
}

/* ---- DELETE, run ---- */

static void on_deleted(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        schedule_refuse(exchange, verdict,
                        "Repeat the request: the answer 404 then means that the schedule is gone.");
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "topic", exchange->topic);
    json_add_text(&json, "scheduleId", exchange->job_id);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(schedule_delete_handle)
{
    if (etag_read_matches(exchange))
        app_schedule_delete(app_of(exchange), &exchange->caller, exchange->key, buffer_slice(&exchange->seen),
                            on_deleted, exchange);
}

static void on_run(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK && verdict->end != STATUS_REPEATED) {
        schedule_refuse(exchange, verdict,
                        exchange->once.size ? "Repeating the same request is safe."
                                            : "If the request is repeated, the schedule may run twice; an "
                                              "Idempotency-Key prevents that.");
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    view_add_placed(&json, &verdict->job);
    if (verdict->group.size)
        json_add_text(&json, "group", verdict->group);
    json_end_object(&json);
    exchange_answer(exchange, 202, NULL, 0, buffer_slice(body));
}

HANDLER(schedule_run_handle)
{
    if (!idempotency_begin(exchange, exchange->topic, exchange->key, SLICE("")))
        return;
    struct app_schedule_run call = {.id = exchange->key, .once = buffer_slice(&exchange->once)};
    app_schedule_run(app_of(exchange), &exchange->caller, &call, on_run, exchange);
}

/* ---- POST /schedules/<topic>/<scheduleId>/preview ---- */

enum { PREVIEW_TIMES = 20 }; /* number of times if the client does not choose one */

struct preview_query {
    struct app_schedule_preview_call call;
    struct app_schedule_preview preview;
    struct job_errors errors;
    char text[QUERY_BYTES_MAX + 1];
};

static const char *read_count(void *into, struct slice value)
{
    uint64_t count;
    if (!slice_to_number(value, APP_PREVIEW_TIMES_MAX, &count) || count == 0)
        return "must be a number from 1 to 100";
    *(size_t *)into = (size_t)count;
    return NULL;
}

static const struct query_parameter preview_parameters[] = {
    {"count", QUERY_FIELD(read_count, size_t, struct preview_query, call.count)},
};

static const char *const effect_words[] = {
    [RECURRENCE_MOVED] = "moved",
    [RECURRENCE_SKIPPED] = "skipped",
    [RECURRENCE_ONCE] = "once",
    [RECURRENCE_TWICE] = "twice",
};

static const char *const end_words[] = {
    [APP_PREVIEW_END_AT] = "endAt",
    [APP_PREVIEW_END_WINDOWS] = "windows",
    [APP_PREVIEW_END_CALENDAR] = "calendar",
};

static void put_preview(struct json_writer *json, const struct app_schedule_preview *preview)
{
    json_put_object(json);
    json_add_time(json, "now", preview->now_ms);
    json_add_text(json, "text", slice_of(preview->words));
    json_add_bool(json, "paused", preview->is_paused);
    json_add_text(json, "overlap", preview->is_exclusive ? SLICE("skip") : SLICE("allow"));
    json_add_array(json, "times");
    for (size_t i = 0; i < preview->time_count; i++) {
        const struct app_preview_time *time = &preview->times[i];
        json_put_object(json);
        json_add_time(json, "time", time->time_ms);
        json_add_time(json, "dueAt", time->due_ms);
        if (time->is_moved)
            json_add_bool(json, "moved", true);
        if (time->left_out)
            json_add_number(json, "outsideWindows", time->left_out);
        json_end_object(json);
    }
    json_end_array(json);
    if (preview->end != APP_PREVIEW_GOES_ON)
        json_add_text(json, "endsBy", slice_of(end_words[preview->end]));
    json_add_array(json, "clockChanges");
    for (size_t i = 0; i < preview->change_count; i++) {
        const struct recurrence_change *change = &preview->changes[i];
        json_put_object(json);
        json_add_time(json, "at", change->at_ms);
        json_add_number(json, "seconds", change->skew_s);
        json_add_number(json, "times", change->times);
        json_add_text(json, "effect", slice_of(effect_words[change->effect]));
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

HANDLER(schedule_preview_handle)
{
    struct preview_query *query = NEW(struct preview_query);
    struct buffer text = buffer_of(query->text, sizeof query->text);
    struct query_reading reading = {
        .exchange = exchange, .parameters = preview_parameters, .count = 1, .known = 1};
    exchange_keep(exchange, query, free);
    query->call = (struct app_schedule_preview_call){
        .id = exchange->key, .text = http_request_body(exchange->request), .count = PREVIEW_TIMES};
    query_read(&reading, query, &text);
    if (!query_end(&reading))
        return;
    enum status status =
        app_schedule_preview(app_of(exchange), &query->call, &query->preview, &query->errors);
    if (status == STATUS_INVALID || status == STATUS_NO_MEMORY) {
        problem_answer_unparsed(exchange, status, "schedule", &query->errors);
    } else if (status != STATUS_OK) {
        problem_answer_verdict(exchange, &(struct app_verdict){.end = STATUS_UNAVAILABLE}, &problem_of_read);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        put_preview(&json, &query->preview);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
}

/* ---- GET /cron: describes a cron expression in words, with its next times ---- */

struct cron_query {
    struct app_cron_call call;
    struct app_cron_preview preview;
    struct job_errors errors;
    char expression[CRON_TEXT_MAX + 1], windows[QUERY_BYTES_MAX + 1];
    char text[QUERY_BYTES_MAX + 1];
};

/* Copies a value. Many clients send a space as '+'. No cron expression and no windows contain '+'. */
static struct slice copy_spaced(struct slice value, char *into)
{
    for (size_t i = 0; i < value.size; i++)
        into[i] = value.data[i] == '+' ? ' ' : value.data[i];
    return slice_from(into, value.size);
}

static const char *read_expression(void *into, struct slice value)
{
    struct cron_query *query = into;
    if (value.size == 0 || value.size > CRON_TEXT_MAX)
        return "must be a cron expression of at most 255 bytes, such as 0 9 * * mon-fri";
    query->call.expression = copy_spaced(value, query->expression);
    return NULL;
}

static const char *read_every(void *into, struct slice value)
{
    struct cron_query *query = into;
    int64_t *every_ms = &query->call.every_ms;
    return duration_parse(value, RECURRING_EVERY_MAX_MS, every_ms) && *every_ms >= RECURRENCE_EVERY_MIN_MS
               ? NULL
               : "must be a duration from 1s to 10 years, such as 900 or 15m";
}

static const char *read_timezone(void *into, struct slice value)
{
    struct cron_query *query = into;
    query->call.timezone = value;
    return time_zone_name_is_valid(value) ? NULL : "must be the name of a time zone, such as Europe/Berlin";
}

static const char *read_windows(void *into, struct slice value)
{
    struct cron_query *query = into;
    query->call.has_windows = true;
    query->call.windows = copy_spaced(value, query->windows);
    return value.size > 0 && value.data[0] == '[' ? NULL : "must be a JSON array, as in a schedule";
}

enum { CRON_EXPRESSION, CRON_EVERY, CRON_TIMEZONE, CRON_WINDOWS, CRON_FROM, CRON_COUNT };

static const struct query_parameter cron_parameters[CRON_COUNT] = {
    [CRON_EXPRESSION] = {"expression", read_expression, 0},
    [CRON_EVERY] = {"every", read_every, 0},
    [CRON_TIMEZONE] = {"timezone", read_timezone, 0},
    [CRON_WINDOWS] = {"windows", read_windows, 0},
    [CRON_FROM] = {"from", QUERY_TIME(struct cron_query, call.from_ms)},
};

static bool is_given(const struct query_reading *reading, int parameter)
{
    return reading->given >> parameter & 1;
}

/* Reads the query. Returns false after answering 400. */
static bool read_parameters(struct exchange *exchange, struct cron_query *query)
{
    struct buffer text = buffer_of(query->text, sizeof query->text);
    struct query_reading reading = {.exchange = exchange,
                                    .parameters = cron_parameters,
                                    .count = CRON_COUNT,
                                    .known = (1 << CRON_COUNT) - 1};
    query->call.from_ms = app_now_ms(app_of(exchange));
    query_read(&reading, query, &text);
    bool has_every = is_given(&reading, CRON_EVERY);
    if (has_every && is_given(&reading, CRON_EXPRESSION))
        query_add_error(&reading, SLICE("every"), "cannot be combined with expression");
    if (!has_every && !is_given(&reading, CRON_EXPRESSION))
        query_add_error(&reading, SLICE("expression"), "is required if every is absent");
    return query_end(&reading);
}

HANDLER(cron_handle)
{
    struct cron_query *query = NEW(struct cron_query);
    exchange_keep(exchange, query, free);
    if (!read_parameters(exchange, query))
        return;
    if (app_cron_preview(app_of(exchange), &query->call, &query->preview, &query->errors)) {
        struct slice zone = query->call.timezone;
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        json_put_object(&json);
        json_add_text(&json, "text", slice_of(query->preview.words));
        json_add_text(&json, "timezone", zone.size ? zone : SLICE("UTC"));
        json_add_array(&json, "next");
        for (size_t i = 0; i < query->preview.time_count; i++)
            json_put_time(&json, query->preview.times_ms[i]);
        json_end_array(&json);
        json_end_object(&json);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    } else {
        exchange_refuse_errors(exchange, "query", &query->errors);
    }
}
