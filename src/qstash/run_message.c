#include "qstash/run_message.h"

#include <stdio.h>

#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/place.h"
#include "qstash/run_invoker.h"
#include "qstash/run_step.h"

/* Steps of sending. For a message that does not create a run:
 *
 *   read the run ─▶ take its settings ─▶ find the topic ─▶ create the job
 *   ─▶ append the job to the run, together with the messages of its group
 *
 * For the first message of a run:
 *
 *   (if it replaces a run: read that run, keep its settings)
 *   (if another run invokes this one: read that run, prepare its step) ─▶ find the topic ─▶ create the job
 *   ─▶ begin */
struct run_message {
    struct app *app;
    struct message_request request;
    struct settings *settings;
    struct run_group *group, *own_group;
    char key[RUN_KEY_SIZE], other_key[RUN_KEY_SIZE];
    struct run_step step;
    bool has_run; /* run is set: the run of the message, or the run that invokes the new run */
    struct run run;
    /* first message of a run */
    struct run_invoker invoker;
    struct run_step if_failed, if_cancelled;
    struct buffer kept, text, parent;
    message_sent_fn *fn;
    void *arg;
};

struct run_message *run_message_new(struct app *app, message_sent_fn *fn, void *arg)
{
    struct run_message *message = NEW(struct run_message);
    message->app = app;
    message->fn = fn;
    message->arg = arg;
    run_step_init(&message->step);
    run_step_init(&message->if_failed);
    run_step_init(&message->if_cancelled);
    buffer_init_fallible(&message->kept, JOB_RECORD_MAX);
    buffer_init_fallible(&message->text, JOB_RECORD_MAX);
    buffer_init(&message->parent, RUN_KEY_SIZE + 32);
    return message;
}

void run_message_free(struct run_message *message)
{
    if (!message)
        return;
    run_step_fini(&message->step);
    run_step_fini(&message->if_failed);
    run_step_fini(&message->if_cancelled);
    if (message->has_run)
        run_fini(&message->run);
    run_group_free(message->own_group);
    buffer_fini(&message->kept);
    buffer_fini(&message->text);
    buffer_fini(&message->parent);
    free(message);
}

/* ---- the end ---- */

static void message_refuse(struct run_message *message, unsigned status, struct slice error)
{
    if (message->group)
        run_group_miss(message->group, status, error);
    message->fn(message->arg, &(struct message_sent){.status = status, .error = error});
}

static void refuse_verdict(struct run_message *message, const struct app_verdict *verdict)
{
    char text[ANSWER_TEXT_SIZE];
    unsigned status = answer_of_verdict(verdict, text);
    message_refuse(message, status, slice_of(text));
}

static void refuse_inactive(struct run_message *message, struct slice id)
{
    char text[ANSWER_TEXT_SIZE];
    snprintf(text, sizeof text, "the workflow run %.*s is not active", SLICE_ARG(id));
    message_refuse(message, 400, slice_of(text));
}

static void on_appended(void *arg, unsigned status, struct slice error, struct slice first)
{
    struct run_message *message = arg;
    struct message_sent sent = {.status = first.size ? 202 : status, .error = error};
    struct slice topic;
    if (first.size)
        slice_cut(first, '/', &topic, &sent.id);
    else if (error.size == 0)
        sent.id = message->step.job.job_id;
    message->fn(message->arg, &sent);
}

static void on_begun(void *arg, const struct app_verdict *verdict, int64_t made_ms, struct slice first_job)
{
    struct run_message *message = arg;
    struct message_sent sent = {.status = 200, .made_ms = made_ms};
    struct slice topic;
    if (verdict->end != STATUS_OK && verdict->end != STATUS_REPEATED) {
        refuse_verdict(message, verdict);
        return;
    }
    sent.id = message->step.job.job_id;
    if (verdict->end == STATUS_REPEATED) {
        sent.status = 202;
        slice_cut(first_job, '/', &topic, &sent.id);
    }
    message->fn(message->arg, &sent);
}

/* ---- the job ---- */

static void begin_run(struct run_message *message)
{
    const struct settings *settings = message->settings;
    bool is_invoked = settings->run.is_invoke;
    struct buffer invoker;
    if (job_id_has_dots(settings->run.id)) {
        message_refuse(message, 400, SLICE("the id of a run must not be . or .."));
        return;
    }
    buffer_init_fallible(&invoker, message->request.body.size + 1024);
    if (is_invoked)
        run_invoker_write(&message->invoker, &invoker);
    run_write(&message->kept, settings, message->request.data.caller_ip, buffer_slice(&invoker));
    bool is_whole = !message->kept.failed && !invoker.failed;
    buffer_fini(&invoker);
    if (!is_whole) {
        message_refuse(message, 503, SLICE("there is no memory for the message"));
        return;
    }
    const struct workflow_begin begin = {
        .id = slice_of(message->key),
        .settings = buffer_slice(&message->kept),
        .parent = buffer_slice(&message->parent),
        .parent_step = message->if_failed.entry.step,
        .if_failed = message->if_failed.entry,
        .if_cancelled = message->if_cancelled.entry,
        .replaces = settings->run.is_by_sdk,
        .first = message->step.entry,
    };
    app_workflow_begin(message->app, &begin, on_begun, message);
}

static void append_to_run(struct run_message *message)
{
    if (!message->group)
        message->group = message->own_group = run_group_new(message->app, message->settings->run.id, 1);
    run_group_add(message->group, &message->step.entry, on_appended, message);
}

static void on_not_admitted(void *arg, const struct app_verdict *verdict)
{
    refuse_verdict(arg, verdict);
}

static void message_on_placed(void *arg, const struct app_verdict *verdict, struct slice topic)
{
    struct run_message *message = arg;
    if (verdict->end != STATUS_OK) {
        refuse_verdict(message, verdict);
        return;
    }
    const char *fault = run_step_make(&message->step, &message->request, topic, app_now_ms(message->app));
    if (fault)
        message_refuse(message, 400, slice_of(fault));
    else if (!app_workflow_admit(message->app, message->request.caller, &message->step.job, on_not_admitted,
                                 message))
        return;
    else if (!run_step_write(&message->step))
        message_refuse(message, 503, SLICE("there is no memory for the message"));
    else if (message->settings->run.is_init)
        begin_run(message);
    else
        append_to_run(message);
}

static void find_topic(struct run_message *message)
{
    if (message->settings->fault[0])
        message_refuse(message, message->settings->fault_status, slice_of(message->settings->fault));
    else
        place_find(message->app, message->request.caller, SLICE(""), &message->settings->flow,
                   message_on_placed, message);
}

/* ---- the step for an invoker ---- */

/* Creates the step that the invoker's run gets if this run is cancelled or, if is_cancelled is false,
 * fails. */
static const char *prepare_end(struct run_message *message, struct run_step *step, bool is_cancelled)
{
    struct buffer body;
    const struct run_invoker *invoker = &message->invoker;
    const struct run_outcome outcome = {.run_id = message->settings->run.id,
                                        .is_cancelled = is_cancelled,
                                        .is_failed = !is_cancelled,
                                        .url = message->settings->run.url};
    buffer_init(&body, 2 * (invoker->step.size + SETTINGS_RUN_ID_MAX) + 1024);
    run_invoker_write_step(invoker, &outcome, &body);
    const struct run_notice notice = {
        .id = invoker->run_id, .url = invoker->url, .headers = invoker->headers, .body = buffer_slice(&body)};
    const char *fault = run_step_make_notice(step, &message->run, &notice, app_now_ms(message->app));
    buffer_fini(&body);
    return fault;
}

static void prepare_ends(struct run_message *message)
{
    struct slice key = slice_of(message->other_key);
    const char *fault = prepare_end(message, &message->if_failed, false);
    if (!fault)
        fault = prepare_end(message, &message->if_cancelled, true);
    if (fault) {
        message_refuse(message, 400, slice_of(fault));
        return;
    }
    buffer_printf(&message->parent, "%.*s/%lld", SLICE_ARG(key), (long long)message->run.made_ms);
    message->request.body = message->invoker.payload;
    find_topic(message);
}

/* ---- the run ---- */

static void take_run(struct run_message *message)
{
    struct form_data_run *data = &message->request.data.run;
    data->made_ms = message->run.made_ms;
    if (run_is_call(data)) {
        data->inherits = message->run.headers;
        data->url = message->run.url;
        message->step.entry.role = WORKFLOW_CALL;
    } else {
        run_apply(&message->run, message->settings);
    }
    find_topic(message);
}

/* Takes the settings of the run that will be replaced: the new run keeps those that the client does not send
 * again. */
static void on_replaced(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct run_message *message = arg;
    if (verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND) {
        refuse_verdict(message, verdict);
        return;
    }
    if (workflow && workflow->state == WORKFLOW_ACTIVE)
        message->has_run = run_read(workflow->settings, workflow->made_ms, &message->run);
    if (message->has_run) {
        run_keep(&message->run, message->settings);
        message->settings->run.starts = message->run.starts + 1;
    }
    if (message->settings->run.starts > RUN_STARTS_MAX)
        message_refuse(message, 412, SLICE("the endpoint has begun this workflow run anew 100 times"));
    else
        find_topic(message);
}

static void on_run(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct run_message *message = arg;
    bool is_invoke = message->settings->run.is_invoke;
    struct slice id = is_invoke ? message->invoker.run_id : message->settings->run.id;
    if (workflow ? workflow->state != WORKFLOW_ACTIVE : verdict->end == STATUS_NOT_FOUND) {
        refuse_inactive(message, id);
    } else if (!workflow) {
        refuse_verdict(message, verdict);
    } else if (!run_read(workflow->settings, workflow->made_ms, &message->run)) {
        message_refuse(message, 503, SLICE("the settings of the run cannot be read"));
    } else {
        message->has_run = true;
        if (is_invoke)
            prepare_ends(message);
        else
            take_run(message);
    }
}

static void read_run(struct run_message *message, struct slice id, char room[RUN_KEY_SIZE])
{
    app_workflow_read(message->app, run_key(id, room), false, on_run, message);
}

/* Begins a run that another run invokes. */
static void begin_invoked(struct run_message *message)
{
    buffer_reserve(&message->text, message->request.body.size +
                                       1); /* the buffer must not move later, because slices point into it */
    if (message->text.failed)
        message_refuse(message, 503, SLICE("there is no memory for the message"));
    else if (!run_invoker_read(message->request.body, &message->invoker, &message->text) ||
             message->invoker.run_id.size > SETTINGS_RUN_ID_MAX)
        message_refuse(message, 400,
                       SLICE("the body must name the run that invokes: workflowRunId, "
                             "workflowUrl, step"));
    else
        read_run(message, message->invoker.run_id, message->other_key);
}

void run_message_send(struct run_message *message, const struct message_request *request,
                      struct settings *settings, struct run_group *group)
{
    const struct settings_run *run = &settings->run;
    message->request = *request;
    message->settings = settings;
    message->group = group;
    if (run->url.size == 0)
        settings->run.url = request->url;
    message->request.data.run = (struct form_data_run){.id = run->id,
                                                       .url = run->url,
                                                       .call_type = run->call_type,
                                                       .is_init = run->is_init,
                                                       .is_without_sdk = run->is_without_sdk};
    run_key(run->id, message->key);
    if (run->call_type.size && !run_is_call(&message->request.data.run)) {
        message_refuse(message, 400, SLICE("Upstash-Workflow-CallType must be step or toCallback"));
    } else if (!run->is_init) {
        read_run(message, run->id, message->key);
    } else {
        settings_take_default(settings, SLICE("Content-Type"), SLICE("application/json"));
        if (run->is_invoke)
            begin_invoked(message);
        else if (run->is_by_sdk)
            app_workflow_read(message->app, slice_of(message->key), false, on_replaced, message);
        else
            find_topic(message);
    }
}
