#include "cli/many_jobs.h"

#include <stdio.h>

#include "cli/when.h"

struct sums {
    long long matched, done, skipped;
};

static void print_sums(const struct call *call, const struct sums *sums)
{
    if (call->arguments.is_json)
        printf("{\"matched\": %lld, \"done\": %lld, \"skipped\": %lld}\n", sums->matched, sums->done,
               sums->skipped);
    else if (call->arguments.is_dry_run)
        printf("%lld jobs match; run without --dry-run to act on them\n", sums->matched);
    else if (sums->skipped)
        printf("%lld of %lld jobs done; %lld skipped because they have changed\n", sums->done, sums->matched,
               sums->skipped);
    else
        printf("%lld of %lld jobs done\n", sums->done, sums->matched);
}

/* Adds the new due time of a reschedule to the query of a request's target. */
static void add_new_time(const struct call *call, struct buffer *target)
{
    char time[TIMESTAMP_SIZE];
    const char *delay = call->arguments.values[ARGUMENT_DELAY];
    const char *due_at = call->arguments.values[ARGUMENT_DUE_AT];
    if (delay) {
        buffer_printf(target, "&delay=");
        call_add_encoded(target, delay);
    }
    if (due_at && when_parse(due_at, time)) {
        buffer_printf(target, "&dueAt=");
        call_add_encoded(target, time);
    }
}

static bool many_jobs_act(struct call *call, const char *method, const char *path)
{
    struct buffer target;
    struct sums sums = {0, 0, 0};
    json_t *page = NULL;
    buffer_init(&target, CALL_TARGET_MAX);
    do {
        call_make_target(call, &target, path, page ? call_text(page, "cursor") : NULL);
        add_new_time(call, &target);
        json_decref(page);
        page = remote_ask_json(call->remote, method, buffer_text(&target), NULL, &call->problem);
        sums.matched += call_number(page, "matched");
        sums.done += call_number(page, "done");
        sums.skipped += call_number(page, "skipped");
        call_took(call, call_number(page, "matched"));
    } while (page && call_text(page, "cursor") && call->left > 0);
    if (page || sums.matched > 0)
        print_sums(call, &sums);
    json_decref(page);
    buffer_fini(&target);
    return page;
}

/* Checks that the action has --limit or --all, and a state. */
static bool is_bounded(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    call->is_bulk = true;
    if (!arguments->values[ARGUMENT_LIMIT] == !arguments->is_all)
        problem_set(&call->problem,
                    "expected --limit N for at most N jobs, or --all for all jobs that match the filter");
    else if (!arguments->values[ARGUMENT_STATE])
        problem_set(&call->problem, "expected --state STATE");
    else
        return true;
    return false;
}

static bool names_state(struct call *call)
{
    if (!call->arguments.values[ARGUMENT_STATE])
        problem_set(&call->problem,
                    "expected a job as TOPIC/ID, or several jobs as --topic TOPIC --state STATE");
    return call->arguments.values[ARGUMENT_STATE];
}

bool many_jobs_cancel(struct call *call)
{
    return names_state(call) && is_bounded(call) && many_jobs_act(call, "DELETE", "/jobs");
}

bool many_jobs_redrive(struct call *call)
{
    call->arguments.values[ARGUMENT_STATE] = "dead";
    return is_bounded(call) && many_jobs_act(call, "POST", "/jobs/redrive");
}

bool many_jobs_run(struct call *call)
{
    return names_state(call) && is_bounded(call) && many_jobs_act(call, "POST", "/jobs/run");
}

bool many_jobs_reschedule(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    if (!arguments->values[ARGUMENT_DELAY] == !arguments->values[ARGUMENT_DUE_AT]) {
        problem_set(&call->problem, "expected --delay DURATION or --due-at TIME");
        return false;
    }
    return is_bounded(call) && many_jobs_act(call, "POST", "/jobs/reschedule");
}
