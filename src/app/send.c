#include <assert.h>

#include "app/app_private.h"
#include "app/groups.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/group.h"
#include "job/job_id.h"

struct app_send {
    struct app *app;
    const struct app_caller *caller;
    struct job job;
    char new_id[JOB_ID_NEW_SIZE];
    bool is_id_new;
    enum status
        /* OK: the jobs for the group were created. NOT_FOUND: there is no group. Otherwise: the error of
           group_jobs_write. */
        fit;
    bool is_replacing, is_only_new;
    struct slice once;
    char mark[FINGERPRINT_SIZE];
    struct buffer id;
    struct group_jobs made;
    struct store_send_job jobs[STORE_SEND_MAX]; /* jobs; their slices point into made */
    app_verdict_fn *fn;
    void *arg;
};

struct app_send *app_send_new(struct app *app, const struct app_caller *caller, struct job *job)
{
    struct app_send *send = NEW(struct app_send);
    send->app = app;
    send->caller = caller;
    send->job = *job;
    buffer_init(&send->id, JOB_KEY_MAX);
    group_jobs_init(&send->made);
    return send;
}

void app_send_free(struct app_send *send)
{
    job_fini(&send->job);
    buffer_fini(&send->id);
    group_jobs_fini(&send->made);
    free(send);
}

struct job *app_send_job(struct app_send *send)
{
    return &send->job;
}

bool app_send_is_id_new(const struct app_send *send)
{
    return send->is_id_new;
}

/* ---- before sending ---- */

bool app_send_admit(struct app_send *send, app_verdict_fn *fn, void *arg)
{
    const struct job *job = &send->job;
    if (!app_caller_reaches(send->caller, job->topic)) {
        fn(arg, &(struct app_verdict){.end = STATUS_NOT_REACHED, .topic = job->topic});
        return false;
    }
    if (!app_caller_reaches_group(send->caller, job->group)) {
        fn(arg, &(struct app_verdict){.end = STATUS_NOT_REACHED, .group = job->group});
        return false;
    }
    if (topic_is_sibling(job->topic)) {
        fn(arg, &(struct app_verdict){.end = STATUS_SIBLING, .topic = topic_owner(job->topic)});
        return false;
    }
    return !use_case_is_target_refused(send->app, job, fn, arg) &&
           !use_case_is_unready(send->app, job->topic, fn, arg);
}

/* ---- outcome ---- */

/* Refuses the send, because no jobs could be created for the group. */
static void refuse_unfit(const struct app_send *send)
{
    struct app_verdict verdict = {.end = STATUS_NO_MEMORY, .group = send->job.group};
    switch (send->fit) {
    case STATUS_NOT_FOUND:
        use_case_refuse_field("group", "does not exist; PUT /groups/<name> creates it", send->fn, send->arg);
        return;
    case STATUS_INVALID:
        use_case_refuse_field(send->made.field, send->made.detail, send->fn, send->arg);
        return;
    case STATUS_LACKING:
        verdict.end = STATUS_LACKING;
        break;
    case STATUS_FULL:
        verdict.end = STATUS_TOO_LARGE;
        break;
    case STATUS_UNREADABLE:
        verdict.end = STATUS_UNREADABLE;
        break;
    default:
        break;
    }
    send->fn(send->arg, &verdict);
}

/* Adds the jobs of a send to a verdict. */
static void give_sent(const struct store_sent *sent, struct app_verdict *verdict)
{
    verdict->job.id = sent->id;
    verdict->sent = sent->jobs;
    verdict->sent_count = sent->count;
}

static void on_sent(void *arg, enum status status, const struct store_sent *sent)
{
    const struct app_send *send = arg;
    struct app_verdict verdict = {.end = STATUS_OK, .group = send->job.group};
    struct stored_job taken = {.id = sent->taken};
    if (status == STATUS_NOT_FOUND && send->fit != STATUS_OK) {
        refuse_unfit(send);
        return;
    }
    if (status == STATUS_EXPIRED) {
        use_case_refuse_expiry(send->job.has_ttl, send->fn, send->arg);
        return;
    }
    if (status != STATUS_OK && status != STATUS_REPEATED) {
        use_case_end(send->app, buffer_slice(&send->id), status, &taken, send->fn, send->arg);
        return;
    }
    give_sent(sent, &verdict);
    if (status == STATUS_REPEATED)
        verdict.end = STATUS_REPEATED;
    else if (sent->is_same)
        verdict.end = STATUS_SAME;
    for (size_t i = 0; i < sent->count && verdict.end == STATUS_OK; i++)
        metrics_accepted(send->app->metrics, send->job.topic);
    send->fn(send->arg, &verdict);
}

/* Ends the use case after a replacement. The jobs of endpoints that are no longer in the group were
 * cancelled. */
static void on_replaced(void *arg, enum status status, const struct store_sent *sent)
{
    const struct app_send *send = arg;
    struct app_verdict verdict = {.end = STATUS_OK, .group = send->job.group, .was_there = sent->was_there};
    /* The audit log records replaced jobs as changes, and does not record new jobs. */
    if (status != STATUS_OK || sent->was_there)
        audit(send->caller, "group_job_replaced", "job", buffer_slice(&send->id), status);
    if (status == STATUS_EXPIRED) {
        use_case_refuse_expiry(send->job.has_ttl, send->fn, send->arg);
        return;
    }
    if (status != STATUS_OK) {
        use_case_end(send->app, buffer_slice(&send->id), status, NULL, send->fn, send->arg);
        return;
    }
    give_sent(sent, &verdict);
    for (size_t i = sent->replaced - sent->replaced_leased; i < sent->count; i++)
        metrics_accepted(send->app->metrics, send->job.topic);
    for (size_t i = 0; i < sent->cancelled + sent->replaced_leased; i++)
        metrics_ended(send->app->metrics, send->job.topic, METRICS_END_CANCELLED);
    send->fn(send->arg, &verdict);
}

/* ---- sending ---- */

/* Creates the jobs from the text of the group, which is empty if there is no group. */
static void take_group(struct app_send *send, struct slice text)
{
    send->fit = text.size ? group_jobs_write(&send->made, text, &send->job) : STATUS_NOT_FOUND;
    if (send->fit != STATUS_OK)
        send->made.count = 0;
}

static void on_group(void *arg, enum status status, const struct topic *found, size_t count,
                     struct topic_cursor next)
{
    struct app_send *send = arg;
    (void)next;
    if (status != STATUS_OK) { /* nothing has been written yet */
        use_case_end(send->app, send->job.group, status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status, NULL,
                     send->fn, send->arg);
        return;
    }
    take_group(send, count ? found->settings : SLICE(""));
    /* Calls the store. If no jobs could be created for the group, the call only looks for an earlier send: a
     * repeated request must get the answer of the first request, even if the group has changed since. */
    const struct job *job = &send->job;
    for (size_t i = 0; i < send->made.count; i++) {
        send->jobs[i].endpoint = group_jobs_endpoint(&send->made, i);
        send->jobs[i].record = group_jobs_record(&send->made, i);
    }
    struct store_send call = {
        .id = buffer_slice(&send->id),
        .group = job->group,
        .mark = slice_of(send->mark),
        .when = {job->has_due_at, job->has_due_at ? job->due_at_ms : job->delay_ms},
        .once = send->once,
        .jobs = send->jobs,
        .count = send->made.count,
        .is_only_new = send->is_only_new,
    };
    if (send->fit == STATUS_NO_MEMORY || (send->is_replacing && send->fit != STATUS_OK))
        refuse_unfit(send);
    else if (!send->is_replacing)
        store_send(send->app->store, &call, on_sent, send);
    else
        store_replace_sent(send->app->store, &call, on_replaced, send);
}

static void send_begin(struct app_send *send, app_verdict_fn *fn, void *arg)
{
    struct store_topics topics = {.topic = send->job.group, .max = 1, .are_groups = true};
    send->fn = fn;
    send->arg = arg;
    struct job *job = &send->job;
    uint8_t random[10];
    send->is_id_new = job->job_id.size == 0;
    if (send->is_id_new) {
        random_fill(random, sizeof random);
        job_id_make(clock_wall_ms(), random, send->new_id);
        job->job_id = slice_from(send->new_id, JOB_ID_NEW_SIZE);
    }
    buffer_append(&send->id, job->topic);
    buffer_append_byte(&send->id, '/');
    buffer_append(&send->id, job->job_id);
    if (group_jobs_mark(&send->job, send->mark) == STATUS_OK)
        store_topics(send->app->store, &topics, on_group, send);
    else
        use_case_refuse(STATUS_NO_MEMORY, fn, arg);
}

void app_send_start(struct app_send *send, struct slice once, app_verdict_fn *fn, void *arg)
{
    send->once = once;
    send_begin(send, fn, arg);
}

void app_send_replace(struct app_send *send, bool is_only_new, app_verdict_fn *fn, void *arg)
{
    send->is_replacing = true;
    send->is_only_new = is_only_new;
    send_begin(send, fn, arg);
}

/* ---- reading and cancelling ---- */

struct sent_call {
    struct app *app;
    const struct app_caller *caller;
    struct slice id, group;
    app_verdict_fn *fn;
    void *arg;
};

/* Returns NULL after a callback with NOT_FOUND. A caller without a right to the group always gets NOT_FOUND,
 * so that the answer does not disclose whether jobs were sent to the group. */
static struct sent_call *sent_call_new(struct app *app, const struct app_caller *caller, struct slice id,
                                       struct slice group, app_verdict_fn *fn, void *arg)
{
    if (!app_caller_reaches_group(caller, group)) {
        use_case_refuse(STATUS_NOT_FOUND, fn, arg);
        return NULL;
    }
    struct sent_call *call = NEW(struct sent_call);
    *call = (struct sent_call){app, caller, id, group, fn, arg};
    return call;
}

static void on_seen(void *arg, enum status status, const struct store_sent *sent)
{
    struct sent_call *call = arg;
    struct app_verdict verdict = {.end = STATUS_OK, .group = call->group};
    if (status == STATUS_OK) {
        give_sent(sent, &verdict);
        call->fn(call->arg, &verdict);
    } else {
        use_case_end(call->app, call->id, status, NULL, call->fn, call->arg);
    }
    free(call);
}

void app_sent(struct app *app, const struct app_caller *caller, struct slice id, struct slice group,
              app_verdict_fn *fn, void *arg)
{
    struct sent_call *call = sent_call_new(app, caller, id, group, fn, arg);
    if (call)
        store_read_sent(app->store, id, group, on_seen, call);
}

static void on_unsent(void *arg, enum status status, const struct store_unsent *unsent)
{
    struct sent_call *call = arg;
    struct slice topic, job_id;
    audit(call->caller, "group_job_cancelled", "job", call->id, status);
    slice_cut(call->id, '/', &topic, &job_id);
    for (size_t i = 0; i < unsent->cancelled;
         i++) /* also counts the jobs of earlier calls, if the last call failed */
        metrics_ended(call->app->metrics, topic, METRICS_END_CANCELLED);
    if (status == STATUS_OK)
        call->fn(call->arg, &(struct app_verdict){.end = STATUS_OK,
                                                  .group = call->group,
                                                  .was_leased = unsent->leased > 0,
                                                  .counts = {.done = unsent->cancelled}});
    else
        use_case_end(call->app, call->id, status, NULL, call->fn, call->arg);
    free(call);
}

void app_unsend(struct app *app, const struct app_caller *caller, struct slice id, struct slice group,
                app_verdict_fn *fn, void *arg)
{
    if (use_case_is_unready(app, id, fn, arg))
        return;
    struct sent_call *call = sent_call_new(app, caller, id, group, fn, arg);
    if (call)
        store_unsend(app->store, id, group, on_unsent, call);
}
