/* dead_letters.c - /v2/dlq: lists dead messages, reads, deletes and retries them. */
#include "app/jobs.h"
#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/bulk.h"
#include "qstash/dead_letter_delete.h"
#include "qstash/message_id.h"
#include "qstash/dead_letter_view.h"
#include "qstash/message_again.h"

exchange_fn run_letters_handle;

#define ACCEPTED                                                                                             \
    ((FILTERS_OF_MESSAGES & ~(1U << FILTER_HOST | 1U << FILTER_PATH)) | 1U << FILTER_DLQ_ID |                \
     1U << FILTER_RESPONSE_STATUS | 1U << FILTER_COUNT | 1U << FILTER_CURSOR | 1U << FILTER_FROM |           \
     1U << FILTER_TO)

static void refuse_unknown_letter(struct exchange *exchange)
{
    exchange_refuse(exchange, 404, "dead letter %.*s not found", SLICE_ARG(exchange->key));
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

static void letter_on_read(void *arg, const struct app_verdict *verdict)
{
    const struct letter_reading *reading = arg;
    struct exchange *exchange = reading->exchange;
    struct message_view view;
    if (!answer_is_known(verdict)) {
        answer_refuse_verdict(exchange, verdict);
    } else if (!dead_letter_is(verdict) || !message_view_read(verdict->job.id, verdict->job.record, &view)) {
        refuse_unknown_letter(exchange);
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

static void show_letter(struct bulk *bulk, const struct stored_job *job, const struct message_view *view)
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
        show_letter(bulk, &verdict->job, &view);
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
        .show = show_letter,
        .answer = answer_list,
    };
    if (query_has(exchange->query, SLICE("source=workflow")))
        run_letters_handle(exchange);
    else
        bulk_begin(exchange, &kind);
}

/* ---- deletion ---- */

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
    struct json_writer json = bulk_writer(bulk);
    if (sent->error.size == 0)
        add_retried(&json, sent->id);
    bulk_end_one(bulk, sent->error.size == 0 ? STATUS_OK
                       : sent->status == 404 ? STATUS_NOT_FOUND
                                             : STATUS_UNKNOWN);
}

static void bulk_retry_one(struct bulk *bulk, struct slice message_id)
{
    message_again(bulk->exchange, message_id, on_bulk_retried, bulk);
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
