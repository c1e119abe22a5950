#include "qstash/run_step.h"

#include <stdio.h>

#include "job/text/json.h"
#include "qstash/place.h"
#include "qstash/waiter.h"

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

/* ---- names ---- */

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
static void name_call(const struct settings_callback *callback, char name[RUN_STEP_NAME_SIZE])
{
    uint64_t number;
    for (size_t i = 0; i < callback->count; i++)
        if (slice_equal_nocase(callback->pairs[i].name, SLICE("Forward-Upstash-Workflow-StepId")) &&
            slice_to_number(callback->pairs[i].value, STEP_MAX, &number))
            snprintf(name, RUN_STEP_NAME_SIZE, "%uc", (unsigned)number);
}

static void name_step_of(struct run_step *step, const struct message_request *request)
{
    if (request->data.run.is_init)
        snprintf(step->name, sizeof step->name, "0");
    else if (step->entry.role == WORKFLOW_STEP)
        name_step(request->body, step->name);
    else if (step->entry.role == WORKFLOW_CALL)
        name_call(&request->settings->callback, step->name);
}

/* ---- the job ---- */

const char *run_step_make(struct run_step *step, const struct message_request *request, struct slice topic,
                          int64_t now_ms)
{
    struct message_request own = *request;
    bool is_call = run_is_call(&request->data.run);
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
    name_step_of(step, request);
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
static void take_headers(struct slice headers, struct settings *settings, struct buffer *text)
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
            settings_take(settings, name, json_text(value, text));
        while (is_array && json_next_item(&values, &one))
            if (json_is_text(one))
                settings_take(settings, name, json_text(one, text));
    }
}

/* Returns the topic of the run's flow-control key. The limits of this topic were set when the run was
 * created. */
static struct slice topic_of(const struct settings *settings, char room[PLACE_SIZE])
{
    struct slice topic = settings->flow.key.size ? place_of_flow(settings->flow.key, room) : SLICE("");
    return topic.size ? topic : SLICE(QSTASH_TOPIC_MESSAGES);
}

static const char *make_notice(struct run_step *step, struct run *run, const struct run_notice *notice,
                               struct settings *settings, int64_t now_ms)
{
    char room[PLACE_SIZE];
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
    const char *fault = run_step_make(step, &request, topic_of(settings, room), now_ms);
    if (!fault && !run_step_write(step))
        fault = "there is no memory for the step";
    return fault;
}

const char *run_step_make_notice(struct run_step *step, struct run *run, const struct run_notice *notice,
                                 int64_t now_ms)
{
    struct settings settings;
    struct buffer text;
    settings_init(&settings);
    buffer_init(&text, notice->headers.size + 1);
    buffer_reserve(&text,
                   notice->headers.size); /* the buffer must not move later, because slices point into it */
    take_headers(notice->headers, &settings, &text);
    const char *fault = make_notice(step, run, notice, &settings, now_ms);
    buffer_fini(&text);
    settings_fini(&settings);
    return fault;
}
