/* messages.c - GET and DELETE /v2/messages/{id}, and DELETE /v2/messages. */
#include "app/app.h"
#include "app/jobs.h"
#include "base/memory.h"
#include "qstash/messages/bulk.h"
#include "qstash/messages/message.h"
#include "qstash/qstash_private.h"

/* ---- cancels one ---- */

/* Cancels one message that waits or is being delivered. A dead message stays as it is. */

/* A message that is being cancelled. */
struct cancelling {
    char room[MESSAGE_KEY_SIZE];
    app_verdict_fn *fn;
    void *arg;
};

static void cancelling_end(struct cancelling *cancelling, const struct app_verdict *verdict)
{
    cancelling->fn(cancelling->arg, verdict);
    free(cancelling);
}

/* Returns whether a read has found a message that waits or is being delivered. */
static bool message_is_alive(const struct app_verdict *verdict)
{
    enum job_state state = verdict->job.state;
    return verdict->end == STATUS_OK &&
           (state == JOB_STATE_DELAYED || state == JOB_STATE_READY || state == JOB_STATE_LEASED);
}

static void cancelling_on_cancelled(void *arg, const struct app_verdict *verdict)
{
    static const struct app_verdict not_found = {.end = STATUS_NOT_FOUND};
    bool is_dead = verdict->end == STATUS_STALE; /* only a dead message has this id */
    cancelling_end(arg, is_dead ? &not_found : verdict);
}

/* Cancels the message with this id, which is copied. The verdict is OK, NOT_FOUND (there is no such
 * message, or it has ended), or an error. Calls back once, perhaps before the call returns. Borrows caller
 * until the callback. */
static void message_cancel(struct app *app, const struct app_caller *caller, struct slice message_id,
                           app_verdict_fn *fn, void *arg)
{
    struct cancelling *cancelling = NEW(struct cancelling);
    *cancelling = (struct cancelling){.fn = fn, .arg = arg};
    struct slice key = message_id_key(message_id, cancelling->room);
    if (key.size)
        app_cancel(app, caller, key, SLICE(JOB_TAGS_ALIVE), cancelling_on_cancelled, cancelling);
    else
        cancelling_end(cancelling, &(struct app_verdict){.end = STATUS_NOT_FOUND});
}

static void refuse_unknown(struct exchange *exchange)
{
    exchange_refuse(exchange, 404, "message %.*s not found", SLICE_ARG(exchange->key));
}

/* ---- GET ---- */

struct reading {
    struct exchange *exchange;
    char key[MESSAGE_KEY_SIZE];
};

static void on_read(void *arg, const struct app_verdict *verdict)
{
    const struct reading *reading = arg;
    struct exchange *exchange = reading->exchange;
    struct message_view view;
    if (!answer_is_known(verdict)) {
        answer_refuse_verdict(exchange, verdict);
    } else if (!message_is_alive(verdict) ||
               !message_view_read(verdict->job.id, verdict->job.record, &view)) {
        refuse_unknown(exchange);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        json_put_object(&json);
        message_view_add(&json, &view);
        json_end_object(&json);
        message_view_fini(&view);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
}

HANDLER(message_handle)
{
    struct reading *reading = NEW(struct reading);
    struct slice key = message_id_key(exchange->key, reading->key);
    reading->exchange = exchange;
    exchange_keep(exchange, reading, free);
    if (key.size)
        app_read(app_of(exchange), key, on_read, reading);
    else
        refuse_unknown(exchange);
}

/* ---- DELETE ---- */

static void on_cancelled(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_NOT_FOUND)
        refuse_unknown(exchange);
    else if (verdict->end != STATUS_OK)
        answer_refuse_verdict(exchange, verdict);
    else
        exchange_answer(exchange, 200, NULL, 0, SLICE("{\"cancelled\":1}"));
}

HANDLER(message_cancel_handle)
{
    message_cancel(app_of(exchange), &exchange->caller, exchange->key, on_cancelled, exchange);
}

/* ---- DELETE of many messages, by ids or filters ---- */

static void on_one_cancelled(void *arg, const struct app_verdict *verdict)
{
    bulk_end_one(arg, verdict->end);
}

/* A message that has ended since the list was read is skipped. */
static void bulk_cancel_one(struct bulk *bulk, struct slice message_id)
{
    message_cancel(bulk->qstash->app, &bulk->caller, message_id, on_one_cancelled, bulk);
}

static void answer_cancelled(struct bulk *bulk)
{
    bulk_answer_count(bulk, "cancelled");
}

HANDLER(messages_cancel_handle)
{
    static const struct bulk_kind kind = {
        .accepted = FILTERS_OF_MESSAGES | 1U << FILTER_COUNT | 1U << FILTER_CURSOR | 1U << FILTER_FROM |
                    1U << FILTER_TO,
        .ids = FILTER_MESSAGE_ID,
        .states = 1U << JOB_STATE_DELAYED | 1U << JOB_STATE_READY | 1U << JOB_STATE_LEASED,
        .gathers = true,
        .takes_all = true,
        .act = bulk_cancel_one,
        .answer = answer_cancelled,
    };
    bulk_begin(exchange, &kind);
}
