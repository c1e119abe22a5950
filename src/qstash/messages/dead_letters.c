#include "qstash/messages/bulk.h"

#include <stdio.h>

#include "app/jobs.h"
#include "base/memory.h"
#include "qstash/messages/message.h"
#include "qstash/qstash_private.h"

/* ---- deleting one ---- */

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

static const struct app_verdict not_found = {.end = STATUS_NOT_FOUND};

static void on_deleted(void *arg, const struct app_verdict *verdict)
{
    deleting_end(arg, verdict->end == STATUS_STALE ? &not_found : verdict);
}

static void deleting_on_read(void *arg, const struct app_verdict *verdict)
{
    struct deleting *deleting = arg;
    if (dead_letter_is(verdict)) {
        job_tag_of(&verdict->job, deleting->tag);
        app_cancel(deleting->app, deleting->caller, slice_of(deleting->key), slice_of(deleting->tag),
                   on_deleted, deleting);
    } else {
        deleting_end(deleting, answer_is_known(verdict) ? &not_found : verdict);
    }
}

/* Reads the message with this id, and removes it if it is dead and has not changed since it was read. The
 * verdict is OK, NOT_FOUND, or another verdict of app_cancel. message_id is not used after the call. */
static void dead_letter_delete(struct exchange *exchange, struct slice message_id, app_verdict_fn *fn,
                               void *arg)
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
        deleting_end(deleting, &(struct app_verdict){.end = STATUS_NOT_FOUND});
    }
}

static void on_one_deleted(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_NOT_FOUND)
        exchange_refuse(exchange, 404, "dead letter %.*s not found", SLICE_ARG(exchange->key));
    else if (verdict->end != STATUS_OK)
        answer_refuse_verdict(exchange, verdict);
    else
        exchange_answer(exchange, 200, NULL, 0, SLICE("{\"deleted\":1}"));
}

void dead_letter_delete_and_answer(struct exchange *exchange, struct slice message_id)
{
    dead_letter_delete(exchange, message_id, on_one_deleted, exchange);
}

static void on_bulk_deleted(void *arg, const struct app_verdict *verdict)
{
    bulk_end_one(arg, verdict->end);
}

void dead_letter_delete_of_bulk(struct bulk *bulk, struct slice message_id)
{
    dead_letter_delete(bulk->exchange, message_id, on_bulk_deleted, bulk);
}

void dead_letters_answer_deleted(struct bulk *bulk)
{
    bulk_answer_count(bulk, "deleted");
}

/* ---- sending one again ---- */

/* Sends a dead message again, in these steps:
 *
 *   1. read    reads the dead message
 *   2. send    sends the new message, with its own deduplication id
 *   3. remove  removes the dead message, if it has not changed */

/* Called with the new message, or with the error; 404: there is no such dead letter. */
typedef void dead_letter_retry_fn(void *arg, const struct message_sent *);

enum { ONCE_ID_SIZE = MESSAGE_ID_MAX + 32 };

struct retry {
    struct exchange *exchange;
    char room[MESSAGE_KEY_SIZE], tag[JOB_TAG_SIZE], once_id[ONCE_ID_SIZE];
    struct slice key;
    struct dead_letter letter;
    struct message_settings settings;
    struct buffer text; /* decoded settings of callbacks, and their urls */
    struct message *message;
    struct message_sent sent;
    char sent_id[MESSAGE_ID_MAX + 1];
    dead_letter_retry_fn *fn;
    void *arg;
};

static void retry_end(struct retry *retry, const struct message_sent *sent)
{
    retry->fn(retry->arg, sent);
    if (retry->message)
        message_free(retry->message);
    message_settings_fini(&retry->settings);
    dead_letter_fini(&retry->letter);
    buffer_fini(&retry->text);
    free(retry);
}

static void retry_refuse(struct retry *retry, unsigned status, const char *error)
{
    retry_end(retry, &(struct message_sent){.status = status, .error = slice_of(error)});
}

/* ---- sending again: 3. remove ---- */

/* Reports that the dead message could not be removed, although the new message was sent. */
static void on_removed(void *arg, const struct app_verdict *verdict)
{
    struct retry *retry = arg;
    bool is_gone = verdict->end == STATUS_OK || verdict->end == STATUS_NOT_FOUND;
    if (is_gone)
        retry_end(retry, &retry->sent);
    else
        retry_refuse(retry, 503,
                     "the message was sent again, but its dead letter may still be there: repeat "
                     "the request within ten minutes; it does not send a second message");
}

static void retry_on_sent(void *arg, const struct message_sent *sent)
{
    struct retry *retry = arg;
    struct app *app = app_of(retry->exchange);
    if (sent->error.size) {
        retry_end(retry, sent);
        return;
    }
    memcpy(retry->sent_id, sent->id.data, sent->id.size);
    retry->sent = (struct message_sent){.status = 201, .id = slice_from(retry->sent_id, sent->id.size)};
    app_cancel(app, &retry->exchange->caller, retry->key, slice_of(retry->tag), on_removed, retry);
}

/* ---- sending again: 2. send ---- */

/* Takes a header of the request. If the header is a setting, it replaces the same setting of the message. */
static void take_header(void *arg, struct slice name, struct slice value)
{
    struct message_settings *settings = arg;
    static const struct slice label = SLICE_INIT("Upstash-Label");
    static const struct slice type = SLICE_INIT("Content-Type");
    if (slice_equal_nocase(name, type))
        return; /* this is the type of the request's own body, not of the message */
    if (slice_equal_nocase(name, label))
        settings->labels.count = 0;
    message_settings_take(settings, name, value);
}

static void send_again(struct retry *retry)
{
    const struct message_view *view = &retry->letter.view;
    struct message_settings *settings = &retry->settings;
    message_view_take_settings(view, settings, &retry->text);
    http_request_each_header(retry->exchange->request, take_header, settings);
    if (settings->fault[0]) {
        retry_refuse(retry, settings->fault_status, settings->fault);
        return;
    }
    snprintf(retry->once_id, sizeof retry->once_id, "dead-letter/%.*s", SLICE_ARG(view->job.job_id));
    settings->deduplication_id = slice_of(retry->once_id);
    struct message_request request = {
        .url = view->job.url,
        .body = view->body,
        .settings = settings,
        .data = {.group = view->data.group,
                 .endpoint = view->data.endpoint,
                 .queue = view->data.queue,
                 .schedule_id = view->data.schedule_id,
                 .caller_ip = view->data.caller_ip},
        .caller = &retry->exchange->caller,
    };
    retry->message = message_new(app_of(retry->exchange), retry_on_sent, retry);
    message_send(retry->message, &request);
}

/* ---- sending again: 1. read ---- */

static void retry_on_read(void *arg, const struct app_verdict *verdict)
{
    struct retry *retry = arg;
    char text[ANSWER_TEXT_SIZE];
    if (!answer_is_known(verdict)) {
        unsigned status = answer_of_verdict(verdict, text);
        retry_refuse(retry, status, text);
        return;
    }
    dead_letter_keep(&retry->letter, verdict);
    if (retry->letter.is_there)
        job_tag_of(&verdict->job, retry->tag);
    /* A message of a run cannot be sent again without its run. */
    if (retry->letter.is_there && retry->letter.view.data.run.id.size == 0)
        send_again(retry);
    else
        retry_refuse(retry, 404, "there is no such dead letter");
}

/* Sends the message with its own settings, except those that the request's headers replace. If the process
 * dies after the new message is sent and before the dead one is removed, both exist. If the request is
 * repeated within ten minutes, it finds the same new message, and removes the dead one. Copies message_id.
 * Calls back once, perhaps before the call returns. */
static void dead_letter_retry(struct exchange *exchange, struct slice message_id, dead_letter_retry_fn *fn,
                              void *arg)
{
    struct retry *retry = NEW(struct retry);
    retry->exchange = exchange;
    retry->fn = fn;
    retry->arg = arg;
    retry->key = message_id_key(message_id, retry->room);
    message_settings_init(&retry->settings);
    buffer_init(&retry->text, MESSAGE_VIEW_SETTINGS_TEXT);
    if (retry->key.size)
        app_read(app_of(exchange), retry->key, retry_on_read, retry);
    else
        retry_refuse(retry, 404, "there is no such dead letter");
}

exchange_fn run_dead_letters_handle;

#define ACCEPTED                                                                                             \
    ((FILTERS_OF_MESSAGES & ~(1U << FILTER_HOST | 1U << FILTER_PATH)) | 1U << FILTER_DLQ_ID |                \
     1U << FILTER_RESPONSE_STATUS | 1U << FILTER_COUNT | 1U << FILTER_CURSOR | 1U << FILTER_FROM |           \
     1U << FILTER_TO)

static void refuse_unknown_dead_letter(struct exchange *exchange)
{
    exchange_refuse(exchange, 404, "dead letter %.*s not found", SLICE_ARG(exchange->key));
}

/* ---- GET of one ---- */

struct dead_letter_reading {
    struct exchange *exchange;
    char room[MESSAGE_ID_MAX + 1], key[MESSAGE_KEY_SIZE];
};

static void dead_letter_on_read(void *arg, const struct app_verdict *verdict)
{
    const struct dead_letter_reading *reading = arg;
    struct exchange *exchange = reading->exchange;
    struct message_view view;
    if (!answer_is_known(verdict)) {
        answer_refuse_verdict(exchange, verdict);
    } else if (!dead_letter_is(verdict) || !message_view_read(verdict->job.id, verdict->job.record, &view)) {
        refuse_unknown_dead_letter(exchange);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        json_put_object(&json);
        dead_letter_add(&json, &verdict->job, &view);
        json_end_object(&json);
        message_view_fini(&view);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
}

HANDLER(dead_letter_handle)
{
    struct dead_letter_reading *reading = NEW(struct dead_letter_reading);
    reading->exchange = exchange;
    exchange_keep(exchange, reading, free);
    struct slice message_id = dead_letter_message(exchange->key, reading->room);
    struct slice key = message_id.size ? message_id_key(message_id, reading->key) : message_id;
    if (key.size)
        app_read(app_of(exchange), key, dead_letter_on_read, reading);
    else
        refuse_unknown_dead_letter(exchange);
}

/* ---- GET of many ---- */

static void show_dead_letter(struct bulk *bulk, const struct stored_job *job, const struct message_view *view)
{
    struct json_writer json = bulk_writer(bulk);
    json_put_object(&json);
    dead_letter_add(&json, job, view);
    json_end_object(&json);
}

/* The state while a list reads one dead letter, whose id the request names. */
struct list_reading {
    struct bulk *bulk;
    char key[MESSAGE_KEY_SIZE];
};

static void list_on_read(void *arg, const struct app_verdict *verdict)
{
    struct list_reading *reading = arg;
    struct bulk *bulk = reading->bulk;
    struct message_view view;
    bool is_there = dead_letter_is(verdict) && message_view_read(verdict->job.id, verdict->job.record, &view);
    if (is_there) {
        show_dead_letter(bulk, &verdict->job, &view);
        message_view_fini(&view);
    }
    free(reading);
    bulk_end_one(bulk, is_there || !answer_is_known(verdict) ? verdict->end : STATUS_NOT_FOUND);
}

static void list_one(struct bulk *bulk, struct slice message_id)
{
    struct list_reading *reading = NEW(struct list_reading);
    struct slice key = message_id_key(message_id, reading->key);
    reading->bulk = bulk;
    if (key.size)
        app_read(app_of(bulk->exchange), key, list_on_read, reading);
    else
        list_on_read(reading, &(struct app_verdict){.end = STATUS_NOT_FOUND});
}

static void answer_list(struct bulk *bulk)
{
    bulk_answer_results(bulk, 200, "messages");
}

HANDLER(dead_letters_handle)
{
    static const struct bulk_kind kind = {
        .scope = BULK_OF_NO_RUN,
        .is_newest_first = true,
        .accepted = ACCEPTED,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .needs_limit = true,
        .count_max = BULK_LIST_MAX,
        .act = list_one,
        .show = show_dead_letter,
        .answer = answer_list,
    };
    if (query_has(exchange->query, SLICE("source=workflow")))
        run_dead_letters_handle(exchange);
    else
        bulk_begin(exchange, &kind);
}

/* ---- DELETE ---- */

HANDLER(dead_letter_delete_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    dead_letter_delete_and_answer(exchange, dead_letter_message(exchange->key, room));
}

HANDLER(dead_letters_delete_handle)
{
    static const struct bulk_kind kind = {
        .scope = BULK_OF_NO_RUN,
        .accepted = ACCEPTED,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .act = dead_letter_delete_of_bulk,
        .answer = dead_letters_answer_deleted,
    };
    bulk_begin(exchange, &kind);
}

/* ---- POST of retries ---- */

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
        refuse_unknown_dead_letter(exchange);
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
    dead_letter_retry(exchange, dead_letter_message(exchange->key, room), on_one_retried, exchange);
}

static void on_bulk_retried(void *arg, const struct message_sent *sent)
{
    struct bulk *bulk = arg;
    struct json_writer json = bulk_writer(bulk);
    if (sent->error.size == 0)
        add_retried(&json, sent->id);
    bulk_end_one(bulk, sent->error.size == 0 ? STATUS_OK
                       : sent->status == 404 ? STATUS_NOT_FOUND
                                             : STATUS_UNKNOWN);
}

static void bulk_retry_one(struct bulk *bulk, struct slice message_id)
{
    dead_letter_retry(bulk->exchange, message_id, on_bulk_retried, bulk);
}

static void answer_retried(struct bulk *bulk)
{
    bulk_answer_results(bulk, 201, "responses");
}

HANDLER(dead_letters_retry_handle)
{
    static const struct bulk_kind kind = {
        .scope = BULK_OF_NO_RUN,
        .is_in_order = true,
        .accepted = ACCEPTED,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .needs_limit = true,
        .count_max = BULK_RETRY_MAX,
        .act = bulk_retry_one,
        .answer = answer_retried,
    };
    bulk_begin(exchange, &kind);
}
