#include "qstash/dead_letter_delete.h"

#include "app/jobs.h"
#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/dead_letter_view.h"
#include "qstash/message_id.h"

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
