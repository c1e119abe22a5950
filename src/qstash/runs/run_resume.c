#include "qstash/runs/runs.h"

#include <stdio.h>

#include "app/jobs.h"
#include "app/workflows.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/job.h"
#include "job/text/json.h"
#include "qstash/messages/message.h"
#include "qstash/qstash_private.h"
#include "qstash/topics/topics.h"

/* ---- where the run continues ---- */

/* Finds the step at which a failed run is continued. The functions are pure: no clock, no
 * I/O. */

/* The elements of a failed run with their texts and jobs, and the message that made it fail. */
struct run_failure {
    const struct workflow_element *elements;
    size_t count;
    struct slice job; /* topic/messageId of the message that made the run fail; it has an element, unless it
                         is the answer to a call */
    bool is_parallel_answer; /* the message is the answer to a call of a parallel step */
};

/* The data of an element that this file uses. */
struct step {
    bool is_plan;        /* the element is a plan: it announces a parallel step */
    uint64_t concurrent; /* number of steps that run in parallel; 1: the step runs alone */
};

static struct slice member_of(struct slice object, struct slice wanted)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = object.size && json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value))
        if (slice_equal(key, wanted))
            return value;
    return SLICE("");
}

/* Appends the body of an element. Returns false if the element cannot be read, or there is no memory. */
static bool read_element_body(struct slice element, struct buffer *body)
{
    /* A text with escapes is not base64. */
    struct slice value = member_of(element, SLICE("\"body\""));
    struct slice text =
        value.size >= 2 && json_is_text(value) ? slice_from(value.data + 1, value.size - 2) : SLICE("");
    return text.size == 0 || (base64_decode(text, body) && !body->failed);
}

static struct step read_step(const struct workflow_element *element)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct step step = {.concurrent = 1};
    struct json_fault ignored;
    struct buffer body;
    uint64_t target = 0;
    buffer_init_fallible(&body, JOB_RECORD_MAX);
    if (!element->is_call && read_element_body(element->text, &body) &&
        json_check(buffer_slice(&body), &limits, &ignored) == STATUS_OK) {
        slice_to_number(member_of(buffer_slice(&body), SLICE("\"concurrent\"")), INT32_MAX, &step.concurrent);
        slice_to_number(member_of(buffer_slice(&body), SLICE("\"targetStep\"")), INT32_MAX, &target);
        step.is_plan = target > 0;
    }
    buffer_fini(&body);
    return step;
}

/* Returns the index of the last element before this one that does not belong to a call. Index 0 means that
 * there is no such element. */
static size_t before(const struct run_failure *failure, size_t index)
{
    while (index > 1 && failure->elements[index - 1].is_call)
        index--;
    return index > 0 ? index - 1 : 0;
}

/* Finds the parallel steps to which an element belongs. Returns the index of their first plan, or 0 if there
 * is none. */
static size_t first_plan(const struct run_failure *failure, size_t index)
{
    while (index > 0 && !read_step(&failure->elements[index]).is_plan)
        index--;
    while (index > 0 && read_step(&failure->elements[index - 1]).is_plan)
        index--;
    return index;
}

/* Returns the number of plans and results from the element first to the element last. */
static uint64_t count_steps(const struct run_failure *failure, size_t first, size_t last)
{
    uint64_t count = 0;
    for (size_t i = first; i <= last; i++)
        count += !failure->elements[i].is_call;
    return count;
}

/* Returns the index of the element whose message is delivered again. The elements before it are kept. Usually
 * this is the element of the failed message. If the failed message belongs to parallel steps, and some of
 * them have not ended, this is the element of the step before the parallel steps. If the failed message is
 * the answer to a call that is not a parallel step, all elements are kept, and the function returns count. */
static size_t find_first_element(const struct run_failure *failure)
{
    size_t index = 0;
    while (index < failure->count && !slice_equal(failure->elements[index].job, failure->job))
        index++;
    if (index == failure->count && !failure->is_parallel_answer)
        return index;
    if (index == failure->count)
        return before(failure, first_plan(failure, index - (index > 0)));
    struct step step = read_step(&failure->elements[index]);
    if (index == 0 || step.concurrent < 2)
        return index;
    size_t plan = first_plan(failure, index);
    bool is_complete = !step.is_plan && count_steps(failure, plan, index) >= 2 * step.concurrent;
    return is_complete ? index : before(failure, plan);
}

/* Continues a failed run, in these steps:
 *
 *   1. read   reads the dead message
 *   2. find   finds its run, with all elements
 *   3. topic  finds the topic of the message that is delivered next
 *   4. begin  begins the new run; Redis removes the dead message with it */

enum { LIST_MAX = 64 * 1024 * 1024 /* maximum size of all elements of a run that is resumed */ };

struct resumption {
    struct exchange *exchange;
    bool is_restart;
    char key[MESSAGE_KEY_SIZE], from_key[RUN_KEY_SIZE], new_key[RUN_KEY_SIZE], from[RUN_KEY_SIZE + 32];
    char new_id[RUN_ID_NEW_SIZE];
    struct dead_letter letter;
    struct run run;
    bool has_run, is_last_run, is_answer;
    struct message_settings settings, own; /* settings of the new run and of its first message */
    struct buffer text;                    /* settings of the dead message, decoded */
    struct buffer body, kept_settings;
    size_t kept, kept_bytes;
    bool is_init;
    struct run_step step;
    run_resume_fn *fn;
    void *arg;
};

/* ---- the end ---- */

static void resumption_end(struct resumption *resumption, const struct run_resume_result *result)
{
    resumption->fn(resumption->arg, result);
    dead_letter_fini(&resumption->letter);
    if (resumption->has_run)
        run_fini(&resumption->run);
    run_step_fini(&resumption->step);
    message_settings_fini(&resumption->settings);
    message_settings_fini(&resumption->own);
    buffer_fini(&resumption->text);
    buffer_fini(&resumption->body);
    buffer_fini(&resumption->kept_settings);
    free(resumption);
}

static void resumption_refuse(struct resumption *resumption, unsigned status, const char *error)
{
    resumption_end(resumption, &(struct run_resume_result){.status = status, .error = slice_of(error)});
}

static void resumption_refuse_unknown(struct resumption *resumption)
{
    resumption_refuse(resumption, 404, "there is no such dead letter, or its run has been removed");
}

static void resumption_refuse_verdict(void *arg, const struct app_verdict *verdict)
{
    struct resumption *resumption = arg;
    char text[ANSWER_TEXT_SIZE];
    unsigned status = answer_of_verdict(verdict, text);
    resumption_refuse(resumption, status, text);
}

/* ---- 4. begin ---- */

static void on_begun(void *arg, const struct app_verdict *verdict, int64_t made_ms, struct slice first_job)
{
    struct resumption *resumption = arg;
    (void)first_job;
    if (verdict->end == STATUS_OK)
        resumption_end(resumption, &(struct run_resume_result){.status = 200,
                                                               .id = slice_of(resumption->new_id),
                                                               .made_ms = made_ms});
    else if (verdict->end == STATUS_NOT_FOUND)
        resumption_refuse_unknown(resumption);
    else if (verdict->end == STATUS_EXISTS ||
             verdict->end == STATUS_REPEATED) /* cannot happen in practice, because ids are random */
        resumption_refuse(resumption, 503, "another run has the new id; nothing changed");
    else
        resumption_refuse_verdict(resumption, verdict);
}

static void begin(struct resumption *resumption)
{
    const struct workflow_begin begin = {
        .id = slice_of(resumption->new_key),
        .settings = buffer_slice(&resumption->kept_settings),
        .from = slice_of(resumption->from),
        .kept = resumption->kept,
        .kept_bytes = resumption->kept_bytes,
        .first = resumption->step.entry,
    };
    app_workflow_begin(app_of(resumption->exchange), &begin, on_begun, resumption);
}

/* ---- 3. topic ---- */

static void resumption_on_topic(void *arg, const struct app_verdict *verdict, struct slice topic)
{
    struct resumption *resumption = arg;
    const struct message_run *failed = &resumption->letter.view.data.run;
    const struct message_request request = {
        .url = resumption->letter.view.job.url,
        .body = buffer_slice(&resumption->body),
        .settings = resumption->is_answer ? &resumption->own : &resumption->settings,
        .data = {.caller_ip = resumption->run.caller_ip,
                 .run = {.id = slice_of(resumption->new_id),
                         .url = resumption->run.url,
                         .call_type = resumption->is_answer ? failed->call_type : SLICE(""),
                         .is_init = resumption->is_init}},
        .caller = &resumption->exchange->caller,
    };
    if (verdict->end != STATUS_OK) {
        resumption_refuse_verdict(resumption, verdict);
        return;
    }
    const char *fault =
        run_step_make(&resumption->step, &request, topic, app_now_ms(app_of(resumption->exchange)));
    if (fault)
        resumption_refuse(resumption, 400, fault);
    else if (!app_workflow_admit(app_of(resumption->exchange), request.caller, &resumption->step.job,
                                 resumption_refuse_verdict, resumption))
        return;
    else if (!run_step_write(&resumption->step))
        resumption_refuse(resumption, 503, "there is no memory for the message");
    else
        begin(resumption);
}

/* ---- 2. find ---- */

/* Takes a header that may replace a setting of the run. */
static void take_header(void *arg, struct slice name, struct slice value)
{
    static const struct slice names[] = {
        SLICE_INIT("Upstash-Retries"),
        SLICE_INIT("Upstash-Retry-Delay"),
        SLICE_INIT("Upstash-Delay"),
        SLICE_INIT("Upstash-Not-Before"),
        SLICE_INIT("Upstash-Flow-Control-Key"),
        SLICE_INIT("Upstash-Flow-Control-Value"),
        SLICE_INIT("Upstash-Label"),
        SLICE_INIT("Upstash-Failure-Callback"),
    };
    struct message_settings *settings = arg;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_equal_nocase(name, names[i]))
            message_settings_take(settings, name, value);
}

/* Sets the settings of the new run, and those of its first message. */
static void make_settings(struct resumption *resumption)
{
    struct message_settings *settings = &resumption->settings;
    http_request_each_header(resumption->exchange->request, take_header, settings);
    run_apply(&resumption->run, settings);
    settings->run.url = resumption->run.url;
    run_write(&resumption->kept_settings, settings, resumption->run.caller_ip, SLICE(""));
    if (!resumption->is_answer)
        return;
    message_view_take_settings(&resumption->letter.view, &resumption->own, &resumption->text);
    resumption->own.retries = settings->retries;
    resumption->own.retry_delay = settings->retry_delay;
    resumption->own.has_delay = settings->has_delay;
    resumption->own.delay_ms = settings->delay_ms;
    resumption->own.flow = settings->flow;
    resumption->own.labels = settings->labels;
}

static bool is_of_parallel_step(const struct job *job)
{
    const struct slice *text =
        headers_find(job->headers, job->header_count, SLICE("Upstash-Workflow-Concurrent"));
    uint64_t concurrent = 1;
    return text && slice_to_number(*text, INT32_MAX, &concurrent) && concurrent > 1;
}

/* Finds the element with which the new run begins, and reads the body of its first message. */
static bool find_beginning(struct resumption *resumption, const struct workflow *workflow)
{
    const struct run_failure failure = {
        .elements = workflow->elements,
        .count = workflow->element_count,
        .job = resumption->letter.job.id,
        .is_parallel_answer = resumption->letter.view.data.run.call_type.size > 0 &&
                              is_of_parallel_step(&resumption->letter.view.job),
    };
    size_t index = resumption->is_restart ? 0 : find_first_element(&failure);
    resumption->kept = index;
    resumption->is_init = index == 0;
    resumption->is_answer = index == workflow->element_count;
    for (size_t i = 0; i < index; i++)
        resumption->kept_bytes += workflow->elements[i].text.size;
    if (!resumption->is_answer)
        return read_element_body(workflow->elements[index].text, &resumption->body);
    if (resumption->letter.view.data.run.call_type.size ==
        0) /* the failed message is a step, but has no element */
        return false;
    resumption->step.entry.role = WORKFLOW_ANSWER;
    buffer_append(&resumption->body, resumption->letter.view.body);
    return !resumption->body.failed;
}

static void resumption_on_run(void *arg, const struct app_verdict *verdict, const struct workflow *workflow);

/* Finds the run. If made_ms is 0, finds the latest run with the id. */
static void find_run(struct resumption *resumption, int64_t made_ms)
{
    const struct workflow_query query = {
        .id = slice_of(resumption->from_key), .made_ms = made_ms, .with_jobs = true, .texts_max = LIST_MAX};
    resumption->is_last_run = made_ms == 0;
    app_workflow_find(app_of(resumption->exchange), &query, resumption_on_run, resumption);
}

static void resumption_refuse_size(struct resumption *resumption, int64_t bytes)
{
    char text[ANSWER_TEXT_SIZE];
    snprintf(
        text, sizeof text,
        "the steps of the run have %lld bytes together, but only a run of at most %d bytes can be resumed; "
        "restart the "
        "run, or trigger it again",
        (long long)bytes, LIST_MAX);
    resumption_refuse(resumption, 413, text);
}

static void go_on_from(struct resumption *resumption, const struct workflow *workflow)
{
    resumption->has_run = run_read(workflow->settings, workflow->made_ms, &resumption->run);
    snprintf(resumption->from, sizeof resumption->from, "%s/%lld", resumption->from_key,
             (long long)workflow->made_ms);
    if (!resumption->is_restart && workflow->bytes > LIST_MAX) {
        resumption_refuse_size(resumption, workflow->bytes);
        return;
    }
    if (!resumption->has_run || !find_beginning(resumption, workflow)) {
        resumption_refuse(resumption, 503, "the run cannot be read; nothing changed");
        return;
    }
    make_settings(resumption);
    if (resumption->kept_settings.failed)
        resumption_refuse(resumption, 503, "there is no memory for the run");
    else if (resumption->settings.fault[0])
        resumption_refuse(resumption, resumption->settings.fault_status, resumption->settings.fault);
    else
        message_topic_find(app_of(resumption->exchange), &resumption->exchange->caller, SLICE(""),
                           &resumption->settings.flow, resumption_on_topic, resumption);
}

static void resumption_on_run(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct resumption *resumption = arg;
    bool is_it = workflow && slice_equal(workflow->failed_by, resumption->letter.job.id) &&
                 workflow->element_count > 0;
    if (verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND)
        resumption_refuse_verdict(resumption, verdict);
    else if (is_it)
        go_on_from(resumption, workflow);
    else if (!resumption->is_last_run && resumption->letter.view.data.run.is_init)
        find_run(resumption, 0); /* the first message may belong to an earlier run with this id */
    else
        resumption_refuse_unknown(resumption);
}

/* ---- 1. read ---- */

static void resumption_on_read(void *arg, const struct app_verdict *verdict)
{
    struct resumption *resumption = arg;
    struct dead_letter *letter = &resumption->letter;
    if (!answer_is_known(verdict)) {
        resumption_refuse_verdict(resumption, verdict);
        return;
    }
    dead_letter_keep(letter, verdict);
    if (!letter->is_there || !message_view_is_of_run(&letter->view)) {
        resumption_refuse_unknown(resumption);
        return;
    }
    run_key(run_id_make(clock_wall_ms(), resumption->new_id), resumption->new_key);
    run_key(resumption->letter.view.data.run.id, resumption->from_key);
    find_run(resumption, message_view_run_ms(&resumption->letter.view));
}

void run_resume(struct exchange *exchange, struct slice message_id, bool is_restart, run_resume_fn *fn,
                void *arg)
{
    struct resumption *resumption = NEW(struct resumption);
    resumption->exchange = exchange;
    resumption->is_restart = is_restart;
    resumption->fn = fn;
    resumption->arg = arg;
    message_settings_init(&resumption->settings);
    message_settings_init(&resumption->own);
    run_step_init(&resumption->step);
    buffer_init(&resumption->text, MESSAGE_VIEW_SETTINGS_TEXT);
    buffer_init_fallible(&resumption->body, JOB_RECORD_MAX);
    buffer_init_fallible(&resumption->kept_settings, JOB_RECORD_MAX);
    struct slice key = message_id_key(message_id, resumption->key);
    if (key.size)
        app_read(app_of(exchange), key, resumption_on_read, resumption);
    else
        resumption_refuse_unknown(resumption);
}
