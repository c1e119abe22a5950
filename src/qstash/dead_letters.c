/* dead_letters.c - /v2/dlq: lists dead messages, reads, deletes and retries them. */
#include "app/jobs.h"
#include "base/memory.h"
#include "job/attempt_line.h"
#include "job/json.h"
#include "qstash/answer.h"
#include "qstash/bulk.h"
#include "qstash/dead_letter_id.h"
#include "qstash/message_again.h"

#define ACCEPTED                                                                                             \
    ((((1U << FILTER_MATCHED) - 1) & ~(1U << FILTER_HOST | 1U << FILTER_PATH)) | 1U << FILTER_DLQ_ID |       \
     1U << FILTER_RESPONSE_STATUS | 1U << FILTER_COUNT | 1U << FILTER_CURSOR | 1U << FILTER_FROM |           \
     1U << FILTER_TO | 1U << FILTER_SOURCE)

static void refuse_unknown_letter(struct exchange *exchange)
{
    exchange_refuse(exchange, 404, "dead letter %.*s not found", SLICE_ARG(exchange->key));
}

/* ---- views ---- */

/* Adds the answer of the last attempt, of which the first 1024 bytes are kept. */
static void add_answer(struct json_writer *json, const struct app_job *job, const struct message_view *view)
{
    struct attempt_line line, next;
    struct slice lines = job->last_lines;
    struct buffer text;
    bool has_line = false;
    while (attempt_line_take(&lines, &next)) {
        line = next;
        has_line = true;
    }
    const struct attempt_result *last = &view->job.last_attempt;
    json_add_number(json, "responseStatus", last->at_ms && last->error == FAILURE_NONE ? last->status : 0);
    if (!has_line || line.answer.size == 0)
        return;
    buffer_init_fallible(&text, ATTEMPT_LINE_MAX);
    json_add_text(json, "responseBody", json_text(line.answer, &text));
    buffer_fini(&text);
}

static void add_letter(struct json_writer *json, const struct app_job *job, const struct message_view *view)
{
    char room[MESSAGE_ID_MAX + 1];
    json_put_object(json);
    message_view_add(json, view);
    json_add_text(json, "dlqId", dead_letter_id(view->job.job_id, room));
    add_answer(json, job, view);
    json_end_object(json);
}

/* ---- one ---- */

struct letter_reading {
    struct exchange *exchange;
    char room[MESSAGE_ID_MAX + 1], key[MESSAGE_KEY_SIZE];
};

/* Returns topic/messageId of the dead letter in the path, or an empty slice. */
static struct slice key_of_letter(struct letter_reading *reading)
{
    struct slice message_id = dead_letter_message(reading->exchange->key, reading->room);
    return message_id.size ? message_id_key(message_id, reading->key) : message_id;
}

static bool is_letter(const struct app_verdict *verdict)
{
    return verdict->end == APP_DONE && verdict->job.state == JOB_STATE_DEAD && !verdict->job.is_of_history;
}

static void letter_on_read(void *arg, const struct app_verdict *verdict)
{
    const struct letter_reading *reading = arg;
    struct exchange *exchange = reading->exchange;
    struct message_view view;
    bool is_known = verdict->end == APP_DONE || verdict->end == APP_NOT_FOUND ||
                    verdict->end == APP_HISTORY_UNAVAILABLE; /* the pool has no such message */
    if (!is_known) {
        answer_refuse_verdict(exchange, verdict);
    } else if (!is_letter(verdict) || !message_view_read(verdict->job.id, verdict->job.record, &view)) {
        refuse_unknown_letter(exchange);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        add_letter(&json, &verdict->job, &view);
        message_view_fini(&view);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
}

HANDLER(dead_letter_handle)
{
    struct letter_reading *reading = NEW(struct letter_reading);
    reading->exchange = exchange;
    exchange_keep(exchange, reading, free);
    struct slice key = key_of_letter(reading);
    if (key.size)
        app_read(app_of(exchange), key, letter_on_read, reading);
    else
        refuse_unknown_letter(exchange);
}

/* ---- list ---- */

static void show_letter(struct bulk *bulk, const struct app_job *job, const struct message_view *view)
{
    struct json_writer json =
        bulk->results.size ? json_writer_behind(&bulk->results) : json_writer_to(&bulk->results);
    add_letter(&json, job, view);
}

/* One of the letters whose ids the request has. */
struct list_reading {
    struct bulk *bulk;
    char key[MESSAGE_KEY_SIZE];
};

static void list_on_read(void *arg, const struct app_verdict *verdict)
{
    struct list_reading *reading = arg;
    struct bulk *bulk = reading->bulk;
    struct message_view view;
    bool is_there = is_letter(verdict) && message_view_read(verdict->job.id, verdict->job.record, &view);
    bool is_known = verdict->end == APP_DONE || verdict->end == APP_HISTORY_UNAVAILABLE;
    if (is_there) {
        show_letter(bulk, &verdict->job, &view);
        message_view_fini(&view);
    }
    free(reading);
    bulk_end_one(bulk, is_there || !is_known ? verdict->end : APP_NOT_FOUND);
}

static void list_one(struct bulk *bulk, struct slice message_id)
{
    struct list_reading *reading = NEW(struct list_reading);
    struct slice key = message_id_key(message_id, reading->key);
    reading->bulk = bulk;
    if (key.size)
        app_read(app_of(bulk->exchange), key, list_on_read, reading);
    else
        list_on_read(reading, &(struct app_verdict){.end = APP_NOT_FOUND});
}

static void answer_list(struct bulk *bulk)
{
    struct exchange *exchange = bulk->exchange;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    if (bulk->is_unknown || bulk->results.failed) {
        exchange_refuse(exchange, 503, "the dead letters cannot be read now, or are too large together");
        return;
    }
    json_put_object(&json);
    json_add_array(&json, "messages");
    buffer_append(body, buffer_slice(&bulk->results));
    json_end_array(&json);
    json.needs_comma = true;
    bulk_add_cursor(&json, bulk);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(dead_letters_handle)
{
    static const struct bulk_kind kind = {
        .accepted = ACCEPTED,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .needs_limit = true,
        .act = list_one,
        .show = show_letter,
        .answer = answer_list,
    };
    bulk_begin(exchange, &kind);
}

/* ---- deletion ---- */

/* Deletes a message if it is dead. */
struct deleting {
    struct app *app;
    const struct app_caller *caller;
    char key[MESSAGE_KEY_SIZE], tag[JOB_TAG_SIZE];
    app_verdict_fn *fn;
    void *arg;
};

static void deleting_end(struct deleting *deleting, const struct app_verdict *verdict)
{
    deleting->fn(deleting->arg, verdict);
    free(deleting);
}

static void on_deleted(void *arg, const struct app_verdict *verdict)
{
    deleting_end(arg, verdict->end == APP_MISMATCH ? &(struct app_verdict){.end = APP_NOT_FOUND} : verdict);
}

static void deleting_on_read(void *arg, const struct app_verdict *verdict)
{
    struct deleting *deleting = arg;
    bool is_known = verdict->end == APP_DONE || verdict->end == APP_HISTORY_UNAVAILABLE;
    if (is_letter(verdict)) {
        app_job_tag(&verdict->job, deleting->tag);
        app_cancel(deleting->app, deleting->caller, slice_of(deleting->key), slice_of(deleting->tag),
                   on_deleted, deleting);
    } else {
        deleting_end(deleting, is_known ? &(struct app_verdict){.end = APP_NOT_FOUND} : verdict);
    }
}

static void delete_letter(struct exchange *exchange, struct slice message_id, app_verdict_fn *fn, void *arg)
{
    struct deleting *deleting = NEW(struct deleting);
    deleting->app = app_of(exchange);
    deleting->caller = &exchange->caller;
    deleting->fn = fn;
    deleting->arg = arg;
    struct slice key = message_id_key(message_id, deleting->key);
    if (key.size) {
        deleting->key[key.size] = '\0';
        app_read(deleting->app, key, deleting_on_read, deleting);
    } else {
        deleting_end(deleting, &(struct app_verdict){.end = APP_NOT_FOUND});
    }
}

static void on_one_deleted(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end == APP_NOT_FOUND)
        refuse_unknown_letter(exchange);
    else if (verdict->end != APP_DONE)
        answer_refuse_verdict(exchange, verdict);
    else
        exchange_answer(exchange, 200, NULL, 0, SLICE("{\"deleted\":1}"));
}

HANDLER(dead_letter_delete_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    delete_letter(exchange, dead_letter_message(exchange->key, room), on_one_deleted, exchange);
}

static void on_bulk_deleted(void *arg, const struct app_verdict *verdict)
{
    bulk_end_one(arg, verdict->end);
}

static void bulk_delete_one(struct bulk *bulk, struct slice message_id)
{
    delete_letter(bulk->exchange, message_id, on_bulk_deleted, bulk);
}

static void answer_deleted(struct bulk *bulk)
{
    bulk_answer_count(bulk, "deleted");
}

HANDLER(dead_letters_delete_handle)
{
    static const struct bulk_kind kind = {
        .accepted = ACCEPTED,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .act = bulk_delete_one,
        .answer = answer_deleted,
    };
    bulk_begin(exchange, &kind);
}

/* ---- retry ---- */

static void add_retried(struct json_writer *json, struct slice message_id)
{
    json_put_object(json);
    json_add_text(json, "messageId", message_id);
    json_end_object(json);
}

static void on_one_retried(void *arg, const struct message_sent *sent)
{
    struct exchange *exchange = arg;
    if (sent->status == 404) {
        refuse_unknown_letter(exchange);
    } else if (sent->error.size) {
        exchange_refuse(exchange, sent->status, "%.*s", SLICE_ARG(sent->error));
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        add_retried(&json, sent->id);
        exchange_answer(exchange, 201, NULL, 0, buffer_slice(body));
    }
}

HANDLER(dead_letter_retry_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    message_again(exchange, dead_letter_message(exchange->key, room), on_one_retried, exchange);
}

static void on_bulk_retried(void *arg, const struct message_sent *sent)
{
    struct bulk *bulk = arg;
    struct json_writer json =
        bulk->results.size ? json_writer_behind(&bulk->results) : json_writer_to(&bulk->results);
    if (sent->error.size == 0)
        add_retried(&json, sent->id);
    bulk_end_one(bulk, sent->error.size == 0 ? APP_DONE : sent->status == 404 ? APP_NOT_FOUND : APP_UNKNOWN);
}

static void bulk_retry_one(struct bulk *bulk, struct slice message_id)
{
    message_again(bulk->exchange, message_id, on_bulk_retried, bulk);
}

static void answer_retried(struct bulk *bulk)
{
    struct exchange *exchange = bulk->exchange;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    if (bulk->is_unknown) {
        exchange_refuse(exchange, 503, "%lld messages were sent again; repeat the request for the others",
                        (long long)bulk->done);
        return;
    }
    json_put_object(&json);
    bulk_add_cursor(&json, bulk);
    json_add_array(&json, "responses");
    buffer_append(body, buffer_slice(&bulk->results));
    json_end_array(&json);
    json_end_object(&json);
    exchange_answer(exchange, 201, NULL, 0, buffer_slice(body));
}

HANDLER(dead_letters_retry_handle)
{
    static const struct bulk_kind kind = {
        .accepted = ACCEPTED,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .needs_limit = true,
        .act = bulk_retry_one,
        .answer = answer_retried,
    };
    bulk_begin(exchange, &kind);
}
