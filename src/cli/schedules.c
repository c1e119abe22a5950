/* schedules.c - the commands schedule and schedules: jobs, and schedules of jobs, from the options. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "job/job.h"

/* ---- the members of a new job ---- */

enum { BODY_MAX = 16 * 1024 * 1024, DIGITS_MAX = 9 };

struct new_job {
    struct buffer text; /* body of the request */
    struct buffer body; /* content of --body-file */
};

static bool read_stream(FILE *stream, const char *name, struct buffer *text, struct problem *problem)
{
    char chunk[65536];
    size_t size;
    while ((size = fread(chunk, 1, sizeof chunk, stream)) > 0)
        buffer_append(text, slice_from(chunk, size));
    if (ferror(stream))
        problem_set(problem, "cannot read %s: %s", name, strerror(errno));
    else if (text->failed)
        problem_set(problem, "%s is larger than 16 MiB", name);
    return !ferror(stream) && !text->failed;
}

static bool read_file(const char *name, struct buffer *text, struct problem *problem)
{
    if (strcmp(name, "-") == 0)
        return read_stream(stdin, name, text, problem);
    FILE *file = fopen(name, "rb");
    if (!file) {
        problem_set(problem, "cannot read %s: %s", name, strerror(errno));
        return false;
    }
    bool is_read = read_stream(file, name, text, problem);
    fclose(file);
    return is_read;
}

/* Adds a text, or nothing for NULL. */
static void job_add_text(struct json_writer *job, const char *name, const char *value)
{
    if (value)
        json_add_text(job, name, slice_of(value));
}

/* Adds a callback: a url, or a JSON object, which is copied unchanged. Refuses text that begins like an
 * object but is not valid JSON, because this text would become a part of the request's JSON. */
static bool add_callback(struct json_writer *job, struct call *call, const char *name, const char *flag,
                         enum argument argument)
{
    const char *value = call->arguments.values[argument];
    if (!value || value[0] != '{') {
        job_add_text(job, name, value);
        return true;
    }
    if (!call_is_json(slice_of(value))) {
        problem_set(&call->problem, "%s is %s: expected a url, or a JSON object with a url", flag, value);
        return false;
    }
    json_add_raw(job, name, slice_of(value));
    return true;
}

/* Adds JSON unchanged, so that the receiver gets the same bytes. Adds other UTF-8 as a JSON string, and other
 * bytes as bodyBase64. */
static void add_body(struct json_writer *job, struct slice body)
{
    if (call_is_json(body)) {
        json_add_raw(job, "body", body);
    } else if (utf8_is_sound_text(body.data, body.size)) {
        json_add_text(job, "body", body);
    } else {
        json_put_name(job, "bodyBase64");
        struct buffer *out = json_put(job);
        buffer_append_byte(out, '"');
        base64_append(out, body);
        buffer_append_byte(out, '"');
    }
}

/* Returns whether a header before this one has the same name. */
static bool is_header_repeated(const struct arguments *arguments, int index, struct slice name)
{
    struct slice earlier, value;
    for (int i = 0; i < index; i++) {
        slice_cut(slice_of(arguments->headers[i]), ':', &earlier, &value);
        if (slice_equal_nocase(earlier, name))
            return true;
    }
    return false;
}

static bool add_headers(struct json_writer *job, struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    if (arguments->header_count)
        json_add_object(job, "headers");
    for (int i = 0; i < arguments->header_count; i++) {
        struct slice name, value;
        if (!slice_cut(slice_of(arguments->headers[i]), ':', &name, &value) || name.size == 0) {
            problem_set(&call->problem, "--header %.400s: expected Name: value", arguments->headers[i]);
            return false;
        }
        if (is_header_repeated(arguments, i, name)) {
            problem_set(&call->problem,
                        "--header %.400s: %.*s appears twice; a job can have each header only once",
                        arguments->headers[i], (int)(name.size < 64 ? name.size : 64), name.data);
            return false;
        }
        for (; value.size && value.data[0] == ' '; value = slice_from(value.data + 1, value.size - 1))
            ;
        json_put_name_text(job, name);
        json_put_text(job, value);
    }
    if (arguments->header_count)
        json_end_object(job);
    return true;
}

/* Adds a number, if the option is given. The server checks whether the number is within its bounds, from 0 to
 * max. Other text is refused here, because it would become a part of the request's JSON. */
static bool add_number(struct json_writer *job, struct call *call, const char *name, enum argument argument,
                       int max)
{
    const char *value = call->arguments.values[argument];
    size_t digits = value ? strspn(value, "0123456789") : 0;
    if (!value)
        return true;
    if (digits == 0 || value[digits] || digits > DIGITS_MAX) {
        problem_set(&call->problem, "%s is %s: expected a whole number from 0 to %d", argument_flag(argument),
                    value, max);
        return false;
    }
    json_add_number(job, name, strtoll(value, NULL, 10));
    return true;
}

/* Adds a duration such as "15m" as the API's seconds, if the option is given. */
static void job_add_seconds(struct json_writer *job, const struct call *call, const char *name,
                            enum argument argument)
{
    const char *value = call->arguments.values[argument];
    int64_t ms;
    if (value && duration_parse(slice_of(value), TIMESTAMP_MAX_MS, &ms))
        json_add_seconds(job, name, ms);
}

static void new_job_init(struct new_job *job)
{
    buffer_init(&job->text, (size_t)2 * BODY_MAX);
    buffer_init_fallible(&job->body, BODY_MAX);
}

static void new_job_fini(struct new_job *job)
{
    buffer_fini(&job->body);
    buffer_fini(&job->text);
}

/* Adds url, method, headers, body and all other members except names (topic, jobId, group) and times. Returns
 * false after an error; problem then says what is wrong. */
static bool job_add_members(struct new_job *job, struct json_writer *json, struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    const char *file = arguments->values[ARGUMENT_BODY_FILE];
    if (!add_headers(json, call) || !add_number(json, call, "retry", ARGUMENT_RETRY, JOB_RETRY_MAX) ||
        !add_number(json, call, "priority", ARGUMENT_PRIORITY, JOB_PRIORITY_MAX) ||
        !add_callback(json, call, "onDelivered", "--on-delivered", ARGUMENT_ON_DELIVERED) ||
        !add_callback(json, call, "onDead", "--on-dead", ARGUMENT_ON_DEAD) ||
        !add_callback(json, call, "onAttempt", "--on-attempt", ARGUMENT_ON_ATTEMPT) ||
        (file && !read_file(file, &job->body, &call->problem)))
        return false;
    job_add_seconds(json, call, "ttl", ARGUMENT_TTL);
    job_add_seconds(json, call, "timeout", ARGUMENT_TIMEOUT);
    job_add_text(json, "url", arguments->values[ARGUMENT_URL]);
    job_add_text(json, "group", arguments->values[ARGUMENT_GROUP]);
    job_add_text(json, "method", arguments->values[ARGUMENT_METHOD]);
    job_add_text(json, "key", arguments->values[ARGUMENT_KEY]);
    if (arguments->values[ARGUMENT_LABEL]) {
        json_add_array(json, "labels");
        json_put_text(json, slice_of(arguments->values[ARGUMENT_LABEL]));
        for (int i = 0; i < arguments->label_count; i++)
            json_put_text(json, slice_of(arguments->labels[i]));
        json_end_array(json);
    }
    job_add_text(json, "bodyBase64", arguments->values[ARGUMENT_BODY_BASE64]);
    if (file)
        add_body(json, buffer_slice(&job->body));
    else if (arguments->values[ARGUMENT_BODY])
        add_body(json, slice_of(arguments->values[ARGUMENT_BODY]));
    return true;
}

/* ---- the command schedule ---- */

/* Adds throttle or debounce, if one of its options is given. The server says what is missing. */
static void add_gate(struct json_writer *json, const struct call *call)
{
    const char *const *values = call->arguments.values;
    if (values[ARGUMENT_THROTTLE_KEY] || values[ARGUMENT_THROTTLE_PER]) {
        json_add_object(json, "throttle");
        job_add_text(json, "key", values[ARGUMENT_THROTTLE_KEY]);
        job_add_seconds(json, call, "per", ARGUMENT_THROTTLE_PER);
        json_end_object(json);
    }
    if (values[ARGUMENT_DEBOUNCE_KEY] || values[ARGUMENT_DEBOUNCE_WAIT] ||
        values[ARGUMENT_DEBOUNCE_MAX_WAIT]) {
        json_add_object(json, "debounce");
        job_add_text(json, "key", values[ARGUMENT_DEBOUNCE_KEY]);
        job_add_seconds(json, call, "wait", ARGUMENT_DEBOUNCE_WAIT);
        job_add_seconds(json, call, "maxWait", ARGUMENT_DEBOUNCE_MAX_WAIT);
        json_end_object(json);
    }
}

static bool make_job(struct new_job *job, struct call *call)
{
    const char *due_at = call->arguments.values[ARGUMENT_DUE_AT];
    char due[TIMESTAMP_SIZE];
    struct slice topic, id;
    struct json_writer json = json_writer_to(&job->text);
    if (!call->arguments.word) {
        problem_set(&call->problem, "expected TOPIC or TOPIC/ID");
        return false;
    }
    json_put_object(&json);
    bool has_id = slice_cut(slice_of(call->arguments.word), '/', &topic, &id);
    json_add_text(&json, "topic", topic);
    if (has_id)
        json_add_text(&json, "jobId", id);
    if (call->arguments.values[ARGUMENT_TIMEZONE]) {
        job_add_text(&json, "dueAt", due_at);
        job_add_text(&json, "timezone", call->arguments.values[ARGUMENT_TIMEZONE]);
    } else {
        job_add_text(&json, "dueAt", due_at && when_parse(due_at, due) ? due : NULL);
    }
    add_gate(&json, call);
    job_add_seconds(&json, call, "delay", ARGUMENT_DELAY);
    if (!job_add_members(job, &json, call))
        return false;
    json_end_object(&json);
    return true;
}

bool schedule_run(struct call *call)
{
    struct new_job job;
    json_t *answer = NULL;
    new_job_init(&job);
    if (make_job(&job, call))
        answer = remote_ask_json(call->remote, "POST", "/jobs", buffer_text(&job.text), &call->problem);
    if (answer && call->arguments.is_json) {
        call_print_answer(call);
    } else if (answer) {
        const char *gate = json_is_true(json_object_get(answer, "throttled"))   ? " (throttled)"
                           : json_is_true(json_object_get(answer, "debounced")) ? " (debounced)"
                                                                                : "";
        call_print_job(answer, gate);
    }
    json_decref(answer);
    new_job_fini(&job);
    return answer;
}

/* ---- a list of schedules ---- */

/* ---- one schedule ---- */

/* Sends a request to "/schedules/topic/id", followed by suffix, from the word after the verb. The caller
 * frees the answer with json_decref. Returns NULL after an error. */
static json_t *ask_schedule(struct call *call, const char *method, const char *suffix, const char *body)
{
    const char *word = call->arguments.word_count == 2 ? call->arguments.words[1] : NULL;
    struct buffer target;
    json_t *answer = NULL;
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_printf(&target, "/schedules/");
    if (name_add_id(&target, call, word, "schedule")) {
        buffer_printf(&target, "%s", suffix);
        answer = remote_ask_json(call->remote, method, buffer_text(&target), body, &call->problem);
    }
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
    job_add_text(json, name, value && when_parse(value, time) ? time : NULL);
}

static bool make_schedule(struct new_job *job, struct call *call)
{
    const char *const *values = call->arguments.values;
    struct json_writer json = json_writer_to(&job->text);
    json_put_object(&json);
    job_add_text(&json, "cron", values[ARGUMENT_CRON]);
    job_add_text(&json, "timezone", values[ARGUMENT_TIMEZONE]);
    add_time(&json, call, "startAt", ARGUMENT_START_AT);
    add_time(&json, call, "endAt", ARGUMENT_END_AT);
    job_add_text(&json, "misfire", values[ARGUMENT_MISFIRE]);
    job_add_text(&json, "overlap", values[ARGUMENT_OVERLAP]);
    if (call->arguments.is_paused)
        json_add_bool(&json, "paused", true);
    job_add_seconds(&json, call, "every", ARGUMENT_EVERY);
    job_add_seconds(&json, call, "jitter", ARGUMENT_JITTER);
    job_add_seconds(&json, call, "grace", ARGUMENT_GRACE);
    job_add_seconds(&json, call, "expectBy", ARGUMENT_EXPECT_BY);
    json_add_object(&json, "job");
    if (!job_add_members(job, &json, call))
        return false;
    json_end_object(&json);
    json_end_object(&json);
    return true;
}

static bool send_schedule(struct call *call, const char *method, const char *body)
{
    json_t *answer = ask_schedule(call, method, "", body);
    if (answer && call->arguments.is_json) {
        call_print_answer(call);
    } else if (answer) {
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

/* Prints a line for each time, and one for each change of the clocks. */
static void print_preview(const json_t *answer)
{
    const json_t *one;
    size_t i;
    char span[WHEN_SPAN_SIZE];
    table_print_line(stdout, "%s\n", call_text(answer, "text"));
    if (json_is_true(json_object_get(answer, "paused")))
        table_print_line(stdout, "paused: creates no jobs until it is resumed\n");
    json_array_foreach(json_object_get(answer, "times"), i, one)
    {
        const char *due = call_text(one, "dueAt"), *time = call_text(one, "time");
        json_int_t outside = json_integer_value(json_object_get(one, "outsideWindows"));
        if (outside)
            table_print_line(stdout, "  %" JSON_INTEGER_FORMAT " outside the windows\n", outside);
        table_print_line(stdout, "%s%s%s%s%s%s\n", time, strcmp(due, time) == 0 ? "" : "  due ",
                         strcmp(due, time) == 0 ? "" : due, when_span(due, span) ? "  " : "", span,
                         json_is_true(json_object_get(one, "moved")) ? "  moved: clocks skip this time" : "");
    }
    const char *end = call_text(answer, "endsBy");
    if (end[0])
        table_print_line(stdout, "no later time: %s\n", end);
    json_array_foreach(json_object_get(answer, "clockChanges"), i, one) table_print_line(
        stdout,
        "clocks change by %+" JSON_INTEGER_FORMAT " s at %s: %" JSON_INTEGER_FORMAT " local times, %s\n",
        json_integer_value(json_object_get(one, "seconds")), call_text(one, "at"),
        json_integer_value(json_object_get(one, "times")), call_text(one, "effect"));
}

static bool preview_schedule(struct call *call)
{
    struct new_job job;
    const char *count = call->arguments.values[ARGUMENT_COUNT_OF];
    char suffix[64] = "/preview";
    json_t *answer = NULL;
    if (count && (strlen(count) > 3 || count[strspn(count, "0123456789")])) {
        problem_set(&call->problem, "--count is %.40s: expected a number from 1 to 100", count);
        return false;
    }
    if (count)
        snprintf(suffix, sizeof suffix, "/preview?count=%s", count);
    new_job_init(&job);
    if (make_schedule(&job, call))
        answer = ask_schedule(call, "POST", suffix, buffer_text(&job.text));
    if (answer && call->arguments.is_json)
        call_print_answer(call);
    else if (answer)
        print_preview(answer);
    json_decref(answer);
    new_job_fini(&job);
    return answer;
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

bool schedules_run(struct call *call)
{
    static const struct {
        const char *verb;
        bool (*run)(struct call *);
    } verbs[] = {
        {"set", set_schedule},       {"preview", preview_schedule}, {"show", show_schedule},
        {"pause", pause_schedule},   {"resume", resume_schedule},   {"run", run_schedule},
        {"delete", delete_schedule},
    };
    const char *word = call->arguments.word;
    if (!word) {
        struct listing listing = listing_schedules;
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
        listing.path = buffer_text(&path);
        bool is_done = list_print(call, &listing);
        buffer_fini(&path);
        return is_done;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(word, verbs[i].verb) == 0)
            return verbs[i].run(call);
    problem_set(&call->problem,
                "%s: expected set, preview, show, pause, resume, run or delete, then TOPIC/ID", word);
    return false;
}
