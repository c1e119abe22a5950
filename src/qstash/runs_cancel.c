/* runs_cancel.c - DELETE /v2/workflows/runs: cancels the runs with the given ids, or those that match the
 * filters.
 *
 *   1. page     reads a page of active runs, and notes the runs that match
 *   2. cancel   cancels them
 *   3. again    repeats from 1, until enough runs are cancelled or no more match; then answers
 *
 * If ids are given, step 1 is left out, and runs that are unknown or have ended are skipped. A body {}
 * without parameters cancels all runs: the client for Go sends this body for CancelAll. A request without
 * parameters and without a body is refused, because it is probably a mistake. */
#include <stdio.h>

#include "app/workflow_reads.h"
#include "app/workflows.h"
#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/message_id.h"
#include "qstash/run_filters.h"

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

/* ---- 3. again ---- */

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

/* ---- 2. cancel ---- */

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

/* ---- 1. page ---- */

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

/* ---- */

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
