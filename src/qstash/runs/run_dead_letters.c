/* run_dead_letters.c - /v2/workflows/dlq, and /v2/dlq?source=workflow: the dead messages that made runs fail.
 * Lists, reads and deletes them, resumes and restarts their runs, and sends the failure callbacks again. */
#include "app/jobs.h"
#include "base/memory.h"
#include "qstash/messages/bulk.h"
#include "qstash/messages/message.h"
#include "qstash/qstash_private.h"
#include "qstash/runs/runs.h"

/* ---- one dead letter ---- */

struct run_dead_letter;

/* is_known is false if Redis or the history could not be read. If there is no such dead message, is_there is
 * false. The letter is valid until the callback returns. */
typedef void run_dead_letter_fn(void *arg, struct run_dead_letter *, bool is_known);

/* A letter is read in two steps: the dead message, then the failure callback of its run if there is one. */
struct run_dead_letter {
    struct app *app;
    char key[MESSAGE_KEY_SIZE];
    struct dead_letter message;
    bool is_there; /* message is there, and made a run fail */
    char callback_key[CALLBACK_KEY_SIZE];
    struct buffer callback; /* failureCallbackInfo; empty: none */
    struct slice state;     /* state of the callback, a literal; empty: there is no callback */
    run_dead_letter_fn *fn;
    void *arg;
};

/* The filters that these actions accept. */
#define RUN_DEAD_LETTER_FILTERS                                                                              \
    (1U << FILTER_LABEL | 1U << FILTER_FLOW_KEY | 1U << FILTER_CALLER_IP | 1U << FILTER_RUN_ID |             \
     1U << FILTER_RUN_URL | 1U << FILTER_RUN_MADE | 1U << FILTER_FAILURE_STATE | 1U << FILTER_DLQ_ID |       \
     1U << FILTER_RESPONSE_STATUS | 1U << FILTER_COUNT | 1U << FILTER_CURSOR | 1U << FILTER_FROM |           \
     1U << FILTER_TO)

/* Acts on one letter, and then calls bulk_end_one. */
typedef void run_dead_letter_act_fn(struct bulk *, const struct run_dead_letter *);

static void dead_letter_end(struct run_dead_letter *letter, bool is_known)
{
    letter->fn(letter->arg, letter, is_known);
    dead_letter_fini(&letter->message);
    buffer_fini(&letter->callback);
    free(letter);
}

static struct slice state_of_callback(const struct app_verdict *verdict)
{
    if (verdict->end != STATUS_OK) /* the callback has ended and is not stored any more */
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
    struct run_dead_letter *letter = arg;
    struct message_view view;
    struct json_writer json = json_writer_to(&letter->callback);
    if (verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND &&
        verdict->end != STATUS_HISTORY_UNAVAILABLE) {
        dead_letter_end(letter, false);
        return;
    }
    letter->state = state_of_callback(verdict);
    json_put_object(&json);
    json_add_text(&json, "state", letter->state);
    if (verdict->end == STATUS_OK && message_view_read(verdict->job.id, verdict->job.record, &view)) {
        dead_letter_add_answer(&json, &verdict->job, &view, "responseHeaders");
        message_view_fini(&view);
    }
    json_end_object(&json);
    dead_letter_end(letter, true);
}

static void dead_letter_on_read(void *arg, const struct app_verdict *verdict)
{
    struct run_dead_letter *letter = arg;
    struct dead_letter *message = &letter->message;
    dead_letter_keep(message, verdict);
    letter->is_there = message->is_there && message_view_is_of_run(&message->view);
    if (letter->is_there && message->view.job.on_dead.size) {
        struct buffer key = buffer_of(letter->callback_key, CALLBACK_KEY_SIZE);
        callback_write_failure_key(message->job.id, &key);
        app_read(letter->app, buffer_slice(&key), on_callback, letter);
    } else {
        dead_letter_end(letter, answer_is_known(verdict));
    }
}

/* Reads the dead message with this id. message_id is not used after the call. Calls back once, perhaps before
 * the call returns. */
static void run_dead_letter_read(struct app *app, struct slice message_id, run_dead_letter_fn *fn, void *arg)
{
    struct run_dead_letter *letter = NEW(struct run_dead_letter);
    letter->app = app;
    letter->fn = fn;
    letter->arg = arg;
    buffer_init_fallible(&letter->callback, JOB_RECORD_MAX);
    struct slice key = message_id_key(message_id, letter->key);
    if (key.size)
        app_read(app, key, dead_letter_on_read, letter);
    else
        dead_letter_end(letter, true);
}

/* Writes the letter as an object. */
static void run_dead_letter_put(struct json_writer *json, const struct run_dead_letter *letter)
{
    json_put_object(json);
    dead_letter_add(json, &letter->message.job, &letter->message.view);
    if (letter->callback.size)
        json_add_raw(json, "failureCallbackInfo", buffer_slice(&letter->callback));
    json_end_object(json);
}

/* ---- many dead letters, one after the other ---- */

struct action {
    struct bulk *bulk;
    run_dead_letter_act_fn *act;
};

/* Returns whether the failure callback has one of the requested states. */
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

static void action_on_dead_letter(void *arg, struct run_dead_letter *letter, bool is_known)
{
    struct action *action = arg;
    struct bulk *bulk = action->bulk;
    if (!is_known)
        bulk_end_one(bulk, STATUS_UNKNOWN);
    else if (!letter->is_there)
        bulk_end_one(bulk, STATUS_NOT_FOUND);
    else if (!(bulk->filters.given & 1U << FILTER_DLQ_ID) && !has_state(bulk, letter->state))
        bulk_skip_one(bulk);
    else
        action->act(bulk, letter);
    free(action);
}

/* Reads a letter, and acts on it if it matches. Used as the member "act" of a bulk_kind. */
static void run_dead_letter_act(struct bulk *bulk, struct slice message_id, run_dead_letter_act_fn *act)
{
    struct action *action = NEW(struct action);
    action->bulk = bulk;
    action->act = act;
    run_dead_letter_read(app_of(bulk->exchange), message_id, action_on_dead_letter, action);
}

static void refuse_unknown_dead_letter(struct exchange *exchange)
{
    exchange_refuse(exchange, 404, "dead letter %.*s of a workflow run not found", SLICE_ARG(exchange->key));
}

/* ---- GET of one ---- */

static void answer_dead_letter(void *arg, struct run_dead_letter *letter, bool is_known)
{
    struct exchange *exchange = arg;
    if (!is_known) {
        exchange_refuse(exchange, 503, "the dead letter cannot be read now");
    } else if (!letter->is_there) {
        refuse_unknown_dead_letter(exchange);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        run_dead_letter_put(&json, letter);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
}

HANDLER(run_dead_letter_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    run_dead_letter_read(app_of(exchange), dead_letter_message(exchange->key, room), answer_dead_letter,
                         exchange);
}

/* ---- GET of many ---- */

static void list_dead_letter(struct bulk *bulk, const struct run_dead_letter *letter)
{
    struct json_writer json = bulk_writer(bulk);
    run_dead_letter_put(&json, letter);
    bulk_end_one(bulk, STATUS_OK);
}

static void list_one(struct bulk *bulk, struct slice message_id)
{
    run_dead_letter_act(bulk, message_id, list_dead_letter);
}

static void answer_list(struct bulk *bulk)
{
    bulk_answer_results(bulk, 200, "messages");
}

HANDLER(run_dead_letters_handle)
{
    static const struct bulk_kind kind = {
        .scope = BULK_OF_RUNS,
        .accepted =
            RUN_DEAD_LETTER_FILTERS | 1U << FILTER_URL | 1U << FILTER_MESSAGE_ID | 1U << FILTER_SOURCE,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .is_in_order = true,
        .is_newest_first = true,
        .needs_limit = true,
        .count_max = BULK_LIST_MAX,
        .act = list_one,
        .answer = answer_list,
    };
    bulk_begin(exchange, &kind);
}

/* ---- DELETE ---- */

static void delete_dead_letter(struct bulk *bulk, const struct run_dead_letter *letter)
{
    dead_letter_delete_of_bulk(bulk, letter->message.view.job.job_id);
}

static void delete_one(struct bulk *bulk, struct slice message_id)
{
    run_dead_letter_act(bulk, message_id, delete_dead_letter);
}

HANDLER(run_dead_letters_delete_handle)
{
    static const struct bulk_kind kind = {
        .scope = BULK_OF_RUNS,
        .accepted = RUN_DEAD_LETTER_FILTERS,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .is_in_order = true,
        .act = delete_one,
        .answer = dead_letters_answer_deleted,
    };
    bulk_begin(exchange, &kind);
}

static void delete_on_dead_letter(void *arg, struct run_dead_letter *letter, bool is_known)
{
    struct exchange *exchange = arg;
    if (is_known && letter->is_there)
        dead_letter_delete_and_answer(exchange, letter->message.view.job.job_id);
    else
        answer_dead_letter(exchange, letter, is_known);
}

HANDLER(run_dead_letter_delete_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    run_dead_letter_read(app_of(exchange), dead_letter_message(exchange->key, room), delete_on_dead_letter,
                         exchange);
}

/* ---- resume and restart ---- */

static void put_run(struct json_writer *json, struct slice id, int64_t made_ms)
{
    json_put_object(json);
    json_add_text(json, "workflowRunId", id);
    json_add_number(json, "workflowCreatedAt", made_ms);
    json_end_object(json);
}

static void answer_run(struct exchange *exchange, struct slice id, int64_t made_ms)
{
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    put_run(&json, id, made_ms);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void on_one_resumed(void *arg, const struct run_resume_result *result)
{
    struct exchange *exchange = arg;
    if (result->error.size)
        exchange_refuse(exchange, result->status, "%.*s", SLICE_ARG(result->error));
    else
        answer_run(exchange, result->id, result->made_ms);
}

HANDLER(run_dead_letter_resume_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    run_resume(exchange, dead_letter_message(exchange->key, room), false, on_one_resumed, exchange);
}

HANDLER(run_dead_letter_restart_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    run_resume(exchange, dead_letter_message(exchange->key, room), true, on_one_resumed, exchange);
}

static void on_bulk_resumed(void *arg, const struct run_resume_result *result)
{
    struct bulk *bulk = arg;
    if (result->error.size == 0) {
        struct json_writer json = bulk_writer(bulk);
        put_run(&json, result->id, result->made_ms);
    }
    /* A run that is too large is passed over: its dead letter remains, so it would make each repeated request
     * fail. */
    bool is_passed = result->status == 404 || result->status == 413;
    bulk_end_one(bulk, result->error.size == 0 ? STATUS_OK : is_passed ? STATUS_NOT_FOUND : STATUS_UNKNOWN);
}

static void resume_dead_letter(struct bulk *bulk, const struct run_dead_letter *letter)
{
    run_resume(bulk->exchange, letter->message.view.job.job_id, false, on_bulk_resumed, bulk);
}

static void restart_dead_letter(struct bulk *bulk, const struct run_dead_letter *letter)
{
    run_resume(bulk->exchange, letter->message.view.job.job_id, true, on_bulk_resumed, bulk);
}

static void resume_one(struct bulk *bulk, struct slice message_id)
{
    run_dead_letter_act(bulk, message_id, resume_dead_letter);
}

static void restart_one(struct bulk *bulk, struct slice message_id)
{
    run_dead_letter_act(bulk, message_id, restart_dead_letter);
}

static void answer_resumed(struct bulk *bulk)
{
    bulk_answer_results(bulk, 200, "workflowRuns");
}

#define RESUME_KIND(one)                                                                                     \
    {                                                                                                        \
        .scope = BULK_OF_RUNS, .accepted = RUN_DEAD_LETTER_FILTERS, .ids = FILTER_DLQ_ID,                    \
        .states = 1U << JOB_STATE_DEAD, .is_in_order = true, .needs_limit = true,                            \
        .count_max = BULK_RETRY_MAX, .act = one, .answer = answer_resumed                                    \
    }

HANDLER(run_dead_letters_resume_handle)
{
    static const struct bulk_kind kind = RESUME_KIND(resume_one);
    bulk_begin(exchange, &kind);
}

HANDLER(run_dead_letters_restart_handle)
{
    static const struct bulk_kind kind = RESUME_KIND(restart_one);
    bulk_begin(exchange, &kind);
}

/* ---- the failure callback ---- */

/* The state while the failure callback of a letter's run is sent again. */
struct calling {
    struct exchange *exchange;
    char key[CALLBACK_KEY_SIZE], run_id[RUN_ID_MAX + 1];
    int64_t made_ms;
};

static void on_called(void *arg, const struct app_verdict *verdict)
{
    const struct calling *calling = arg;
    if (verdict->end == STATUS_OK)
        answer_run(calling->exchange, slice_of(calling->run_id), calling->made_ms);
    else
        answer_refuse_verdict(calling->exchange, verdict);
}

static void call_on_dead_letter(void *arg, struct run_dead_letter *letter, bool is_known)
{
    struct calling *calling = arg;
    struct exchange *exchange = calling->exchange;
    struct slice id = letter->is_there ? letter->message.view.data.run.id : SLICE("");
    if (!is_known) {
        exchange_refuse(exchange, 503, "the dead letter cannot be read now");
    } else if (!letter->is_there || id.size > RUN_ID_MAX) {
        refuse_unknown_dead_letter(exchange);
    } else if (!slice_equal(letter->state, SLICE("CALLBACK_FAIL"))) {
        exchange_refuse(exchange, 400, "the failure callback is sent again only if it has failed; it is %.*s",
                        SLICE_ARG(letter->state.size ? letter->state : SLICE("not asked for")));
    } else {
        memcpy(calling->run_id, id.data, id.size);
        memcpy(calling->key, letter->callback_key, sizeof calling->key);
        calling->made_ms = message_view_run_ms(&letter->message.view);
        const struct app_run run = {.id = slice_of(calling->key)};
        app_run(app_of(exchange), &exchange->caller, &run, on_called, calling);
    }
}

HANDLER(run_dead_letter_callback_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    struct calling *calling = NEW(struct calling);
    calling->exchange = exchange;
    exchange_keep(exchange, calling, free);
    run_dead_letter_read(app_of(exchange), dead_letter_message(exchange->key, room), call_on_dead_letter,
                         calling);
}
