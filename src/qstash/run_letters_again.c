/* run_letters_again.c - /v2/workflows/dlq/...: resumes and restarts failed runs, and sends their failure
 * callbacks again. */
#include "app/jobs.h"
#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/message_id.h"
#include "qstash/run_again.h"
#include "qstash/run_letter.h"

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

static void on_one_again(void *arg, const struct run_again_result *result)
{
    struct exchange *exchange = arg;
    if (result->error.size)
        exchange_refuse(exchange, result->status, "%.*s", SLICE_ARG(result->error));
    else
        answer_run(exchange, result->id, result->made_ms);
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
        put_run(&json, result->id, result->made_ms);
    }
    /* A run that is too large is passed over: its dead letter remains, so it would make each repeated request
     * fail. */
    bool is_passed = result->status == 404 || result->status == 413;
    bulk_end_one(bulk, result->error.size == 0 ? STATUS_OK : is_passed ? STATUS_NOT_FOUND : STATUS_UNKNOWN);
}

static void resume_letter(struct bulk *bulk, const struct run_letter *letter)
{
    run_again(bulk->exchange, letter->view.job.job_id, false, on_bulk_again, bulk);
}

static void restart_letter(struct bulk *bulk, const struct run_letter *letter)
{
    run_again(bulk->exchange, letter->view.job.job_id, true, on_bulk_again, bulk);
}

static void resume_one(struct bulk *bulk, struct slice message_id)
{
    run_letter_act(bulk, message_id, resume_letter);
}

static void restart_one(struct bulk *bulk, struct slice message_id)
{
    run_letter_act(bulk, message_id, restart_letter);
}

static void answer_again(struct bulk *bulk)
{
    bulk_answer_results(bulk, 200, "workflowRuns");
}

#define AGAIN_KIND(one)                                                                                      \
    {                                                                                                        \
        .scope = BULK_OF_RUNS, .accepted = RUN_LETTER_FILTERS, .ids = FILTER_DLQ_ID,                         \
        .states = 1U << JOB_STATE_DEAD, .is_in_order = true, .needs_limit = true,                            \
        .count_max = BULK_RETRY_MAX, .act = one, .answer = answer_again                                      \
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

/* ---- the failure callback ---- */

/* The state while the failure callback of a letter's run is sent again. */
struct calling {
    struct exchange *exchange;
    char key[CALLBACK_KEY_SIZE], run_id[SETTINGS_RUN_ID_MAX + 1];
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

static void call_on_letter(void *arg, struct run_letter *letter, bool is_known)
{
    struct calling *calling = arg;
    struct exchange *exchange = calling->exchange;
    struct slice id = letter->is_there ? letter->view.data.run.id : SLICE("");
    if (!is_known) {
        exchange_refuse(exchange, 503, "the dead letter cannot be read now");
    } else if (!letter->is_there || id.size > SETTINGS_RUN_ID_MAX) {
        exchange_refuse(exchange, 404, "dead letter %.*s of a workflow run not found",
                        SLICE_ARG(exchange->key));
    } else if (!slice_equal(letter->state, SLICE("CALLBACK_FAIL"))) {
        exchange_refuse(exchange, 400, "the failure callback is sent again only if it has failed; it is %.*s",
                        SLICE_ARG(letter->state.size ? letter->state : SLICE("not asked for")));
    } else {
        memcpy(calling->run_id, id.data, id.size);
        memcpy(calling->key, letter->callback_key, sizeof calling->key);
        calling->made_ms = message_view_run_ms(&letter->view);
        const struct app_run run = {.id = slice_of(calling->key)};
        app_run(app_of(exchange), &exchange->caller, &run, on_called, calling);
    }
}

HANDLER(run_letter_callback_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    struct calling *calling = NEW(struct calling);
    calling->exchange = exchange;
    exchange_keep(exchange, calling, free);
    run_letter_read(app_of(exchange), dead_letter_message(exchange->key, room), call_on_letter, calling);
}
