/* runs.c - /v2/workflows/runs: GET returns the elements of a run. DELETE ends a run with a result, or cancels
 * one or many runs. */
#include <stdio.h>

#include "app/workflow_reads.h"
#include "app/workflows.h"
#include "base/memory.h"
#include "base/percent.h"
#include "job/text/json.h"
#include "job/target/url.h"
#include "qstash/handler.h"
#include "qstash/messages/filters.h"
#include "qstash/messages/message.h"
#include "qstash/runs/run.h"
#include "qstash/runs/run_message.h"
#include "qstash/runs/waiting.h"

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

/* DELETE /v2/workflows/runs: cancels the runs with the given ids, or those that match the
 * filters.
 *
 *   1. page     reads a page of active runs, and notes the runs that match
 *   2. cancel   cancels them
 *   3. again    repeats from 1, until enough runs are cancelled or no more match; then answers
 *
 * If ids are given, step 1 is left out, and runs that are unknown or have ended are skipped. A body {}
 * without parameters cancels all runs: the client for Go sends this body for CancelAll. A request without
 * parameters and without a body is refused, because it is probably a mistake. */

enum { PAGE = 100, COUNT = 100 /* without count */ };

#define ACCEPTED                                                                                             \
    (FILTERS_OF_RUNS | 1U << FILTER_RUN_ID | 1U << FILTER_EXACT_URL | 1U << FILTER_COUNT |                   \
     1U << FILTER_CURSOR)

struct cancelling {
    struct exchange *exchange;
    struct filters filters;
    bool is_url_prefix;
    struct workflow_list list;
    bool has_more;  /* the list has further pages */
    int64_t left;   /* number of runs that may still be cancelled */
    size_t pending; /* number of runs being cancelled, plus 1 while further ones are started */
    size_t done;
    bool is_unknown;   /* at least one run was not cancelled, or its outcome is unknown */
    struct list found; /* runs of this page that will be cancelled, as struct victim */
};

/* A run that will be cancelled. */
struct victim {
    struct list entry;
    struct cancelling *cancelling;
    bool is_unread; /* whether the run matches is not known yet, because its settings were not in the list */
    char key[RUN_KEY_SIZE];
};

static void read_page(struct cancelling *);

static void cancelling_free(void *arg)
{
    struct cancelling *cancelling = arg;
    filters_fini(&cancelling->filters);
    free(cancelling);
}

/* ---- DELETE of many: 3. again ---- */

static void runs_cancel_answer(struct cancelling *cancelling)
{
    char text[64];
    int size = snprintf(text, sizeof text, "{\"cancelled\":%zu}", cancelling->done);
    if (cancelling->is_unknown)
        exchange_refuse(cancelling->exchange, 503,
                        "cancelled: %zu runs; some failed, or their outcome is unknown: repeat the request "
                        "for the others",
                        cancelling->done);
    else
        exchange_answer(cancelling->exchange, 200, NULL, 0, slice_from(text, (size_t)size));
}

static void end_one(struct cancelling *cancelling)
{
    if (--cancelling->pending > 0)
        return;
    if (cancelling->has_more && cancelling->left > 0 && !cancelling->is_unknown)
        read_page(cancelling);
    else
        runs_cancel_answer(cancelling);
}

/* ---- DELETE of many: 2. cancel ---- */

static void victim_end(struct victim *victim, enum status end)
{
    struct cancelling *cancelling = victim->cancelling;
    cancelling->done += end == STATUS_OK;
    cancelling->left -= end == STATUS_OK;
    cancelling->is_unknown |= end != STATUS_OK && end != STATUS_NOT_FOUND;
    free(victim);
    end_one(cancelling);
}

static void on_cancelled(void *arg, const struct app_verdict *verdict)
{
    victim_end(arg, verdict->end);
}

static void cancel(struct victim *victim)
{
    struct exchange *exchange = victim->cancelling->exchange;
    const struct app_workflow_end end = {.id = slice_of(victim->key), .is_cancelled = true};
    app_workflow_end(app_of(exchange), &exchange->caller, &end, on_cancelled, victim);
}

static bool cancelling_matches(struct cancelling *cancelling, const struct workflow *workflow)
{
    struct run run;
    if (!run_read(workflow->settings, workflow->made_ms, &run))
        return false;
    bool is_match = run_filters_match(&cancelling->filters, &run, cancelling->is_url_prefix);
    run_fini(&run);
    return is_match;
}

static void victim_on_read(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct victim *victim = arg;
    if (verdict->end != STATUS_OK)
        victim_end(victim, verdict->end);
    else if (workflow->state == WORKFLOW_ACTIVE && cancelling_matches(victim->cancelling, workflow))
        cancel(victim);
    else
        victim_end(victim, STATUS_NOT_FOUND);
}

static void cancel_found(struct cancelling *cancelling)
{
    struct app *app = app_of(cancelling->exchange);
    cancelling->pending = 1;
    while (!list_is_empty(&cancelling->found)) {
        struct victim *victim = LIST_ENTRY(list_pop(&cancelling->found), struct victim, entry);
        cancelling->pending++;
        if (victim->is_unread)
            app_workflow_read(app, slice_of(victim->key), false, victim_on_read, victim);
        else
            cancel(victim);
    }
    end_one(cancelling);
}

static void add_victim(struct cancelling *cancelling, struct slice id, bool is_unread)
{
    struct victim *victim = NEW(struct victim);
    victim->cancelling = cancelling;
    victim->is_unread = is_unread;
    run_key(id, victim->key);
    list_append(&cancelling->found, &victim->entry);
}

/* ---- DELETE of many: 1. page ---- */

static void on_workflow(void *arg, const struct workflow *workflow)
{
    struct cancelling *cancelling = arg;
    struct slice owner, id;
    bool is_unread = workflow->settings.size == 0;
    slice_cut(workflow->id, '/', &owner, &id);
    if (run_is_id(id) && (is_unread || cancelling_matches(cancelling, workflow)))
        add_victim(cancelling, id, is_unread);
}

static void on_page(void *arg, const struct app_verdict *verdict)
{
    struct cancelling *cancelling = arg;
    struct slice next = verdict->page.cursor;
    if (verdict->end != STATUS_OK)
        cancelling->is_unknown = true;
    cancelling->list.from = (struct workflow_cursor){.shard = 0};
    cancelling->has_more =
        next.size && app_workflow_cursor_parse(app_of(cancelling->exchange), next, &cancelling->list.from);
    cancel_found(cancelling);
}

static void read_page(struct cancelling *cancelling)
{
    cancelling->list.max = cancelling->left < PAGE ? (size_t)cancelling->left : PAGE;
    app_workflow_list(app_of(cancelling->exchange), &cancelling->list, on_workflow, on_page, cancelling);
}

/* ---- DELETE of many: the request ---- */

static void cancel_ids(struct cancelling *cancelling)
{
    struct slice id;
    size_t count = 0;
    for (size_t at = 0; (id = filters_next(&cancelling->filters, FILTER_RUN_ID, &at)).size; count++)
        if (run_is_id(id))
            add_victim(cancelling, id, false);
    if (count)
        cancel_found(cancelling);
    else
        exchange_refuse(cancelling->exchange, 400, "parameter workflowRunIds: has no id");
}

static void cancelling_begin(struct cancelling *cancelling)
{
    const struct filters *filters = &cancelling->filters;
    struct slice exact = filters_only(filters, FILTER_EXACT_URL);
    bool has_exact = filters->given & 1U << FILTER_EXACT_URL;
    bool is_exact = has_exact && slice_equal(exact, SLICE("true"));
    cancelling->is_url_prefix = !is_exact;
    bool has_filters = !filters_are_empty(filters);
    cancelling->left = filters->count ? filters->count : has_filters ? COUNT : INT64_MAX;
    if (!has_filters && !filters->has_object)
        exchange_refuse(cancelling->exchange, 400,
                        "select runs with workflowRunIds or filters; to cancel runs of any kind, send only "
                        "count, or the body {} for all");
    else if (has_exact && !is_exact && !slice_equal(exact, SLICE("false")))
        exchange_refuse(cancelling->exchange, 400, "parameter workflowUrlExactMatch: must be true or false");
    else if (filters->given & 1U << FILTER_RUN_ID)
        cancel_ids(cancelling);
    else
        read_page(cancelling);
}

HANDLER(workflow_runs_cancel_handle)
{
    struct cancelling *cancelling = NEW(struct cancelling);
    cancelling->exchange = exchange;
    cancelling->list =
        (struct workflow_list){.owner = SLICE(QSTASH_TOPIC), .has_state = true, .state = WORKFLOW_ACTIVE};
    list_init(&cancelling->found);
    exchange_keep(exchange, cancelling, cancelling_free);
    if (filters_read(exchange, ACCEPTED, &cancelling->filters))
        cancelling_begin(cancelling);
}
