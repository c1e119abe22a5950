#include "cli/schedules.h"

#include <stdio.h>
#include <string.h>

#include "cli/list.h"
#include "cli/name.h"
#include "cli/new_job.h"
#include "cli/table.h"
#include "cli/when.h"

/* ---- list ---- */

static bool list_schedules(struct call *call)
{
    struct form form = form_schedules;
    struct buffer path;
    const char *topic = call->arguments.values[ARGUMENT_TOPIC];
    if (topic && !name_is_topic(call, topic))
        return false;
    buffer_init(&path, CALL_TARGET_MAX);
    buffer_printf(&path, "/schedules");
    if (topic) {
        buffer_printf(&path, "/");
        call_add_encoded(&path, topic);
    }
    call->arguments.values[ARGUMENT_TOPIC] =
        NULL; /* the request gets no parameter topic, because its path contains the topic */
    form.path = buffer_text(&path);
    bool is_done = list_print(call, &form);
    buffer_fini(&path);
    return is_done;
}

/* ---- one schedule ---- */

/* Writes the target "/schedules/topic/id", followed by suffix, from the word after the verb. */
static bool make_target(struct buffer *target, struct call *call, const char *suffix)
{
    const char *word = call->arguments.word_count == 2 ? call->arguments.words[1] : NULL;
    buffer_printf(target, "/schedules/");
    if (!name_add_id(target, call, word, "schedule"))
        return false;
    buffer_printf(target, "%s", suffix);
    return true;
}

/* Sends a request. The caller frees the answer with json_decref. Returns NULL after an error. */
static json_t *ask_schedule(struct call *call, const char *method, const char *suffix, const char *body)
{
    struct buffer target;
    json_t *answer = NULL;
    buffer_init(&target, CALL_TARGET_MAX);
    if (make_target(&target, call, suffix))
        answer = remote_ask_json(call->remote, method, buffer_text(&target), body, &call->problem);
    buffer_fini(&target);
    return answer;
}

/* Prints the answer as JSON or, without --json, as TOPIC/ID followed by end; member is the name of the member
 * with the ID. Frees the answer. Returns false if answer is NULL. */
static bool print_name(const struct call *call, json_t *answer, const char *member, const char *end)
{
    bool is_there = answer;
    if (answer && call->arguments.is_json)
        call_print_answer(call);
    else if (answer)
        table_print_line(stdout, "%s/%s%s\n", call_text(answer, "topic"), call_text(answer, member), end);
    json_decref(answer);
    return is_there;
}

static bool show_schedule(struct call *call)
{
    json_t *answer = ask_schedule(call, "GET", "", NULL);
    if (answer)
        call_print_answer(call);
    json_decref(answer);
    return answer;
}

/* Prints the job as TOPIC/ID, the form that other commands take. */
static bool run_schedule(struct call *call)
{
    return print_name(call, ask_schedule(call, "POST", "/run", NULL), "jobId", "");
}

static bool delete_schedule(struct call *call)
{
    return print_name(call, ask_schedule(call, "DELETE", "", NULL), "scheduleId", " is deleted");
}

/* ---- set, pause, resume ---- */

static void add_time(struct json_writer *json, const struct call *call, const char *name,
                     enum argument argument)
{
    char time[TIMESTAMP_SIZE];
    const char *value = call->arguments.values[argument];
    new_job_add_text(json, name, value && when_parse(value, time) ? time : NULL);
}

static bool make_schedule(struct new_job *job, struct call *call)
{
    const char *const *values = call->arguments.values;
    struct json_writer json = json_writer_to(&job->text);
    json_put_object(&json);
    new_job_add_text(&json, "cron", values[ARGUMENT_CRON]);
    new_job_add_text(&json, "timezone", values[ARGUMENT_TIMEZONE]);
    add_time(&json, call, "startAt", ARGUMENT_START_AT);
    add_time(&json, call, "endAt", ARGUMENT_END_AT);
    new_job_add_text(&json, "misfire", values[ARGUMENT_MISFIRE]);
    new_job_add_text(&json, "overlap", values[ARGUMENT_OVERLAP]);
    if (call->arguments.is_paused)
        json_add_bool(&json, "paused", true);
    new_job_add_seconds(&json, call, "every", ARGUMENT_EVERY);
    new_job_add_seconds(&json, call, "jitter", ARGUMENT_JITTER);
    new_job_add_seconds(&json, call, "grace", ARGUMENT_GRACE);
    json_add_object(&json, "job");
    if (!new_job_add_members(job, &json, call))
        return false;
    json_end_object(&json);
    json_end_object(&json);
    return true;
}

static void print_next(const json_t *answer)
{
    char span[WHEN_SPAN_SIZE];
    const char *next = json_string_value(json_array_get(json_object_get(answer, "next"), 0));
    const char *topic = call_text(answer, "topic"), *id = call_text(answer, "scheduleId");
    if (json_is_true(json_object_get(answer, "paused")))
        table_print_line(stdout, "%s/%s is paused\n", topic, id);
    else if (next && when_span(next, span))
        table_print_line(stdout, "%s/%s is next due %s, at %s\n", topic, id, span, next);
    else
        table_print_line(stdout, "%s/%s is never due again\n", topic, id);
}

static bool send_schedule(struct call *call, const char *method, const char *body)
{
    json_t *answer = ask_schedule(call, method, "", body);
    if (answer && call->arguments.is_json)
        call_print_answer(call);
    else if (answer)
        print_next(answer);
    json_decref(answer);
    return answer;
}

static bool set_schedule(struct call *call)
{
    struct new_job job;
    new_job_init(&job);
    bool is_done = make_schedule(&job, call) && send_schedule(call, "PUT", buffer_text(&job.text));
    new_job_fini(&job);
    return is_done;
}

static bool pause_schedule(struct call *call)
{
    return send_schedule(call, "PATCH", "{\"paused\":true}");
}

static bool resume_schedule(struct call *call)
{
    return send_schedule(call, "PATCH", "{\"paused\":null}");
}

/* ---- the verbs ---- */

bool schedules_command(struct call *call)
{
    static const struct {
        const char *verb;
        bool (*run)(struct call *);
    } verbs[] = {
        {"set", set_schedule},       {"show", show_schedule}, {"pause", pause_schedule},
        {"resume", resume_schedule}, {"run", run_schedule},   {"delete", delete_schedule},
    };
    const char *word = call->arguments.word;
    if (!word)
        return list_schedules(call);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(word, verbs[i].verb) == 0)
            return verbs[i].run(call);
    problem_set(&call->problem, "%s: expected set, show, pause, resume, run or delete, then TOPIC/ID", word);
    return false;
}
