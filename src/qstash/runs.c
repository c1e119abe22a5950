/* runs.c - /v2/workflows/runs: GET of the list of a run, and DELETE, which ends runs: with a result, or
 * because they are cancelled. */
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/percent.h"
#include "job/json.h"
#include "qstash/answer.h"
#include "qstash/filters.h"
#include "qstash/run_invoker.h"
#include "qstash/run_step.h"

enum { RUNS_MAX = 1000 /* of one request */ };

static void refuse_inactive(struct exchange *exchange, struct slice id)
{
    exchange_refuse(exchange, 404, "workflow run %.*s not found, or not active", SLICE_ARG(id));
}

static bool is_run_id(struct slice id)
{
    return id.size > 0 && id.size <= SETTINGS_RUN_ID_MAX && !memchr(id.data, '/', id.size);
}

/* ---- GET ---- */

struct run_reading {
    struct exchange *exchange;
    char key[RUN_KEY_SIZE];
};

/* Answers with all elements, those of calls as well. */
static void answer_list(struct exchange *exchange, const struct app_workflow *workflow)
{
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_array(&json);
    for (size_t i = 0; workflow->elements && i < workflow->element_count; i++)
        json_put_raw(&json, workflow->elements[i].text);
    json_end_array(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void on_list(void *arg, const struct app_verdict *verdict, const struct app_workflow *workflow)
{
    struct run_reading *reading = arg;
    if (verdict->end == APP_NOT_FOUND || (workflow && !workflow->is_active))
        refuse_inactive(reading->exchange, reading->exchange->key);
    else if (verdict->end != APP_DONE)
        answer_refuse_verdict(reading->exchange, verdict);
    else
        answer_list(reading->exchange, workflow);
}

HANDLER(workflow_run_handle)
{
    struct run_reading *reading = NEW(struct run_reading);
    reading->exchange = exchange;
    exchange_keep(exchange, reading, free);
    if (is_run_id(exchange->key))
        app_workflow_read(app_of(exchange), run_key(exchange->key, reading->key), true, on_list, reading);
    else
        refuse_inactive(exchange, exchange->key);
}

/* ---- DELETE of one ---- */

/* Steps of an end with a result:
 *
 *   read the run ─▶ (if another run has invoked it: read that one, make its step) ─▶ end */
struct run_ending {
    struct exchange *exchange;
    struct slice result;
    char key[RUN_KEY_SIZE], parent_key[RUN_KEY_SIZE];
    bool has_run, has_parent, has_step;
    struct run run, parent;
    struct run_invoker invoker;
    struct buffer text; /* of the invoker */
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
    if (verdict->end == APP_NOT_FOUND)
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

/* Makes the step that tells the invoker the result. Returns NULL, or what is wrong. */
static const char *make_step(struct run_ending *ending)
{
    struct buffer body;
    const struct run_invoker *invoker = &ending->invoker;
    const struct run_outcome outcome = {
        .run_id = ending->exchange->key, .has_body = ending->result.size > 0, .body = ending->result};
    buffer_init_fallible(&body, JOB_RECORD_MAX);
    run_invoker_write_step(invoker, &outcome, &body);
    const struct run_notice notice = {
        .id = invoker->run_id, .url = invoker->url, .headers = invoker->headers, .body = buffer_slice(&body)};
    const char *fault = body.failed
                            ? "there is no memory for the step"
                            : run_step_make_notice(&ending->step, &ending->parent, &notice, clock_wall_ms());
    buffer_fini(&body);
    return fault;
}

static void on_parent(void *arg, const struct app_verdict *verdict, const struct app_workflow *workflow)
{
    struct run_ending *ending = arg;
    const char *fault = NULL;
    bool is_waiting = workflow && workflow->is_active;
    if (verdict->end != APP_DONE && verdict->end != APP_NOT_FOUND) {
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

static void on_run(void *arg, const struct app_verdict *verdict, const struct app_workflow *workflow)
{
    struct run_ending *ending = arg;
    struct exchange *exchange = ending->exchange;
    if (verdict->end == APP_NOT_FOUND || (workflow && !workflow->is_active)) {
        refuse_inactive(exchange, exchange->key);
        return;
    }
    if (verdict->end != APP_DONE) {
        answer_refuse_verdict(exchange, verdict);
        return;
    }
    ending->has_run = run_read(workflow->settings, workflow->made_ms, &ending->run);
    if (!ending->has_run) {
        exchange_refuse(exchange, 503, "the settings of the run cannot be read; nothing changed");
        return;
    }
    buffer_reserve(&ending->text, ending->run.invoker.size + 1); /* so that decoded texts never move */
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
    run_step_init(&ending->step, false);
    exchange_keep(exchange, ending, ending_free);
    if (!is_run_id(exchange->key)) {
        refuse_inactive(exchange, exchange->key);
        return;
    }
    struct slice key = run_key(exchange->key, ending->key);
    if (query_has(exchange->query, SLICE("cancel=false")))
        app_workflow_read(app_of(exchange), key, false, on_run, ending);
    else
        end_run(ending, true);
}

/* ---- DELETE of many ---- */

struct run_cancelling {
    struct exchange *exchange;
    struct buffer text; /* decoded ids */
    char (*keys)[RUN_KEY_SIZE];
    size_t count, pending, done;
    bool is_unknown, is_wrong;
};

static void cancelling_free(void *arg)
{
    struct run_cancelling *cancelling = arg;
    buffer_fini(&cancelling->text);
    free(cancelling->keys);
    free(cancelling);
}

static void end_one(struct run_cancelling *cancelling)
{
    char text[64];
    if (--cancelling->pending > 0)
        return;
    int size = snprintf(text, sizeof text, "{\"cancelled\":%zu}", cancelling->done);
    if (cancelling->is_unknown)
        exchange_refuse(cancelling->exchange, 503, "cancelled: %zu runs; repeat the request for the others",
                        cancelling->done);
    else
        exchange_answer(cancelling->exchange, 200, NULL, 0, slice_from(text, (size_t)size));
}

static void on_cancelled(void *arg, const struct app_verdict *verdict)
{
    struct run_cancelling *cancelling = arg;
    cancelling->done += verdict->end == APP_DONE;
    cancelling->is_unknown |= verdict->end != APP_DONE && verdict->end != APP_NOT_FOUND;
    end_one(cancelling);
}

static void add_id(struct run_cancelling *cancelling, struct slice id)
{
    if (!is_run_id(id))
        return;
    if (cancelling->count == RUNS_MAX)
        cancelling->is_wrong = true;
    else
        run_key(id, cancelling->keys[cancelling->count++]);
}

/* Takes the ids of the query, which are repeated or separated by commas. */
static void take_query(struct run_cancelling *cancelling, struct slice query)
{
    struct slice pair, name, value, id;
    while (query.size) {
        slice_cut(query, '&', &pair, &query);
        slice_cut(pair, '=', &name, &value);
        if (!slice_equal(name, SLICE("workflowRunIds"))) {
            cancelling->is_wrong |= !slice_equal(name, SLICE("count"));
            continue;
        }
        while (value.size) {
            slice_cut(value, ',', &id, &value);
            size_t start = cancelling->text.size;
            if (!percent_decode_form(id, &cancelling->text))
                cancelling->is_wrong = true;
            add_id(cancelling, slice_from(cancelling->text.data + start, cancelling->text.size - start));
        }
    }
}

/* Takes the ids of {"workflowRunIds":[...]}. */
static void take_body(struct run_cancelling *cancelling, struct slice body)
{
    struct json_cursor cursor, ids;
    struct slice key, value, id;
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    if (body.size == 0)
        return;
    cancelling->is_wrong |= json_check(body, &limits, &fault) != STATUS_OK;
    if (cancelling->is_wrong || !json_open(body, &cursor) || cursor.close != '}') {
        cancelling->is_wrong = true;
        return;
    }
    while (json_next_member(&cursor, &key, &value)) {
        if (!slice_equal(key, SLICE("\"workflowRunIds\"")) || !json_open(value, &ids) || ids.close != ']') {
            cancelling->is_wrong = true;
            return;
        }
        while (json_next_item(&ids, &id))
            if (json_is_text(id))
                add_id(cancelling, json_text(id, &cancelling->text));
    }
}

HANDLER(workflow_runs_cancel_handle)
{
    struct run_cancelling *cancelling = NEW(struct run_cancelling);
    struct slice body = http_request_body(exchange->request);
    cancelling->exchange = exchange;
    cancelling->keys = (char(*)[RUN_KEY_SIZE])NEW_ARRAY(char, (size_t)RUNS_MAX *RUN_KEY_SIZE);
    buffer_init(&cancelling->text, body.size + exchange->query.size + 1);
    buffer_reserve(&cancelling->text, body.size + exchange->query.size); /* so that ids never move */
    exchange_keep(exchange, cancelling, cancelling_free);
    take_query(cancelling, exchange->query);
    take_body(cancelling, body);
    if (cancelling->is_wrong || cancelling->count == 0) {
        exchange_refuse(exchange, 400, "name at most %d runs with workflowRunIds; other filters are unknown",
                        RUNS_MAX);
        return;
    }
    cancelling->pending = cancelling->count + 1;
    for (size_t i = 0; i < cancelling->count; i++) {
        const struct app_workflow_end end = {.id = slice_of(cancelling->keys[i]), .is_cancelled = true};
        app_workflow_end(app_of(exchange), &exchange->caller, &end, on_cancelled, cancelling);
    }
    end_one(cancelling);
}
