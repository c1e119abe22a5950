/* runs.c - /v2/workflows/runs: GET returns the elements of a run. DELETE ends a run with a result, or cancels
 * one or many runs. */
#include <stdio.h>

#include "app/workflows.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "job/target/url.h"
#include "job/text/json.h"
#include "qstash/messages/bulk.h"
#include "qstash/messages/lists.h"
#include "qstash/messages/message.h"
#include "qstash/qstash_private.h"
#include "qstash/runs/runs.h"

static void refuse_inactive(struct exchange *exchange, struct slice id)
{
    exchange_refuse(exchange, 404, "workflow run %.*s not found, or not active", SLICE_ARG(id));
}

/* ---- GET ---- */

struct run_reading {
    struct exchange *exchange;
    char key[RUN_KEY_SIZE];
};

static void on_list(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    const struct run_reading *reading = arg;
    struct exchange *exchange = reading->exchange;
    if (workflow ? workflow->state != WORKFLOW_ACTIVE : verdict->end == STATUS_NOT_FOUND) {
        refuse_inactive(exchange, exchange->key);
    } else if (!workflow) {
        answer_refuse_verdict(exchange, verdict);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        json_put_array(&json);
        for (size_t i = 0; workflow->elements && i < workflow->element_count; i++)
            json_put_raw(&json, workflow->elements[i].text); /* all, including those of calls */
        json_end_array(&json);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
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

/* ---- DELETE of many: the filters ---- */

/* Decides which runs a list or a bulk action selects. The functions are pure: no clock, no
 * I/O. */

/* The filters of runs, as bits 1 << filter. fromDate and toDate limit the time at which a run was created. */
#define FILTERS_OF_RUNS                                                                                      \
    (1U << FILTER_LABEL | 1U << FILTER_FLOW_KEY | 1U << FILTER_CALLER_IP | 1U << FILTER_HOST |               \
     1U << FILTER_PATH | 1U << FILTER_RUN_URL | 1U << FILTER_FROM | 1U << FILTER_TO)

/* Returns the value of a setting of the run, or an empty slice. */
static struct slice setting_of(struct run *run, struct slice wanted)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = run->headers.size && json_open(run->headers, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value))
        if (key.size == wanted.size + 2 && slice_equal(slice_from(key.data + 1, wanted.size), wanted) &&
            json_is_text(value))
            return json_text(value, &run->decoded);
    return SLICE("");
}

static bool has_label(struct slice labels, struct slice wanted)
{
    struct slice label;
    while (labels.size) {
        slice_cut(labels, ',', &label, &labels);
        if (slice_equal(slice_trim(label), wanted))
            return true;
    }
    return false;
}

/* Returns the part of the run's url that a filter compares. */
static struct slice url_part(struct slice text, enum filter filter)
{
    struct url url;
    const char *ignored;
    struct slice path, query;
    if (url_parse(text, &url, &ignored) != STATUS_OK)
        return SLICE("");
    if (filter == FILTER_HOST)
        return url.host;
    slice_cut(url.target, '?', &path, &query);
    return path.size ? path : SLICE("/");
}

struct subject {
    struct slice url, caller_ip, labels, flow_key;
    bool is_url_prefix;
};

static bool word_matches(const struct filter_word *word, const struct subject *subject)
{
    switch (word->filter) {
    case FILTER_LABEL:
        return has_label(subject->labels, word->text);
    case FILTER_FLOW_KEY:
        return slice_equal(word->text, subject->flow_key);
    case FILTER_CALLER_IP:
        return slice_equal(word->text, subject->caller_ip);
    case FILTER_HOST:
        return slice_equal_nocase(word->text, url_part(subject->url, FILTER_HOST));
    case FILTER_PATH:
        return slice_equal(word->text, url_part(subject->url, FILTER_PATH));
    case FILTER_RUN_URL:
        return subject->is_url_prefix ? slice_starts_with(subject->url, word->text)
                                      : slice_equal(subject->url, word->text);
    default:
        return false;
    }
}

/* Returns whether the run matches. If is_url_prefix is true, it is enough that the run's url begins with a
 * word of workflowUrl. */
static bool run_filters_match(const struct filters *filters, struct run *run, bool is_url_prefix)
{
    const struct subject subject = {.url = run->url,
                                    .caller_ip = run->caller_ip,
                                    .labels = setting_of(run, SLICE("Upstash-Label")),
                                    .flow_key = setting_of(run, SLICE("Upstash-Flow-Control-Key")),
                                    .is_url_prefix = is_url_prefix};
    unsigned open = filters->given & FILTERS_OF_RUNS & ~(1U << FILTER_FROM | 1U << FILTER_TO);
    for (size_t i = 0; i < filters->word_count && open; i++)
        if (open & 1U << filters->words[i].filter && word_matches(&filters->words[i], &subject))
            open &= ~(1U << filters->words[i].filter);
    return open == 0 && filters_match_time(filters, run->made_ms);
}

/* ---- DELETE of many ---- */

/* DELETE /v2/workflows/runs cancels the active runs with the given ids, or those that match the filters; runs
 * that are unknown or have ended are skipped. A body {} without parameters cancels all runs: the client for
 * Go sends this body for CancelAll. A request without parameters and without a body is refused, because it is
 * probably a mistake. */

#define ACCEPTED                                                                                             \
    (FILTERS_OF_RUNS | 1U << FILTER_RUN_ID | 1U << FILTER_EXACT_URL | 1U << FILTER_COUNT |                   \
     1U << FILTER_CURSOR)

/* A run that is being cancelled. */
struct cancelling {
    struct bulk *bulk;
    char key[RUN_KEY_SIZE];
};

static bool is_wanted(struct bulk *bulk, const struct workflow *workflow)
{
    struct run run;
    bool is_exact = slice_equal(filters_only(&bulk->filters, FILTER_EXACT_URL), SLICE("true"));
    if (!run_read(workflow->settings, workflow->made_ms, &run))
        return false;
    bool is_match = run_filters_match(&bulk->filters, &run, !is_exact);
    run_fini(&run);
    return is_match;
}

static void cancelling_end(struct cancelling *cancelling, enum status end)
{
    struct bulk *bulk = cancelling->bulk;
    free(cancelling);
    if (end == STATUS_NOT_FOUND)
        bulk_skip_one(bulk);
    else
        bulk_end_one(bulk, end);
}

static void on_cancelled(void *arg, const struct app_verdict *verdict)
{
    cancelling_end(arg, verdict->end);
}

static void cancel(struct cancelling *cancelling)
{
    struct bulk *bulk = cancelling->bulk;
    const struct app_workflow_end end = {.id = slice_of(cancelling->key), .is_cancelled = true};
    app_workflow_end(bulk->qstash->app, &bulk->caller, &end, on_cancelled, cancelling);
}

static void cancelling_on_read(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct cancelling *cancelling = arg;
    if (verdict->end != STATUS_OK)
        cancelling_end(cancelling, verdict->end);
    else if (workflow->state == WORKFLOW_ACTIVE && is_wanted(cancelling->bulk, workflow))
        cancel(cancelling);
    else
        cancelling_end(cancelling, STATUS_NOT_FOUND);
}

static void cancel_one(struct bulk *bulk, struct slice id)
{
    struct cancelling *cancelling = NEW(struct cancelling);
    bool has_ids = bulk->filters.given & 1U << FILTER_RUN_ID;
    bool is_unread = !has_ids && slice_starts_with(id, SLICE("/"));
    cancelling->bulk = bulk;
    if (is_unread)
        id = slice_skip(id, 1);
    if (!run_is_id(id)) {
        cancelling_end(cancelling, STATUS_NOT_FOUND);
        return;
    }
    run_key(id, cancelling->key);
    if (is_unread)
        app_workflow_read(bulk->qstash->app, slice_of(cancelling->key), false, cancelling_on_read,
                          cancelling);
    else
        cancel(cancelling);
}

static bool admit_cancel(struct bulk *bulk)
{
    struct filters *filters = &bulk->filters;
    struct slice exact = filters_only(filters, FILTER_EXACT_URL);
    bool has_exact = filters->given & 1U << FILTER_EXACT_URL;
    size_t at = 0;
    const char *fault = NULL;
    filters->cursor = SLICE(""); /* accepted, because clients may send it; the list always begins anew */
    if (filters_are_empty(filters) && !filters->has_object)
        fault =
            "select runs with workflowRunIds or filters; to cancel runs of any kind, send only count, or the "
            "body {} for all";
    else if (has_exact && !slice_equal(exact, SLICE("true")) && !slice_equal(exact, SLICE("false")))
        fault = "parameter workflowUrlExactMatch: must be true or false";
    else if (filters->given & 1U << FILTER_RUN_ID && !filters_next(filters, FILTER_RUN_ID, &at).size)
        fault = "parameter workflowRunIds: has no id";
    if (fault)
        exchange_refuse(bulk->exchange, 400, "%s", fault);
    return !fault;
}

static void answer_cancelled(struct bulk *bulk)
{
    bulk->walk.cursor[0] = '\0'; /* the answer has none */
    bulk_answer_count(bulk, "cancelled");
}

HANDLER(workflow_runs_cancel_handle)
{
    static const struct bulk_kind kind = {
        .accepted = ACCEPTED,
        .ids = FILTER_RUN_ID,
        .admit = admit_cancel,
        .wants_run = is_wanted,
        .act = cancel_one,
        .answer = answer_cancelled,
    };
    bulk_begin(exchange, &kind);
}
