/* runs.c - /v2/workflows/runs/{id}: GET returns the elements of a run. DELETE ends the run with a result, or
 * cancels it. */
#include <stdio.h>

#include "base/memory.h"
#include "base/percent.h"
#include "job/text/json.h"
#include "qstash/answer.h"
#include "qstash/filters.h"
#include "qstash/run_invoker.h"
#include "qstash/run_step.h"

static void refuse_inactive(struct exchange *exchange, struct slice id)
{
    exchange_refuse(exchange, 404, "workflow run %.*s not found, or not active", SLICE_ARG(id));
}

/* ---- GET ---- */

struct run_reading {
    struct exchange *exchange;
    char key[RUN_KEY_SIZE];
};

/* Answers with all elements, including those of calls. */
static void answer_list(struct exchange *exchange, const struct workflow *workflow)
{
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_array(&json);
    for (size_t i = 0; workflow->elements && i < workflow->element_count; i++)
        json_put_raw(&json, workflow->elements[i].text);
    json_end_array(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void on_list(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct run_reading *reading = arg;
    if (workflow ? workflow->state != WORKFLOW_ACTIVE : verdict->end == STATUS_NOT_FOUND)
        refuse_inactive(reading->exchange, reading->exchange->key);
    else if (!workflow)
        answer_refuse_verdict(reading->exchange, verdict);
    else
        answer_list(reading->exchange, workflow);
}

HANDLER(workflow_run_handle)
{
    struct run_reading *reading = NEW(struct run_reading);
    reading->exchange = exchange;
    exchange_keep(exchange, reading, free);
    if (run_is_id(exchange->key))
        app_workflow_read(app_of(exchange), run_key(exchange->key, reading->key), true, on_list, reading);
    else
        refuse_inactive(exchange, exchange->key);
}

/* ---- DELETE of one ---- */

/* Steps of an end with a result:
 *
 *   read the run ─▶ (if another run has invoked it: read that run, create its step) ─▶ end */
struct run_ending {
    struct exchange *exchange;
    struct slice result;
    char key[RUN_KEY_SIZE], parent_key[RUN_KEY_SIZE];
    bool has_run, has_parent, has_step;
    struct run run, parent;
    struct run_invoker invoker;
    struct buffer text; /* decoded data of the invoker */
    struct run_step step;
};

static void ending_free(void *arg)
{
    struct run_ending *ending = arg;
    if (ending->has_run)
        run_fini(&ending->run);
    if (ending->has_parent)
        run_fini(&ending->parent);
    buffer_fini(&ending->text);
    run_step_fini(&ending->step);
    free(ending);
}

static void on_ended(void *arg, const struct app_verdict *verdict)
{
    const struct run_ending *ending = arg;
    if (verdict->end == STATUS_NOT_FOUND)
        refuse_inactive(ending->exchange, ending->exchange->key);
    else
        answer_done(ending->exchange, verdict);
}

static void end_run(struct run_ending *ending, bool is_cancelled)
{
    const struct app_workflow_end end = {.id = slice_of(ending->key),
                                         .is_cancelled = is_cancelled,
                                         .result = ending->result,
                                         .for_parent = ending->has_step ? &ending->step.entry : NULL};
    app_workflow_end(app_of(ending->exchange), &ending->exchange->caller, &end, on_ended, ending);
}

/* Creates the step that reports the result to the invoker. Returns NULL, or the error. */
static const char *make_step(struct run_ending *ending)
{
    struct buffer body;
    const struct run_invoker *invoker = &ending->invoker;
    const struct run_outcome outcome = {.run_id = ending->exchange->key,
                                        .has_body = ending->result.size > 0,
                                        .body = ending->result,
                                        .url = ending->run.url,
                                        .made_ms = ending->run.made_ms};
    buffer_init_fallible(&body, JOB_RECORD_MAX);
    run_invoker_write_step(invoker, &outcome, &body);
    const struct run_notice notice = {
        .id = invoker->run_id, .url = invoker->url, .headers = invoker->headers, .body = buffer_slice(&body)};
    const char *fault = body.failed ? "there is no memory for the step"
                                    : run_step_make_notice(&ending->step, &ending->parent, &notice,
                                                           app_now_ms(app_of(ending->exchange)));
    buffer_fini(&body);
    return fault;
}

static void on_parent(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct run_ending *ending = arg;
    const char *fault = NULL;
    bool is_waiting = workflow && workflow->state == WORKFLOW_ACTIVE;
    if (verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND) {
        answer_refuse_verdict(ending->exchange, verdict);
        return;
    }
    if (is_waiting) {
        ending->has_parent = run_read(workflow->settings, workflow->made_ms, &ending->parent);
        fault = ending->has_parent ? make_step(ending) : "the settings of the invoker cannot be read";
        ending->has_step = !fault;
    }
    if (fault)
        exchange_refuse(ending->exchange, 503, "%s; nothing changed", fault);
    else
        end_run(ending, false);
}

static void on_run(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct run_ending *ending = arg;
    struct exchange *exchange = ending->exchange;
    if (workflow ? workflow->state != WORKFLOW_ACTIVE : verdict->end == STATUS_NOT_FOUND) {
        refuse_inactive(exchange, exchange->key);
        return;
    }
    if (!workflow) {
        answer_refuse_verdict(exchange, verdict);
        return;
    }
    ending->has_run = run_read(workflow->settings, workflow->made_ms, &ending->run);
    if (!ending->has_run) {
        exchange_refuse(exchange, 503, "the settings of the run cannot be read; nothing changed");
        return;
    }
    /* The buffer must not move later, because slices point into it. */
    buffer_reserve(&ending->text, ending->run.invoker.size + 1);
    if (ending->run.invoker.size && run_invoker_read(ending->run.invoker, &ending->invoker, &ending->text))
        app_workflow_read(app_of(exchange), run_key(ending->invoker.run_id, ending->parent_key), false,
                          on_parent, ending);
    else
        end_run(ending, false);
}

HANDLER(workflow_run_end_handle)
{
    struct run_ending *ending = NEW(struct run_ending);
    ending->exchange = exchange;
    ending->result = http_request_body(exchange->request);
    buffer_init_fallible(&ending->text, JOB_RECORD_MAX);
    run_step_init(&ending->step);
    exchange_keep(exchange, ending, ending_free);
    if (!run_is_id(exchange->key)) {
        refuse_inactive(exchange, exchange->key);
        return;
    }
    struct slice key = run_key(exchange->key, ending->key);
    if (query_has(exchange->query, SLICE("cancel=false")))
        app_workflow_read(app_of(exchange), key, false, on_run, ending);
    else
        end_run(ending, true);
}
