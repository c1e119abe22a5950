#include "qstash/runs/runs.h"

#include <stdio.h>

#include "base/memory.h"
#include "job/text/json.h"
#include "qstash/qstash_private.h"
#include "qstash/topics/topics.h"

/* ---- the job and the element ---- */

void run_step_init(struct run_step *step)
{
    step->entry = (struct workflow_entry){.role = WORKFLOW_STEP};
    step->name[0] = '\0';
    buffer_init_fallible(&step->stored, JOB_RECORD_MAX);
    buffer_init_fallible(&step->element, JOB_RECORD_MAX);
    buffer_init_fallible(&step->hook, WAITER_EVENT_MAX);
    message_texts_init(&step->texts);
}

void run_step_fini(struct run_step *step)
{
    buffer_fini(&step->stored);
    buffer_fini(&step->element);
    buffer_fini(&step->hook);
    message_texts_fini(&step->texts);
}

/* ---- names of steps ---- */

enum { STEP_MAX = 999999999 };

/* Names a step of the SDK by its number, and the plan of a parallel step by that of the planned step. Other
 * bodies have no name. */
static void name_step(struct slice body, char name[RUN_STEP_NAME_SIZE])
{
    struct json_cursor cursor;
    struct slice key, value;
    uint64_t number = 0, target = 0;
    if (!json_open(body, &cursor) || cursor.close != '}')
        return;
    while (json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"stepId\"")))
            slice_to_number(value, STEP_MAX, &number);
        else if (slice_equal(key, SLICE("\"targetStep\"")))
            slice_to_number(value, STEP_MAX, &target);
    }
    if (cursor.is_ended && target)
        snprintf(name, RUN_STEP_NAME_SIZE, "%up", (unsigned)target);
    else if (cursor.is_ended && number)
        snprintf(name, RUN_STEP_NAME_SIZE, "%u", (unsigned)number);
}

/* Names a call by the number of its step, which the headers of its callback have. */
static void name_call(const struct callback_settings *callback, char name[RUN_STEP_NAME_SIZE])
{
    uint64_t number;
    for (size_t i = 0; i < callback->count; i++)
        if (slice_equal_nocase(callback->pairs[i].name, SLICE("Forward-Upstash-Workflow-StepId")) &&
            slice_to_number(callback->pairs[i].value, STEP_MAX, &number))
            snprintf(name, RUN_STEP_NAME_SIZE, "%uc", (unsigned)number);
}

/* ---- the job ---- */

const char *run_step_make(struct run_step *step, const struct message_request *request, struct slice topic,
                          int64_t now_ms)
{
    struct message_request own = *request;
    bool is_call = message_run_is_call(&request->data.run);
    /* The job of a step needs no body, because its element contains the body, and deliveries contain the
     * elements. */
    if (step->entry.role == WORKFLOW_STEP) {
        own.body = SLICE("");
        waiter_write_created(request->body, &step->hook);
    }
    const char *fault = message_job_make(&own, topic, now_ms, &step->texts, &step->job);
    if (fault)
        return fault;
    step->job.job_id = message_id_make(topic, now_ms, step->id);
    if (request->data.run.is_init)
        snprintf(step->name, sizeof step->name, "0");
    else if (step->entry.role == WORKFLOW_STEP)
        name_step(request->body, step->name);
    else if (step->entry.role == WORKFLOW_CALL)
        name_call(&request->settings->callback, step->name);
    if (step->entry.role != WORKFLOW_ANSWER)
        run_write_element(&step->element, step->job.job_id, request->body, is_call ? request->settings : NULL,
                          request->url);
    return NULL;
}

bool run_step_write(struct run_step *step)
{
    const struct job *job = &step->job;
    struct buffer *stored = &step->stored;
    buffer_append(stored, job->topic);
    buffer_append_byte(stored, '/');
    buffer_append(stored, job->job_id);
    size_t id_size = stored->size;
    job_write(job, stored);
    step->entry.job = slice_from(stored->data, id_size);
    step->entry.record = slice_skip(buffer_slice(stored), id_size);
    step->entry.when = (struct job_when){job->has_due_at, job->has_due_at ? job->due_at_ms : job->delay_ms};
    step->entry.element = buffer_slice(&step->element);
    step->entry.hook = buffer_slice(&step->hook);
    step->entry.step = slice_of(step->name);
    return !step->texts.base64.failed && !stored->failed && !step->element.failed;
}

/* ---- steps of the server ---- */

/* Takes the headers of a step. Its Upstash-Workflow-Url is not used: the step has the url of the run. */
static void take_headers(struct slice headers, struct message_settings *settings, struct buffer *text)
{
    struct json_cursor cursor, values;
    struct slice key, value, one;
    bool is_object = headers.size && json_open(headers, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value)) {
        struct slice name = json_text(key, text);
        bool is_array = json_open(value, &values) && values.close == ']';
        if (slice_equal_nocase(name, SLICE("Upstash-Workflow-Url")))
            continue;
        if (json_is_text(value))
            message_settings_take(settings, name, json_text(value, text));
        while (is_array && json_next_item(&values, &one))
            if (json_is_text(one))
                message_settings_take(settings, name, json_text(one, text));
    }
}

static const char *make_notice(struct run_step *step, struct run *run, const struct run_notice *notice,
                               struct message_settings *settings, int64_t now_ms)
{
    char room[MESSAGE_TOPIC_SIZE];
    run_apply(run, settings);
    settings->has_delay = settings->has_not_before = false;
    const struct message_request request = {
        .url = notice->url,
        .body = notice->body,
        .settings = settings,
        .data = {.caller_ip = run->caller_ip,
                 .run = {.id = notice->id, .url = run->url, .made_ms = run->made_ms}},
    };
    if (settings->fault[0]) {
        snprintf(step->fault, sizeof step->fault, "the headers of the step cannot be used: %s",
                 settings->fault);
        return step->fault;
    }
    /* The limits of the topic of the run's flow-control key were set when the run was created. */
    struct slice topic = settings->flow.key.size ? flow_topic(settings->flow.key, room) : SLICE("");
    const char *fault =
        run_step_make(step, &request, topic.size ? topic : SLICE(QSTASH_TOPIC_MESSAGES), now_ms);
    if (!fault && !run_step_write(step))
        fault = "there is no memory for the step";
    return fault;
}

const char *run_step_make_notice(struct run_step *step, struct run *run, const struct run_notice *notice,
                                 int64_t now_ms)
{
    struct message_settings settings;
    struct buffer text;
    message_settings_init(&settings);
    buffer_init(&text, notice->headers.size + 1);
    buffer_reserve(&text,
                   notice->headers.size); /* the buffer must not move later, because slices point into it */
    take_headers(notice->headers, &settings, &text);
    const char *fault = make_notice(step, run, notice, &settings, now_ms);
    buffer_fini(&text);
    message_settings_fini(&settings);
    return fault;
}

/* ---- messages that are appended together ---- */

struct run_append_member {
    run_append_fn *fn;
    void *arg;
};

struct run_append {
    struct app *app;
    char key_room[RUN_KEY_SIZE];
    struct slice key, id;
    size_t expected, ended, count;
    struct workflow_entry *entries;
    struct run_append_member *members;
    unsigned status; /* status of the first refusal; 0: none */
    char error[ANSWER_TEXT_SIZE];
};

struct run_append *run_append_new(struct app *app, struct slice run_id, size_t expected)
{
    struct run_append *append = NEW(struct run_append);
    append->app = app;
    append->key = run_key(run_id, append->key_room);
    append->id = slice_skip(append->key, append->key.size - run_id.size);
    append->expected = expected;
    return append;
}

void run_append_free(struct run_append *append)
{
    if (!append)
        return;
    free(append->entries);
    free(append->members);
    free(append);
}

struct slice run_append_id(const struct run_append *append)
{
    return append->id;
}

void run_append_expect(struct run_append *append)
{
    append->expected++;
}

/* Calls back for each message. The last callback may free the append. */
static void append_end_all(struct run_append *append, unsigned status, struct slice error,
                           const struct slice *firsts)
{
    size_t count = append->count;
    for (size_t i = 0; i < count; i++)
        append->members[i].fn(append->members[i].arg, status, error, firsts ? firsts[i] : SLICE(""));
}

static void append_on_appended(void *arg, const struct app_verdict *verdict, const struct slice *firsts)
{
    struct run_append *append = arg;
    unsigned status = 200;
    if (verdict->end == STATUS_NOT_FOUND) {
        status = 400;
        snprintf(append->error, sizeof append->error, "the workflow run %.*s is not active",
                 SLICE_ARG(append->id));
    } else if (verdict->end == STATUS_EXISTS) { /* cannot happen in practice, because ids are random */
        status = 503;
        snprintf(append->error, sizeof append->error, "another message has the id; nothing changed");
    } else if (verdict->end != STATUS_OK) {
        status = answer_of_verdict(verdict, append->error);
    }
    append_end_all(append, status, slice_of(append->error), firsts);
}

static void append_end_one(struct run_append *append)
{
    if (++append->ended < append->expected)
        return;
    if (append->status)
        append_end_all(append, append->status, slice_of(append->error), NULL);
    else
        app_workflow_append(append->app, append->key, append->entries, append->count, append_on_appended,
                            append);
}

void run_append_add(struct run_append *append, const struct workflow_entry *entry, run_append_fn *fn,
                    void *arg)
{
    if (!append->entries) {
        append->entries = NEW_ARRAY(struct workflow_entry, append->expected);
        append->members = NEW_ARRAY(struct run_append_member, append->expected);
    }
    append->entries[append->count] = *entry;
    append->members[append->count++] = (struct run_append_member){fn, arg};
    append_end_one(append);
}

void run_append_miss(struct run_append *append, unsigned status, struct slice error)
{
    if (!append->status) {
        append->status = status;
        snprintf(append->error, sizeof append->error, "%.*s", SLICE_ARG(error));
    }
    append_end_one(append);
}

/* ---- sending ---- */

/* Steps of sending. For a message that does not create a run:
 *
 *   read the run ─▶ take its settings ─▶ find the topic ─▶ create the job
 *   ─▶ append the job to the run, together with the others of its batch
 *
 * For the first message of a run:
 *
 *   (if it replaces a run: read that run, keep its settings)
 *   (if another run invokes this one: read that run, prepare its step) ─▶ find the topic ─▶ create the job
 *   ─▶ begin */
struct run_message {
    struct app *app;
    struct message_request request;
    struct message_settings *settings;
    struct run_append *append, *own_append;
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
    run_append_free(message->own_append);
    buffer_fini(&message->kept);
    buffer_fini(&message->text);
    buffer_fini(&message->parent);
    free(message);
}

/* ---- sending: the end ---- */

static void message_refuse(struct run_message *message, unsigned status, struct slice error)
{
    if (message->append)
        run_append_miss(message->append, status, error);
    message->fn(message->arg, &(struct message_sent){.status = status, .error = error});
}

static void refuse_verdict(void *arg, const struct app_verdict *verdict)
{
    struct run_message *message = arg;
    char text[ANSWER_TEXT_SIZE];
    unsigned status = answer_of_verdict(verdict, text);
    message_refuse(message, status, slice_of(text));
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
    const struct message_settings *settings = message->settings;
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

static void message_on_topic(void *arg, const struct app_verdict *verdict, struct slice topic)
{
    struct run_message *message = arg;
    if (verdict->end != STATUS_OK) {
        refuse_verdict(message, verdict);
        return;
    }
    const char *fault = run_step_make(&message->step, &message->request, topic, app_now_ms(message->app));
    if (fault) {
        message_refuse(message, 400, slice_of(fault));
    } else if (!app_workflow_admit(message->app, message->request.caller, &message->step.job, refuse_verdict,
                                   message)) {
        return;
    } else if (!run_step_write(&message->step)) {
        message_refuse(message, 503, SLICE("there is no memory for the message"));
    } else if (message->settings->run.is_init) {
        begin_run(message);
    } else {
        if (!message->append)
            message->append = message->own_append =
                run_append_new(message->app, message->settings->run.id, 1);
        run_append_add(message->append, &message->step.entry, on_appended, message);
    }
}

static void find_topic(struct run_message *message)
{
    if (message->settings->fault[0])
        message_refuse(message, message->settings->fault_status, slice_of(message->settings->fault));
    else
        message_topic_find(message->app, message->request.caller, SLICE(""), &message->settings->flow,
                           message_on_topic, message);
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
    buffer_init(&body, 2 * (invoker->step.size + RUN_ID_MAX) + 1024);
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
        char text[ANSWER_TEXT_SIZE];
        snprintf(text, sizeof text, "the workflow run %.*s is not active", SLICE_ARG(id));
        message_refuse(message, 400, slice_of(text));
    } else if (!workflow) {
        refuse_verdict(message, verdict);
    } else if (!run_read(workflow->settings, workflow->made_ms, &message->run)) {
        message_refuse(message, 503, SLICE("the settings of the run cannot be read"));
    } else {
        message->has_run = true;
        if (is_invoke) {
            prepare_ends(message);
        } else {
            struct message_run *data = &message->request.data.run;
            data->made_ms = message->run.made_ms;
            if (message_run_is_call(data)) {
                data->inherits = message->run.headers;
                data->url = message->run.url;
                message->step.entry.role = WORKFLOW_CALL;
            } else {
                run_apply(&message->run, message->settings);
            }
            find_topic(message);
        }
    }
}

static void read_run(struct run_message *message, struct slice id, char room[RUN_KEY_SIZE])
{
    app_workflow_read(message->app, run_key(id, room), false, on_run, message);
}

void run_message_send(struct run_message *message, const struct message_request *request,
                      struct message_settings *settings, struct run_append *append)
{
    const struct run_settings *run = &settings->run;
    message->request = *request;
    message->settings = settings;
    message->append = append;
    if (run->url.size == 0)
        settings->run.url = request->url;
    message->request.data.run = (struct message_run){.id = run->id,
                                                     .url = run->url,
                                                     .call_type = run->call_type,
                                                     .is_init = run->is_init,
                                                     .is_without_sdk = run->is_without_sdk};
    run_key(run->id, message->key);
    if (run->call_type.size && !message_run_is_call(&message->request.data.run)) {
        message_refuse(message, 400, SLICE("Upstash-Workflow-CallType must be step or toCallback"));
    } else if (!run->is_init) {
        read_run(message, run->id, message->key);
    } else {
        message_settings_take_default(settings, SLICE("Content-Type"), SLICE("application/json"));
        if (run->is_invoke) {
            buffer_reserve(&message->text,
                           message->request.body.size +
                               1); /* the buffer must not move later, because slices point into it */
            if (message->text.failed)
                message_refuse(message, 503, SLICE("there is no memory for the message"));
            else if (!run_invoker_read(message->request.body, &message->invoker, &message->text) ||
                     message->invoker.run_id.size > RUN_ID_MAX)
                message_refuse(message, 400,
                               SLICE("the body must name the run that invokes: workflowRunId, "
                                     "workflowUrl, step"));
            else
                read_run(message, message->invoker.run_id, message->other_key);
        } else if (run->is_by_sdk) {
            app_workflow_read(message->app, slice_of(message->key), false, on_replaced, message);
        } else {
            find_topic(message);
        }
    }
}
