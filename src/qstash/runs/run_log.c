#include "qstash/runs/run_log.h"

#include "base/memory.h"
#include "job/attempt_line.h"
#include "job/text/json.h"
#include "qstash/messages/message.h"

static const struct slice states[] = {[WORKFLOW_ACTIVE] = SLICE_INIT("RUN_STARTED"),
                                      [WORKFLOW_SUCCEEDED] = SLICE_INIT("RUN_SUCCESS"),
                                      [WORKFLOW_FAILED] = SLICE_INIT("RUN_FAILED"),
                                      [WORKFLOW_CANCELLED] = SLICE_INIT("RUN_CANCELED")};

bool run_log_state(struct slice word, enum workflow_state *state)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        if (slice_equal(word, states[i])) {
            *state = (enum workflow_state)i;
            return true;
        }
    }
    return false;
}

/* ---- the parsed steps ---- */

struct steps {
    const struct run_log *log;
    struct run_log_step *items; /* elements, then waits */
    size_t element_count, count;
    const struct run_log_step **results; /* results[id]: first result of the step with this id, or NULL */
    const struct run_log_step **calls;   /* calls[id]: first call of the step with this id, or NULL */
    bool *is_shown;                      /* is_shown[id]: the step with this id has been written */
    uint64_t id_max;
    struct buffer text;
    size_t start; /* size of the answer before this run was added */
};

static void steps_init(struct steps *steps, const struct run_log *log)
{
    const struct workflow *workflow = log->workflow;
    size_t bytes = 0;
    *steps = (struct steps){.log = log, .element_count = workflow->elements ? workflow->element_count : 0};
    size_t most = steps->element_count + workflow->open_count;
    for (size_t i = 0; i < steps->element_count; i++)
        bytes += 2 * workflow->elements[i].text.size;
    for (size_t i = 0; workflow->open && i < workflow->open_count; i++)
        bytes += workflow->open[i].wait.size;
    buffer_init_fallible(&steps->text, bytes + 1);
    buffer_reserve(&steps->text, bytes); /* the buffer must not move later, because slices point into it */
    steps->items = NEW_ARRAY(struct run_log_step, most + 1);
    for (size_t i = 0; i < steps->element_count; i++)
        run_log_step_read(&workflow->elements[i], &steps->items[steps->count++], &steps->text);
    for (size_t i = 0; workflow->open && i < workflow->open_count; i++)
        if (workflow->open[i].is_wait)
            run_log_step_read_wait(&workflow->open[i], &steps->items[steps->count++], &steps->text);
    steps->id_max = most;
    steps->results = NEW_ARRAY(const struct run_log_step *, most + 1);
    steps->calls = NEW_ARRAY(const struct run_log_step *, most + 1);
    steps->is_shown = NEW_ARRAY(bool, most + 1);
    for (size_t i = 1; i < steps->element_count; i++) {
        const struct run_log_step *step = &steps->items[i], **place;
        if (!step->id || step->id > steps->id_max)
            continue;
        place = step->element->is_call ? &steps->calls[step->id] : &steps->results[step->id];
        if (!*place)
            *place = step;
    }
}

static const struct run_log_step *steps_find(const struct run_log_step *const *table,
                                             const struct steps *steps, uint64_t id)
{
    return id && id <= steps->id_max ? table[id] : NULL;
}

/* Returns the open wait that is the step with this id, or NULL. */
static const struct run_log_step *find_wait(const struct steps *steps, uint64_t id)
{
    for (size_t i = steps->element_count; i < steps->count; i++)
        if (steps->items[i].id == id)
            return &steps->items[i];
    return NULL;
}

static const struct run_log_message *find_message(const struct run_log *log, struct slice id)
{
    for (size_t i = 0; i < log->message_count; i++)
        if (slice_equal(log->messages[i].view->job.job_id, id))
            return &log->messages[i];
    return NULL;
}

/* ---- groups ---- */

static bool is_plan(const struct run_log_step *step)
{
    return step->element && !step->element->is_call && step->object.size && !step->id && step->target &&
           step->concurrent;
}

/* Returns whether the step is a sleep that has not ended: its message is not due yet. */
static bool is_asleep(const struct run_log_step *step, const struct run_log_message *message)
{
    return message && message->state == JOB_STATE_DELAYED && !message->lines.size &&
           slice_starts_with(step->type, SLICE("Sleep"));
}

static const char *state_of(const struct run_log *log, const struct run_log_message *message)
{
    if (message && message->state == JOB_STATE_DEAD)
        return "STEP_FAILED";
    if (log->workflow->state != WORKFLOW_ACTIVE)
        return "STEP_CANCELED";
    return message && message->lines.size ? "STEP_RETRY" : "STEP_PROGRESS";
}

static bool is_full(const struct steps *steps, const struct json_writer *json)
{
    return json->out->size - steps->start >= RUN_LOG_BYTES;
}

static void begin_group(struct json_writer *json)
{
    json_put_object(json);
    json_add_array(json, "steps");
}

static void end_group(struct json_writer *json, const char *type)
{
    json_end_array(json);
    json_add_text(json, "type", slice_of(type));
    json_end_object(json);
}

/* Writes a step that has a result. */
static void put_result(struct json_writer *json, struct steps *steps, const struct run_log_step *step)
{
    const struct run_log_message *message = find_message(steps->log, step->message_id);
    const struct run_log_shown shown = {.step = step,
                                        .call = steps_find(steps->calls, steps, step->id),
                                        .state = is_asleep(step, message) ? "STEP_PROGRESS" : "STEP_SUCCESS"};
    run_log_step_put(json, steps->log, &shown);
    if (step->id && step->id <= steps->id_max)
        steps->is_shown[step->id] = true;
}

/* Writes a step that has no result yet: a call, a wait, or a plan. */
static void put_open(struct json_writer *json, const struct steps *steps, const struct run_log_step *step)
{
    const struct run_log_message *message = find_message(steps->log, step->message_id);
    const struct run_log_shown shown = {.step = step,
                                        .call = step->element && step->element->is_call ? step : NULL,
                                        .state = state_of(steps->log, message),
                                        .message = message};
    run_log_step_put(json, steps->log, &shown);
}

static void put_branch(struct json_writer *json, struct steps *steps, const struct run_log_step *plan)
{
    const struct run_log_step *result = steps_find(steps->results, steps, plan->target);
    const struct run_log_step *call = steps_find(steps->calls, steps, plan->target);
    const struct run_log_step *wait = find_wait(steps, plan->target);
    if (result)
        put_result(json, steps, result);
    else
        put_open(json, steps, call ? call : wait ? wait : plan);
    if (plan->target <= steps->id_max)
        steps->is_shown[plan->target] = true;
}

/* Writes a group of parallel steps, whose plans begin at the index at. Returns the index after the plans. */
static size_t put_parallel(struct json_writer *json, struct steps *steps, size_t at)
{
    uint64_t concurrent = steps->items[at].concurrent;
    begin_group(json);
    size_t i = at;
    for (; i < steps->element_count && i - at < concurrent && is_plan(&steps->items[i]) &&
           steps->items[i].concurrent == concurrent;
         i++) {
        uint64_t target = steps->items[i].target;
        if (target > steps->id_max || !steps->is_shown[target])
            put_branch(json, steps, &steps->items[i]);
    }
    end_group(json, "parallel");
    return i;
}

static void put_alone(struct json_writer *json, struct steps *steps, const struct run_log_step *step,
                      bool is_result)
{
    begin_group(json);
    if (is_result)
        put_result(json, steps, step);
    else
        put_open(json, steps, step);
    end_group(json, "sequential");
}

static bool was_shown(const struct steps *steps, const struct run_log_step *step)
{
    return step->id && step->id <= steps->id_max && steps->is_shown[step->id];
}

static void put_elements(struct json_writer *json, struct steps *steps)
{
    if (steps->element_count) {
        begin_group(json);
        run_log_step_put_first(json, steps->log, &steps->items[0]);
        end_group(json, "sequential");
    }
    for (size_t i = 1; i < steps->element_count && !is_full(steps, json);) {
        const struct run_log_step *step = &steps->items[i];
        if (is_plan(step)) {
            i = put_parallel(json, steps, i);
            continue;
        }
        if (!step->element->is_call && !was_shown(steps, step))
            put_alone(json, steps, step, true);
        i++;
    }
    /* Shows calls and waits without a result after the other steps. */
    for (size_t i = 1; i < steps->count && !is_full(steps, json); i++) {
        const struct run_log_step *step = &steps->items[i];
        bool is_open = step->wait || step->element->is_call;
        if (is_open && !steps_find(steps->results, steps, step->id) && !was_shown(steps, step))
            put_alone(json, steps, step, false);
    }
}

/* ---- next ---- */

/* Returns the step to which a message belongs, or NULL. */
static const struct run_log_step *step_of(const struct steps *steps, const struct run_log_message *message)
{
    for (size_t i = steps->count; i-- > 0;)
        if (slice_equal(steps->items[i].message_id, message->view->job.job_id))
            return &steps->items[i];
    return NULL;
}

/* Returns whether the message is shown in the group "next", which has the messages that are being delivered.
 * For other messages, only their steps are shown. */
static bool is_next(const struct steps *steps, const struct run_log_message *message)
{
    const struct run_log_step *step = step_of(steps, message);
    if (!step)
        return true; /* an answer */
    if (step->wait || step->element->is_call)
        return false;
    return !is_plan(step) && !is_asleep(step, message);
}

static void put_nexts(struct json_writer *json, const struct steps *steps)
{
    const struct run_log *log = steps->log;
    bool has_any = false;
    for (size_t i = 0; i < log->message_count; i++) {
        if (!is_next(steps, &log->messages[i]))
            continue;
        if (!has_any)
            begin_group(json);
        has_any = true;
        const struct run_log_message *message = &log->messages[i];
        const struct job *job = &message->view->job;
        struct slice name;
        json_put_object(json);
        json_add_text(json, "messageId", job->job_id);
        if (answer_headers_find(job->answer_headers, SLICE("Upstash-Error-Step-Name"), &name))
            json_add_text(json, "stepName", name);
        json_add_text(json, "state", slice_of(state_of(log, message)));
        json_add_number(json, "retries", job->retry);
        if (job->retry_wait.size)
            json_add_text(json, "retryDelay", job->retry_wait);
        run_log_add_errors(json, message, log->trim);
        json_end_object(json);
    }
    if (has_any)
        end_group(json, "next");
}

/* ---- the failure callback ---- */

static const char *callback_state(const struct run_log_message *failure)
{
    if (!failure ||
        failure->state == JOB_STATE_DELIVERED) /* without a history, a delivered callback is unknown */
        return "CALLBACK_SUCCESS";
    if (failure->state == JOB_STATE_DEAD)
        return "CALLBACK_FAIL";
    return failure->state == JOB_STATE_CANCELLED ? "CALLBACK_CANCELED" : "CALLBACK_INPROGRESS";
}

static bool last_line(struct slice lines, struct attempt_line *last)
{
    struct attempt_line line;
    bool has_line = false;
    while (attempt_line_take(&lines, &line)) {
        *last = line;
        has_line = true;
    }
    return has_line;
}

static void add_last(struct json_writer *json, const struct run_log *log,
                     const struct run_log_message *message, bool is_failure)
{
    struct attempt_line line = {0};
    struct buffer text;
    if (!last_line(message->lines, &line))
        return;
    buffer_init_fallible(&text, ATTEMPT_LINE_MAX);
    json_add_number(json, is_failure ? "failStatus" : "responseStatus",
                    line.result.error == FAILURE_NONE ? line.result.status : 0);
    run_log_add_body(json, log, is_failure ? "failResponse" : "responseBody",
                     line.answer.size ? attempt_line_bytes(&line, &text) : line.result.detail);
    run_log_add_answer_headers(json, is_failure ? "failHeaders" : "responseHeaders",
                               message->view->job.answer_headers);
    buffer_fini(&text);
}

static void add_failure(struct json_writer *json, const struct run_log *log, struct slice dlq_id)
{
    const struct run_log_message *failure = log->failure;
    struct slice topic, message_id;
    slice_cut(log->workflow->failed_by, '/', &topic, &message_id);
    const struct run_log_message *dead = find_message(log, message_id);
    if (!log->settings->failure_callback.url.size)
        return;
    json_add_object(json, "failureFunction");
    json_add_text(json, "messageId", log->failure_id);
    json_add_text(json, "url", log->settings->failure_callback.url);
    json_add_text(json, "state", slice_of(callback_state(failure)));
    if (dead)
        add_last(json, log, dead, true);
    json_add_text(json, "dlqId", dlq_id);
    if (failure) {
        if (failure->state != JOB_STATE_DELAYED && failure->state != JOB_STATE_READY)
            add_last(json, log, failure, false);
        run_log_add_errors(json, failure, log->trim);
        json_add_number(json, "maxRetries", failure->view->job.retry);
    }
    json_end_object(json);
}

/* ---- the run ---- */

static void add_summary(struct json_writer *json, const struct run_log *log)
{
    const struct workflow *workflow = log->workflow;
    struct slice topic, run_id;
    slice_cut(workflow->id, '/', &topic, &run_id);
    json_add_text(json, "workflowRunId", run_id);
    json_add_text(json, "workflowUrl", log->run->url);
    json_add_text(json, "workflowState", states[workflow->state]);
    json_add_number(json, "workflowRunCreatedAt", workflow->made_ms);
    if (workflow->ended_ms)
        json_add_number(json, "workflowRunCompletedAt", workflow->ended_ms);
    if (workflow->result.size)
        run_log_add_body(json, log, "workflowRunResponse", workflow->result);
    message_view_add_labels(json, &log->settings->labels);
    if (log->settings->flow.key.size)
        json_add_text(json, "flowControlKey", log->settings->flow.key);
    json_add_text(json, "workflowRunCallerIp", log->run->caller_ip);
    /* the run that has invoked this run */
    struct json_cursor cursor;
    struct slice key, value, invoker = log->run->invoker;
    if (!invoker.size || !json_open(invoker, &cursor))
        return;
    json_add_object(json, "invoker");
    while (json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"workflowRunId\"")))
            json_add_raw(json, "workflowRunId", value);
        else if (slice_equal(key, SLICE("\"workflowUrl\"")))
            json_add_raw(json, "workflowUrl", value);
    }
    json_add_number(json, "workflowRunCreatedAt", log->workflow->parent_made_ms);
    json_end_object(json);
}

void run_log_put(struct json_writer *json, const struct run_log *log)
{
    char room[MESSAGE_ID_MAX + 1];
    struct slice topic, message_id;
    struct steps steps;
    steps_init(&steps, log);
    json_put_object(json);
    steps.start = json->out->size;
    add_summary(json, log);
    if (log->workflow->failed_by.size) {
        slice_cut(log->workflow->failed_by, '/', &topic, &message_id);
        struct slice dlq_id = dead_letter_id(message_id, room);
        json_add_text(json, "dlqId", dlq_id);
        add_failure(json, log, dlq_id);
    }
    json_add_array(json, "steps");
    put_elements(json, &steps);
    put_nexts(json, &steps);
    json_end_array(json);
    json_end_object(json);
    json->out->failed |= steps.text.failed;
    free(steps.items);
    free(steps.results);
    free(steps.calls);
    free(steps.is_shown);
    buffer_fini(&steps.text);
}
