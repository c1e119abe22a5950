/* run_letters.c - /v2/workflows/dlq, and /v2/dlq?source=workflow: the dead messages that have failed runs. */
#include "app/jobs.h"
#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/bulk.h"
#include "qstash/callback.h"
#include "qstash/dead_letter_delete.h"
#include "qstash/dead_letter_id.h"
#include "qstash/dead_letter_view.h"
#include "qstash/run_again.h"

#define ACCEPTED_ACTION                                                                                      \
    (1U << FILTER_LABEL | 1U << FILTER_FLOW_KEY | 1U << FILTER_CALLER_IP | 1U << FILTER_RUN_ID |             \
     1U << FILTER_RUN_URL | 1U << FILTER_RUN_MADE | 1U << FILTER_FAILURE_STATE | 1U << FILTER_DLQ_ID |       \
     1U << FILTER_RESPONSE_STATUS | 1U << FILTER_COUNT | 1U << FILTER_CURSOR | 1U << FILTER_FROM |           \
     1U << FILTER_TO)
#define ACCEPTED_LIST (ACCEPTED_ACTION | 1U << FILTER_URL | 1U << FILTER_MESSAGE_ID | 1U << FILTER_SOURCE)

static void refuse_unknown_letter(struct exchange *exchange)
{
    exchange_refuse(exchange, 404, "dead letter %.*s of a workflow run not found", SLICE_ARG(exchange->key));
}

/* ---- reading one ---- */

/* Steps of reading: the dead message, then the failure callback of its run if it asked for one. */
struct letter {
    struct app *app;
    char key[MESSAGE_KEY_SIZE];
    struct buffer id, record, lines; /* of the dead message */
    struct app_job job;              /* its slices point into these */
    struct message_view view;
    bool is_there;
    char callback_key[CALLBACK_KEY_SIZE];
    struct buffer callback; /* failureCallbackInfo; empty: none */
    struct slice state;     /* of the callback: a literal; empty: it has no callback */
    /* is_known is false if Redis or the history could not be asked; without the letter is_there is false. */
    void (*fn)(void *arg, struct letter *, bool is_known);
    void *arg;
};

typedef void letter_fn(void *arg, struct letter *, bool is_known);

static void letter_end(struct letter *letter, bool is_known)
{
    letter->fn(letter->arg, letter, is_known);
    if (letter->is_there)
        message_view_fini(&letter->view);
    buffer_fini(&letter->id);
    buffer_fini(&letter->record);
    buffer_fini(&letter->lines);
    buffer_fini(&letter->callback);
    free(letter);
}

static struct slice state_of_callback(const struct app_verdict *verdict)
{
    if (verdict->end != APP_DONE) /* it has ended, and is not kept */
        return SLICE("CALLBACK_SUCCESS");
    switch (verdict->job.state) {
    case JOB_STATE_DEAD:
        return SLICE("CALLBACK_FAIL");
    case JOB_STATE_DELIVERED:
        return SLICE("CALLBACK_SUCCESS");
    case JOB_STATE_CANCELLED:
        return SLICE("CALLBACK_CANCELED");
    default:
        return SLICE("CALLBACK_INPROGRESS");
    }
}

static void on_callback(void *arg, const struct app_verdict *verdict)
{
    struct letter *letter = arg;
    struct message_view view;
    struct json_writer json = json_writer_to(&letter->callback);
    if (verdict->end != APP_DONE && verdict->end != APP_NOT_FOUND &&
        verdict->end != APP_HISTORY_UNAVAILABLE) {
        letter_end(letter, false);
        return;
    }
    letter->state = state_of_callback(verdict);
    json_put_object(&json);
    json_add_text(&json, "state", letter->state);
    if (verdict->end == APP_DONE && message_view_read(verdict->job.id, verdict->job.record, &view)) {
        dead_letter_add_answer(&json, &verdict->job, &view);
        message_view_fini(&view);
    }
    json_end_object(&json);
    letter_end(letter, true);
}

static void read_callback(struct letter *letter)
{
    struct buffer key = {
        .data = letter->callback_key, .capacity = CALLBACK_KEY_SIZE, .max = CALLBACK_KEY_SIZE - 1};
    callback_write_failure_key(letter->job.id, &key);
    app_read(letter->app, buffer_slice(&key), on_callback, letter);
}

static void letter_on_read(void *arg, const struct app_verdict *verdict)
{
    struct letter *letter = arg;
    bool is_known = verdict->end == APP_DONE || verdict->end == APP_NOT_FOUND ||
                    verdict->end == APP_HISTORY_UNAVAILABLE; /* the pool has no such message */
    if (!dead_letter_is(verdict)) {
        letter_end(letter, is_known);
        return;
    }
    buffer_append(&letter->id, verdict->job.id);
    buffer_append(&letter->record, verdict->job.record);
    buffer_append(&letter->lines, verdict->job.last_lines);
    letter->job = verdict->job;
    letter->job.id = buffer_slice(&letter->id);
    letter->job.record = buffer_slice(&letter->record);
    letter->job.last_lines = buffer_slice(&letter->lines);
    if (letter->record.failed || letter->lines.failed ||
        !message_view_read(letter->job.id, letter->job.record, &letter->view)) {
        letter_end(letter, true);
        return;
    }
    letter->is_there = message_view_is_of_run(&letter->view);
    if (!letter->is_there)
        message_view_fini(&letter->view);
    if (letter->is_there && letter->view.job.on_dead.size)
        read_callback(letter);
    else
        letter_end(letter, true);
}

static void letter_read(struct app *app, struct slice message_id, letter_fn *fn, void *arg)
{
    struct letter *letter = NEW(struct letter);
    letter->app = app;
    letter->fn = fn;
    letter->arg = arg;
    buffer_init(&letter->id, MESSAGE_KEY_SIZE);
    buffer_init_fallible(&letter->record, JOB_RECORD_MAX);
    buffer_init_fallible(&letter->lines, JOB_RECORD_MAX);
    buffer_init_fallible(&letter->callback, JOB_RECORD_MAX);
    struct slice key = message_id_key(message_id, letter->key);
    if (key.size)
        app_read(app, key, letter_on_read, letter);
    else
        letter_end(letter, true);
}

static void add_letter(struct json_writer *json, struct letter *letter)
{
    json_put_object(json);
    dead_letter_add(json, &letter->job, &letter->view);
    if (letter->callback.size)
        json_add_raw(json, "failureCallbackInfo", buffer_slice(&letter->callback));
    json_end_object(json);
}

/* ---- GET of one ---- */

static void answer_letter(void *arg, struct letter *letter, bool is_known)
{
    struct exchange *exchange = arg;
    if (!is_known) {
        exchange_refuse(exchange, 503, "the dead letter cannot be read now");
    } else if (!letter->is_there) {
        refuse_unknown_letter(exchange);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        add_letter(&json, letter);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
}

HANDLER(run_letter_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    letter_read(app_of(exchange), dead_letter_message(exchange->key, room), answer_letter, exchange);
}

/* ---- list ---- */

/* Returns whether the failure callback is in one of the states that the request asks for. */
static bool has_state(const struct bulk *bulk, struct slice state)
{
    struct slice word;
    bool is_asked = false;
    for (size_t at = 0; (word = filters_next(&bulk->filters, FILTER_FAILURE_STATE, &at)).size;) {
        is_asked = true;
        if (slice_equal(word, state))
            return true;
    }
    return !is_asked;
}

/* Returns whether the filters were matched already, except the state: with ids they do not count. */
static bool has_ids(const struct bulk *bulk)
{
    return bulk->filters.given & 1U << FILTER_DLQ_ID;
}

static void list_on_letter(void *arg, struct letter *letter, bool is_known)
{
    struct bulk *bulk = arg;
    if (!is_known) {
        bulk_end_one(bulk, APP_UNKNOWN);
    } else if (!letter->is_there) {
        bulk_end_one(bulk, APP_NOT_FOUND);
    } else if (!has_ids(bulk) && !has_state(bulk, letter->state)) {
        bulk_skip_one(bulk);
    } else {
        struct json_writer json = bulk_writer(bulk);
        add_letter(&json, letter);
        bulk_end_one(bulk, APP_DONE);
    }
}

static void list_one(struct bulk *bulk, struct slice message_id)
{
    letter_read(app_of(bulk->exchange), message_id, list_on_letter, bulk);
}

static void answer_list(struct bulk *bulk)
{
    bulk_answer_results(bulk, 200, "messages");
}

HANDLER(run_letters_handle)
{
    static const struct bulk_kind kind = {
        .scope = BULK_OF_RUNS,
        .accepted = ACCEPTED_LIST,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .is_in_order = true,
        .is_newest_first = true,
        .needs_limit = true,
        .act = list_one,
        .answer = answer_list,
    };
    bulk_begin(exchange, &kind);
}

/* ---- actions ---- */

/* An action on one letter, which is read first. */
struct action {
    struct bulk *bulk;
    void (*act)(struct bulk *, struct slice message_id);
    char id[MESSAGE_ID_MAX + 1];
};

static void action_on_letter(void *arg, struct letter *letter, bool is_known)
{
    struct action *action = arg;
    struct bulk *bulk = action->bulk;
    if (!is_known)
        bulk_end_one(bulk, APP_UNKNOWN);
    else if (!letter->is_there)
        bulk_end_one(bulk, APP_NOT_FOUND);
    else if (!has_ids(bulk) && !has_state(bulk, letter->state))
        bulk_skip_one(bulk);
    else
        action->act(bulk, letter->view.job.job_id);
    free(action);
}

static void act_on_letter(struct bulk *bulk, struct slice message_id,
                          void (*act)(struct bulk *, struct slice message_id))
{
    struct action *action = NEW(struct action);
    action->bulk = bulk;
    action->act = act;
    letter_read(app_of(bulk->exchange), message_id, action_on_letter, action);
}

/* ---- deletion ---- */

static void on_bulk_deleted(void *arg, const struct app_verdict *verdict)
{
    bulk_end_one(arg, verdict->end);
}

static void delete_letter(struct bulk *bulk, struct slice message_id)
{
    dead_letter_delete(bulk->exchange, message_id, on_bulk_deleted, bulk);
}

static void delete_one(struct bulk *bulk, struct slice message_id)
{
    act_on_letter(bulk, message_id, delete_letter);
}

static void answer_deleted(struct bulk *bulk)
{
    bulk_answer_count(bulk, "deleted");
}

HANDLER(run_letters_delete_handle)
{
    static const struct bulk_kind kind = {
        .scope = BULK_OF_RUNS,
        .accepted = ACCEPTED_ACTION,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .is_in_order = true,
        .act = delete_one,
        .answer = answer_deleted,
    };
    bulk_begin(exchange, &kind);
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

static void delete_on_letter(void *arg, struct letter *letter, bool is_known)
{
    struct exchange *exchange = arg;
    if (is_known && letter->is_there)
        dead_letter_delete(exchange, letter->view.job.job_id, on_one_deleted, exchange);
    else
        answer_letter(exchange, letter, is_known);
}

HANDLER(run_letter_delete_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    letter_read(app_of(exchange), dead_letter_message(exchange->key, room), delete_on_letter, exchange);
}

/* ---- resume and restart ---- */

static void add_run(struct json_writer *json, const struct run_again_result *result)
{
    json_put_object(json);
    json_add_text(json, "workflowRunId", result->id);
    json_add_number(json, "workflowCreatedAt", result->made_ms);
    json_end_object(json);
}

static void on_one_again(void *arg, const struct run_again_result *result)
{
    struct exchange *exchange = arg;
    if (result->error.size) {
        exchange_refuse(exchange, result->status, "%.*s", SLICE_ARG(result->error));
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        add_run(&json, result);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
}

HANDLER(run_letter_resume_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    run_again(exchange, dead_letter_message(exchange->key, room), false, on_one_again, exchange);
}

HANDLER(run_letter_restart_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    run_again(exchange, dead_letter_message(exchange->key, room), true, on_one_again, exchange);
}

static void on_bulk_again(void *arg, const struct run_again_result *result)
{
    struct bulk *bulk = arg;
    if (result->error.size == 0) {
        struct json_writer json = bulk_writer(bulk);
        add_run(&json, result);
    }
    bulk_end_one(bulk, result->error.size == 0 ? APP_DONE
                       : result->status == 404 ? APP_NOT_FOUND
                                               : APP_UNKNOWN);
}

static void resume_letter(struct bulk *bulk, struct slice message_id)
{
    run_again(bulk->exchange, message_id, false, on_bulk_again, bulk);
}

static void restart_letter(struct bulk *bulk, struct slice message_id)
{
    run_again(bulk->exchange, message_id, true, on_bulk_again, bulk);
}

static void resume_one(struct bulk *bulk, struct slice message_id)
{
    act_on_letter(bulk, message_id, resume_letter);
}

static void restart_one(struct bulk *bulk, struct slice message_id)
{
    act_on_letter(bulk, message_id, restart_letter);
}

static void answer_again(struct bulk *bulk)
{
    bulk_answer_results(bulk, 200, "workflowRuns");
}

#define AGAIN_KIND(one)                                                                                      \
    {                                                                                                        \
        .scope = BULK_OF_RUNS, .accepted = ACCEPTED_ACTION, .ids = FILTER_DLQ_ID,                            \
        .states = 1U << JOB_STATE_DEAD, .is_in_order = true, .needs_limit = true, .act = one,                \
        .answer = answer_again                                                                               \
    }

HANDLER(run_letters_resume_handle)
{
    static const struct bulk_kind kind = AGAIN_KIND(resume_one);
    bulk_begin(exchange, &kind);
}

HANDLER(run_letters_restart_handle)
{
    static const struct bulk_kind kind = AGAIN_KIND(restart_one);
    bulk_begin(exchange, &kind);
}
