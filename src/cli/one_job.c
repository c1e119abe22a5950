#include "cli/one_job.h"

#include <stdio.h>

#include "cli/ask.h"
#include "cli/list.h"
#include "cli/new_job.h"
#include "cli/table.h"
#include "cli/when.h"

static bool ask_job(struct call *call, const char *method, const char *suffix, const char *member)
{
    struct buffer target;
    buffer_init(&target, CALL_TARGET_MAX);
    bool is_made = ask_make_job_target(&target, call, suffix);
    if (call->arguments.values[ARGUMENT_GROUP]) {
        buffer_append(&target, SLICE("?group="));
        call_add_encoded(&target, call->arguments.values[ARGUMENT_GROUP]);
    }
    bool is_done = is_made && ask(call, method, buffer_text(&target), NULL, member);
    buffer_fini(&target);
    return is_done;
}

bool one_job_show(struct call *call)
{
    return ask_job(call, "GET", "", NULL);
}

bool one_job_run(struct call *call)
{
    return ask_job(call, "POST", call->arguments.is_resend ? "/run?resend=true" : "/run", "dueAt");
}

bool one_job_cancel(struct call *call)
{
    return ask_job(call, "DELETE", "", "state");
}

bool one_job_attempts(struct call *call)
{
    struct form form = form_attempts;
    struct buffer target;
    buffer_init(&target, CALL_TARGET_MAX);
    bool is_done = ask_make_job_target(&target, call, "/attempts");
    form.path = buffer_text(&target);
    is_done = is_done && list_print(call, &form);
    buffer_fini(&target);
    return is_done;
}

/* ---- why ---- */

/* Prints why the job waits, as a sentence, and the time at which the wait ends, if the answer has this time.
 */
static void print_why(const json_t *answer)
{
    char span[WHEN_SPAN_SIZE];
    const char *until = call_text(answer, "until");
    table_print_line(stdout, "%s\n", call_text(answer, "detail"));
    if (until && when_span(until, span))
        table_print_line(stdout, "The wait ends %s, at %s.\n", span, until);
}

bool one_job_why(struct call *call)
{
    struct buffer target;
    json_t *answer = NULL;
    buffer_init(&target, CALL_TARGET_MAX);
    if (ask_make_job_target(&target, call, "/why"))
        answer = remote_ask_json(call->remote, "GET", buffer_text(&target), NULL, &call->problem);
    buffer_fini(&target);
    if (answer && (call->arguments.is_json || !call_text(answer, "detail")))
        call_print_json(answer);
    else if (answer)
        print_why(answer);
    json_decref(answer);
    return answer;
}

/* ---- schedule ---- */

static void add_times(struct json_writer *job, const struct call *call)
{
    char due[TIMESTAMP_SIZE];
    const char *due_at = call->arguments.values[ARGUMENT_DUE_AT];
    new_job_add_text(job, "dueAt", due_at && when_parse(due_at, due) ? due : NULL);
    new_job_add_seconds(job, call, "delay", ARGUMENT_DELAY);
}

/* Adds topic and jobId from the word TOPIC or TOPIC/ID. */
static bool add_name(struct json_writer *job, struct call *call)
{
    struct slice topic, id;
    if (!call->arguments.word) {
        problem_set(&call->problem, "expected TOPIC or TOPIC/ID");
        return false;
    }
    bool has_id = slice_cut(slice_of(call->arguments.word), '/', &topic, &id);
    json_add_text(job, "topic", topic);
    if (has_id)
        json_add_text(job, "jobId", id);
    return true;
}

static bool make_job(struct new_job *job, struct call *call)
{
    struct json_writer json = json_writer_to(&job->text);
    json_put_object(&json);
    if (!add_name(&json, call))
        return false;
    add_times(&json, call);
    if (!new_job_add_members(job, &json, call))
        return false;
    json_end_object(&json);
    return true;
}

static void print_scheduled(const json_t *answer)
{
    char span[WHEN_SPAN_SIZE] = "";
    const char *due = call_text(answer, "dueAt");
    if (due && when_span(due, span))
        table_print_line(stdout, "%s/%s is %s, due %s, at %s\n", call_text(answer, "topic"),
                         call_text(answer, "jobId"), call_text(answer, "state"), span, due);
    else
        table_print_line(stdout, "%s/%s is %s\n", call_text(answer, "topic"), call_text(answer, "jobId"),
                         call_text(answer, "state"));
}

bool one_job_schedule(struct call *call)
{
    struct new_job job;
    json_t *answer = NULL;
    new_job_init(&job);
    if (make_job(&job, call))
        answer = remote_ask_json(call->remote, "POST", "/jobs", buffer_text(&job.text), &call->problem);
    if (answer && call->arguments.is_json)
        call_print_json(answer);
    else if (answer)
        print_scheduled(answer);
    json_decref(answer);
    new_job_fini(&job);
    return answer;
}
