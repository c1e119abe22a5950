#include "app/send.h"

#include <assert.h>
#include <stdio.h>

#include "app/audit.h"
#include "app/use_case.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "job/fingerprint.h"
#include "job/group.h"
#include "job/job_errors.h"

enum { SEND_BYTES_MAX = 4 * 1024 * 1024 }; /* records of one send */

struct app_send {
    struct app *app;
    const struct app_caller *caller;
    struct job job;
    char new_id[JOB_ID_NEW_SIZE];
    bool is_id_new, is_missing; /* missing: there is no such group */
    struct slice once;
    char mark[FINGERPRINT_SIZE];
    struct buffer id;
    struct buffer text; /* names of the endpoints and records, one after another */
    struct {
        size_t name, record, end; /* positions in text */
    } parts[STORE_SEND_MAX];
    struct store_send_job jobs[STORE_SEND_MAX];
    size_t count;
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
    buffer_init_fallible(&send->text, SEND_BYTES_MAX + JOB_RECORD_MAX);
    return send;
}

void app_send_free(struct app_send *send)
{
    job_fini(&send->job);
    buffer_fini(&send->id);
    buffer_fini(&send->text);
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

struct slice app_send_id(const struct app_send *send)
{
    return buffer_slice(&send->id);
}

/* ---- before sending ---- */

bool app_send_admit(struct app_send *send, app_verdict_fn *fn, void *arg)
{
    const struct job *job = &send->job;
    if (!app_caller_reaches(send->caller, job->topic)) {
        fn(arg, &(struct app_verdict){.end = APP_NOT_REACHED, .topic = job->topic});
        return false;
    }
    if (!app_caller_reaches_group(send->caller, job->group)) {
        fn(arg, &(struct app_verdict){.end = APP_NOT_REACHED, .group = job->group});
        return false;
    }
    return !use_case_is_target_refused(send->app, job, fn, arg) &&
           !use_case_is_unready(send->app, job->topic, fn, arg);
}

/* ---- outcome ---- */

static void refuse_field(const struct app_send *send, const char *field, const char *detail)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    job_errors_add(&errors, field, detail);
    send->fn(send->arg, &(struct app_verdict){.end = APP_INVALID, .errors = &errors});
}

/* Adds the jobs of a send to a verdict. */
static void give_sent(const struct store_sent *sent, struct app_sent_job jobs[STORE_SEND_MAX],
                      struct app_verdict *verdict)
{
    for (size_t i = 0; i < sent->count; i++)
        jobs[i] = (struct app_sent_job){.endpoint = sent->jobs[i].endpoint,
                                        .has_ended = sent->jobs[i].has_ended,
                                        .state = sent->jobs[i].state,
                                        .at_ms = sent->jobs[i].at_ms};
    verdict->job.id = sent->id;
    verdict->sent = jobs;
    verdict->sent_count = sent->count;
}

static void on_sent(void *arg, enum status status, const struct store_sent *sent)
{
    const struct app_send *send = arg;
    struct app_sent_job jobs[STORE_SEND_MAX];
    struct app_verdict verdict = {.end = APP_DONE, .group = send->job.group};
    struct store_job taken = {.id = sent->taken};
    if (status == STATUS_NOT_FOUND && send->is_missing) {
        refuse_field(send, "group", "does not exist; PUT /groups/<name> makes it");
        return;
    }
    if (status != STATUS_OK && status != STATUS_REPEATED) {
        use_case_end(send->app, buffer_slice(&send->id), status, &taken, send->fn, send->arg);
        return;
    }
    give_sent(sent, jobs, &verdict);
    if (status == STATUS_REPEATED)
        verdict.end = APP_REPEATED;
    else if (sent->is_same)
        verdict.end = APP_SAME;
    for (size_t i = 0; i < sent->count && verdict.end == APP_DONE; i++)
        metrics_accepted(send->app->metrics, send->job.topic);
    send->fn(send->arg, &verdict);
}

/* ---- sending ---- */

static void write_id(struct app_send *send)
{
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
}

/* Makes the mark: a fingerprint of what the client sent, without its trace. Returns false without memory. */
static bool make_mark(struct app_send *send)
{
    struct job job = send->job;
    struct buffer text;
    job.trace_parent = job.trace_state = SLICE("");
    buffer_init_fallible(&text, JOB_RECORD_MAX);
    buffer_append(&text, job.group);
    buffer_append_byte(&text, ' ');
    job_write(&job, &text);
    bool has_memory = !text.failed;
    if (has_memory)
        fingerprint_make(buffer_slice(&text), send->mark);
    buffer_fini(&text);
    return has_memory;
}

/* Writes the job of an endpoint. Returns false after a callback. */
static bool add_endpoint(struct app_send *send, struct job *job, const struct group_walk *walk)
{
    struct buffer *text = &send->text;
    char detail[JOB_ERROR_TEXT_SIZE];
    *job = send->job;
    if (!group_endpoint_apply(&walk->endpoint, job)) {
        snprintf(detail, sizeof detail, "are over 50, or 8192 bytes, with those of endpoint %.*s",
                 SLICE_ARG(walk->name));
        refuse_field(send, "headers", detail);
        return false;
    }
    if (!job_method_allows_body(job->method) && (job->body.size || job->has_body_base64)) {
        snprintf(detail, sizeof detail, "cannot be sent with method %s of endpoint %.*s",
                 job_method_word(job->method), SLICE_ARG(walk->name));
        refuse_field(send, job->has_body_base64 ? "bodyBase64" : "body", detail);
        return false;
    }
    if (job->job_id.size + 1 + walk->name.size > JOB_ID_MAX) {
        snprintf(detail, sizeof detail, "with ~%.*s behind it is over 255 bytes", SLICE_ARG(walk->name));
        refuse_field(send, "jobId", detail);
        return false;
    }
    send->parts[send->count].name = text->size;
    buffer_append(text, walk->name);
    send->parts[send->count].record = text->size;
    job_write(job, text);
    send->parts[send->count].end = text->size;
    send->count++;
    if (text->failed || text->size > SEND_BYTES_MAX) {
        use_case_refuse(text->failed ? APP_NO_MEMORY : APP_TOO_LARGE, send->fn, send->arg);
        return false;
    }
    return true;
}

/* Writes the jobs of all endpoints. Returns false after a callback. */
static bool write_jobs(struct app_send *send, const struct group *group)
{
    struct group_walk *walk = NEW(struct group_walk);
    struct job *job = NEW(struct job);
    bool is_written = true;
    group_walk_init(walk, group);
    while (is_written && send->count < STORE_SEND_MAX && group_walk_next(walk))
        is_written = add_endpoint(send, job, walk);
    if (is_written && walk->status != STATUS_OK) {
        use_case_refuse(walk->status == STATUS_NO_MEMORY ? APP_NO_MEMORY : APP_UNREADABLE, send->fn,
                        send->arg);
        is_written = false;
    }
    group_walk_fini(walk);
    free(walk);
    free(job);
    return is_written;
}

/* Reads the group and writes its jobs. Returns false after a callback. */
static bool take_group(struct app_send *send, struct slice text)
{
    struct group group;
    if (text.size == 0) {
        send->is_missing = true;
        return true;
    }
    enum status status = group_read(text, &group);
    if (status == STATUS_OK && group.lacks.size == 0)
        return write_jobs(send, &group);
    if (status == STATUS_OK)
        send->fn(send->arg,
                 &(struct app_verdict){.end = APP_LACKING, .group = send->job.group, .why = group.lacks});
    else
        send->fn(send->arg,
                 &(struct app_verdict){.end = status == STATUS_NO_MEMORY ? APP_NO_MEMORY : APP_UNREADABLE,
                                       .group = send->job.group});
    return false;
}

static void send_jobs(struct app_send *send)
{
    const struct job *job = &send->job;
    for (size_t i = 0; i < send->count; i++) {
        const char *text = send->text.data;
        send->jobs[i].endpoint =
            slice_from(text + send->parts[i].name, send->parts[i].record - send->parts[i].name);
        send->jobs[i].record =
            slice_from(text + send->parts[i].record, send->parts[i].end - send->parts[i].record);
    }
    struct store_send call = {
        .id = buffer_slice(&send->id),
        .group = job->group,
        .mark = slice_of(send->mark),
        .when = {job->has_due_at, job->has_due_at ? job->due_at_ms : job->delay_ms},
        .once = send->once,
        .jobs = send->jobs,
        .count = send->count,
    };
    store_send(send->app->store, &call, on_sent, send);
}

static void on_group(void *arg, enum status status, const struct store_topic *found, size_t count,
                     struct store_topic_cursor next)
{
    struct app_send *send = arg;
    (void)next;
    if (status != STATUS_OK) /* nothing was written yet */
        use_case_end(send->app, send->job.group, status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status, NULL,
                     send->fn, send->arg);
    else if (take_group(send, count ? found->settings : SLICE("")))
        send_jobs(send);
}

void app_send_start(struct app_send *send, struct slice once, app_verdict_fn *fn, void *arg)
{
    struct store_topics topics = {.topic = send->job.group, .max = 1, .are_groups = true};
    send->once = once;
    send->fn = fn;
    send->arg = arg;
    write_id(send);
    if (make_mark(send))
        store_topics(send->app->store, &topics, on_group, send);
    else
        use_case_refuse(APP_NO_MEMORY, fn, arg);
}

/* ---- reading and cancelling ---- */

struct sent_call {
    struct app *app;
    const struct app_caller *caller;
    struct slice id, group;
    app_verdict_fn *fn;
    void *arg;
};

/* Returns NULL after a callback with NOT_FOUND: a caller without a right to the group does not learn whether
 * something was sent to it. */
static struct sent_call *sent_call_new(struct app *app, const struct app_caller *caller, struct slice id,
                                       struct slice group, app_verdict_fn *fn, void *arg)
{
    if (!app_caller_reaches_group(caller, group)) {
        use_case_refuse(APP_NOT_FOUND, fn, arg);
        return NULL;
    }
    struct sent_call *call = NEW(struct sent_call);
    *call = (struct sent_call){app, caller, id, group, fn, arg};
    return call;
}

static void on_seen(void *arg, enum status status, const struct store_sent *sent)
{
    struct sent_call *call = arg;
    struct app_sent_job jobs[STORE_SEND_MAX];
    struct app_verdict verdict = {.end = APP_DONE, .group = call->group};
    if (status == STATUS_OK) {
        give_sent(sent, jobs, &verdict);
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
    for (size_t i = 0; i < unsent->cancelled; i++) /* also those of the calls before one that failed */
        metrics_ended(call->app->metrics, topic, METRICS_END_CANCELLED);
    if (status == STATUS_OK)
        call->fn(call->arg, &(struct app_verdict){.end = APP_DONE,
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
