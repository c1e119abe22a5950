#include "cli/many_jobs.h"

#include <stdio.h>

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

static bool many_jobs_act(struct call *call, const char *method, const char *path)
{
    struct buffer target;
    struct sums sums = {0, 0, 0};
    json_t *page = NULL;
    buffer_init(&target, CALL_TARGET_MAX);
    do {
        call_make_target(call, &target, path, page ? call_text(page, "cursor") : NULL);
        json_decref(page);
        page = remote_ask_json(call->remote, method, buffer_text(&target), NULL, &call->problem);
        sums.matched += call_number(page, "matched");
        sums.done += call_number(page, "done");
        sums.skipped += call_number(page, "skipped");
        call_took(call, call_number(page, "matched"));
    } while (page && call_text(page, "cursor") && call->left > 0);
    print_sums(call, &sums);
    json_decref(page);
    buffer_fini(&target);
    return page;
}

static bool is_bounded(struct call *call)
{
    if (call->arguments.values[ARGUMENT_TOPIC] || call->arguments.is_all)
        return true;
    problem_set(&call->problem, "expected --topic TOPIC, or --all for every topic");
    return false;
}

bool many_jobs_cancel(struct call *call)
{
    if (!call->arguments.values[ARGUMENT_STATE]) {
        problem_set(&call->problem,
                    "expected a job as TOPIC/ID, or several jobs as --topic TOPIC --state STATE");
        return false;
    }
    return is_bounded(call) && many_jobs_act(call, "DELETE", "/jobs");
}

bool many_jobs_redrive(struct call *call)
{
    call->arguments.values[ARGUMENT_STATE] = "dead";
    return is_bounded(call) && many_jobs_act(call, "POST", "/jobs/redrive");
}
