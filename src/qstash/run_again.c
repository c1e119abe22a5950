/* run_again.c - continues a failed run, in these steps:
 *
 *   1. read   reads the dead message
 *   2. find   finds its run, with all elements
 *   3. place  finds the topic of the message that is delivered next
 *   4. begin  begins the new run; Redis removes the dead message with it */
#include "qstash/run_again.h"

#include <stdio.h>

#include "app/jobs.h"
#include "app/workflow_reads.h"
#include "app/workflows.h"
#include "base/clock.h"
#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/dead_letter_view.h"
#include "qstash/message_settings.h"
#include "qstash/place.h"
#include "qstash/run.h"
#include "qstash/run_resumption.h"
#include "qstash/run_step.h"

enum { LIST_MAX = 64 * 1024 * 1024 /* maximum size of all elements of a run that is resumed */ };

struct again {
    struct exchange *exchange;
    bool is_restart;
    char key[MESSAGE_KEY_SIZE], from_key[RUN_KEY_SIZE], new_key[RUN_KEY_SIZE], from[RUN_KEY_SIZE + 32];
    char new_id[RUN_ID_NEW_SIZE];
    struct buffer id, record; /* id and record of the dead message */
    struct message_view view;
    struct run run;
    bool has_view, has_run, is_last_run, is_answer;
    struct settings settings, own; /* settings of the new run and of its first message */
    struct buffer text;            /* settings of the dead message, decoded */
    struct buffer body, kept_settings;
    size_t kept, kept_bytes;
    bool is_init;
    struct run_step step;
    run_again_fn *fn;
    void *arg;
};

/* ---- the end ---- */

static void again_end(struct again *again, const struct run_again_result *result)
{
    again->fn(again->arg, result);
    if (again->has_view)
        message_view_fini(&again->view);
    if (again->has_run)
        run_fini(&again->run);
    run_step_fini(&again->step);
    settings_fini(&again->settings);
    settings_fini(&again->own);
    buffer_fini(&again->id);
    buffer_fini(&again->record);
    buffer_fini(&again->text);
    buffer_fini(&again->body);
    buffer_fini(&again->kept_settings);
    free(again);
}

static void again_refuse(struct again *again, unsigned status, const char *error)
{
    again_end(again, &(struct run_again_result){.status = status, .error = slice_of(error)});
}

static void again_refuse_unknown(struct again *again)
{
    again_refuse(again, 404, "there is no such dead letter, or its run has been removed");
}

static void again_refuse_verdict(struct again *again, const struct app_verdict *verdict)
{
    char text[ANSWER_TEXT_SIZE];
    unsigned status = answer_of_verdict(verdict, text);
    again_refuse(again, status, text);
}

/* ---- 4. begin ---- */

static void on_begun(void *arg, const struct app_verdict *verdict, int64_t made_ms, struct slice first_job)
{
    struct again *again = arg;
    (void)first_job;
    if (verdict->end == STATUS_OK)
        again_end(again, &(struct run_again_result){
                             .status = 200, .id = slice_of(again->new_id), .made_ms = made_ms});
    else if (verdict->end == STATUS_NOT_FOUND)
        again_refuse_unknown(again);
    else if (verdict->end == STATUS_EXISTS ||
             verdict->end == STATUS_REPEATED) /* cannot happen in practice, because ids are random */
        again_refuse(again, 503, "another run has the new id; nothing changed");
    else
        again_refuse_verdict(again, verdict);
}

static void begin(struct again *again)
{
    const struct workflow_begin begin = {
        .id = slice_of(again->new_key),
        .settings = buffer_slice(&again->kept_settings),
        .from = slice_of(again->from),
        .kept = again->kept,
        .kept_bytes = again->kept_bytes,
        .first = again->step.entry,
    };
    app_workflow_begin(app_of(again->exchange), &begin, on_begun, again);
}

/* ---- 3. place ---- */

static void again_on_refused(void *arg, const struct app_verdict *verdict)
{
    again_refuse_verdict(arg, verdict);
}

static void again_on_placed(void *arg, const struct app_verdict *verdict, struct slice topic)
{
    struct again *again = arg;
    const struct form_data_run *failed = &again->view.data.run;
    const struct message_request request = {
        .url = again->view.job.url,
        .body = buffer_slice(&again->body),
        .settings = again->is_answer ? &again->own : &again->settings,
        .data = {.caller_ip = again->run.caller_ip,
                 .run = {.id = slice_of(again->new_id),
                         .url = again->run.url,
                         .call_type = again->is_answer ? failed->call_type : SLICE(""),
                         .is_init = again->is_init}},
        .caller = &again->exchange->caller,
    };
    if (verdict->end != STATUS_OK) {
        again_refuse_verdict(again, verdict);
        return;
    }
    const char *fault = run_step_make(&again->step, &request, topic, app_now_ms(app_of(again->exchange)));
    if (fault)
        again_refuse(again, 400, fault);
    else if (!app_workflow_admit(app_of(again->exchange), request.caller, &again->step.job, again_on_refused,
                                 again))
        return;
    else if (!run_step_write(&again->step))
        again_refuse(again, 503, "there is no memory for the message");
    else
        begin(again);
}

static void find_place(struct again *again)
{
    const struct settings *settings = &again->settings;
    if (settings->fault[0])
        again_refuse(again, settings->fault_status, settings->fault);
    else
        place_find(app_of(again->exchange), &again->exchange->caller, SLICE(""), &settings->flow,
                   again_on_placed, again);
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
    struct settings *settings = arg;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_equal_nocase(name, names[i]))
            settings_take(settings, name, value);
}

/* Sets the settings of the new run, and those of its first message. */
static void make_settings(struct again *again)
{
    struct settings *settings = &again->settings;
    http_request_each_header(again->exchange->request, take_header, settings);
    run_apply(&again->run, settings);
    settings->run.url = again->run.url;
    run_write(&again->kept_settings, settings, again->run.caller_ip, SLICE(""));
    if (!again->is_answer)
        return;
    message_settings_take(&again->view, &again->own, &again->text);
    again->own.retries = settings->retries;
    again->own.retry_delay = settings->retry_delay;
    again->own.has_delay = settings->has_delay;
    again->own.delay_ms = settings->delay_ms;
    again->own.flow = settings->flow;
    again->own.labels = settings->labels;
}

static bool is_of_parallel_step(const struct job *job)
{
    const struct slice *text =
        headers_find(job->headers, job->header_count, SLICE("Upstash-Workflow-Concurrent"));
    uint64_t concurrent = 1;
    return text && slice_to_number(*text, INT32_MAX, &concurrent) && concurrent > 1;
}

/* Finds the element with which the new run begins, and reads the body of its first message. */
static bool find_beginning(struct again *again, const struct workflow *workflow)
{
    const struct run_failure failure = {
        .elements = workflow->elements,
        .count = workflow->element_count,
        .job = buffer_slice(&again->id),
        .is_parallel_answer =
            again->view.data.run.call_type.size > 0 && is_of_parallel_step(&again->view.job),
    };
    size_t index = again->is_restart ? 0 : run_resumption_find(&failure);
    again->kept = index;
    again->is_init = index == 0;
    again->is_answer = index == workflow->element_count;
    for (size_t i = 0; i < index; i++)
        again->kept_bytes += workflow->elements[i].text.size;
    if (!again->is_answer)
        return run_resumption_read_body(workflow->elements[index].text, &again->body);
    if (again->view.data.run.call_type.size == 0) /* the failed message is a step, but has no element */
        return false;
    again->step.entry.role = WORKFLOW_ANSWER;
    buffer_append(&again->body, again->view.body);
    return !again->body.failed;
}

static void again_on_run(void *arg, const struct app_verdict *verdict, const struct workflow *workflow);

/* Finds the run. If made_ms is 0, finds the latest run with the id. */
static void find_run(struct again *again, int64_t made_ms)
{
    const struct workflow_query query = {
        .id = slice_of(again->from_key), .made_ms = made_ms, .with_jobs = true, .texts_max = LIST_MAX};
    again->is_last_run = made_ms == 0;
    app_workflow_find(app_of(again->exchange), &query, again_on_run, again);
}

static void again_refuse_size(struct again *again, int64_t bytes)
{
    char text[ANSWER_TEXT_SIZE];
    snprintf(
        text, sizeof text,
        "the steps of the run have %lld bytes together, but only a run of at most %d bytes can be resumed; "
        "restart the "
        "run, or trigger it again",
        (long long)bytes, LIST_MAX);
    again_refuse(again, 413, text);
}

static void go_on_from(struct again *again, const struct workflow *workflow)
{
    again->has_run = run_read(workflow->settings, workflow->made_ms, &again->run);
    snprintf(again->from, sizeof again->from, "%s/%lld", again->from_key, (long long)workflow->made_ms);
    if (!again->is_restart && workflow->bytes > LIST_MAX) {
        again_refuse_size(again, workflow->bytes);
        return;
    }
    if (!again->has_run || !find_beginning(again, workflow)) {
        again_refuse(again, 503, "the run cannot be read; nothing changed");
        return;
    }
    make_settings(again);
    if (again->kept_settings.failed)
        again_refuse(again, 503, "there is no memory for the run");
    else
        find_place(again);
}

static void again_on_run(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct again *again = arg;
    bool is_it =
        workflow && slice_equal(workflow->failed_by, buffer_slice(&again->id)) && workflow->element_count > 0;
    if (verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND)
        again_refuse_verdict(again, verdict);
    else if (is_it)
        go_on_from(again, workflow);
    else if (!again->is_last_run && again->view.data.run.is_init)
        find_run(again, 0); /* the first message may belong to an earlier run with this id */
    else
        again_refuse_unknown(again);
}

/* ---- 1. read ---- */

static void again_on_read(void *arg, const struct app_verdict *verdict)
{
    struct again *again = arg;
    if (verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND &&
        verdict->end != STATUS_HISTORY_UNAVAILABLE) {
        again_refuse_verdict(again, verdict);
        return;
    }
    if (dead_letter_is(verdict)) {
        buffer_append(&again->id, verdict->job.id);
        buffer_append(&again->record, verdict->job.record);
        again->has_view =
            !again->record.failed &&
            message_view_read(buffer_slice(&again->id), buffer_slice(&again->record), &again->view);
    }
    if (!again->has_view || !message_view_is_of_run(&again->view)) {
        again_refuse_unknown(again);
        return;
    }
    run_key(run_id_make(clock_wall_ms(), again->new_id), again->new_key);
    run_key(again->view.data.run.id, again->from_key);
    find_run(again, message_view_run_ms(&again->view));
}

void run_again(struct exchange *exchange, struct slice message_id, bool is_restart, run_again_fn *fn,
               void *arg)
{
    struct again *again = NEW(struct again);
    again->exchange = exchange;
    again->is_restart = is_restart;
    again->fn = fn;
    again->arg = arg;
    settings_init(&again->settings);
    settings_init(&again->own);
    run_step_init(&again->step);
    buffer_init(&again->id, MESSAGE_KEY_SIZE);
    buffer_init_fallible(&again->record, JOB_RECORD_MAX);
    buffer_init(&again->text, MESSAGE_SETTINGS_TEXT);
    buffer_init_fallible(&again->body, JOB_RECORD_MAX);
    buffer_init_fallible(&again->kept_settings, JOB_RECORD_MAX);
    struct slice key = message_id_key(message_id, again->key);
    if (key.size)
        app_read(app_of(exchange), key, again_on_read, again);
    else
        again_refuse_unknown(again);
}
