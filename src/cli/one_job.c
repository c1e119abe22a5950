#include "cli/one_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/duration.h"
#include "base/json_writer.h"
#include "cli/ask.h"
#include "cli/list.h"
#include "cli/when.h"

enum { BODY_MAX = 16 * 1024 * 1024 };

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
    return ask_job(call, "POST", "/run", "dueAt");
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

/* Prints the reason as a sentence. Also prints when the wait ends, if the answer has this time. */
static void print_why(const json_t *answer)
{
    char span[WHEN_SPAN_SIZE];
    const char *until = call_text(answer, "until");
    puts(call_text(answer, "detail"));
    if (until && when_span(until, span))
        printf("The wait ends %s, at %s.\n", span, until);
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

static bool read_file(const char *name, struct buffer *text, struct problem *problem)
{
    char chunk[65536];
    size_t size;
    FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "rb");
    if (!file) {
        problem_set(problem, "cannot read %s", name);
        return false;
    }
    while ((size = fread(chunk, 1, sizeof chunk, file)) > 0)
        buffer_append(text, slice_from(chunk, size));
    bool is_read = !ferror(file) && !text->failed;
    if (!is_read)
        problem_set(problem, text->failed ? "%s is larger than 16 MiB" : "cannot read %s", name);
    if (file != stdin)
        fclose(file);
    return is_read;
}

static void add_text(struct json_writer *job, const char *name, const char *value)
{
    if (value)
        json_add_text(job, name, slice_of(value));
}

/* Adds a callback: a url, or an object as it is. */
static void add_callback(struct json_writer *job, const char *name, const char *value)
{
    if (value && value[0] == '{')
        json_add_raw(job, name, slice_of(value));
    else
        add_text(job, name, value);
}

static void add_bytes(struct json_writer *job, struct slice bytes)
{
    json_put_name(job, "bodyBase64");
    struct buffer *out = json_put(job);
    buffer_append_byte(out, '"');
    base64_append(out, bytes);
    buffer_append_byte(out, '"');
}

/* Adds JSON as it is, so that the receiver gets these bytes. Adds other UTF-8 as a JSON string, and other
 * bytes as bodyBase64. */
static void add_body(struct json_writer *job, struct slice body)
{
    json_t *json = json_loadb(body.data, body.size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    json_t *text = json ? NULL : json_stringn(body.data ? body.data : "", body.size);
    if (json)
        json_add_raw(job, "body", body);
    else if (text)
        json_add_text(job, "body", body);
    else
        add_bytes(job, body);
    json_decref(json);
    json_decref(text);
}

static void add_labels(struct json_writer *job, const struct arguments *arguments)
{
    if (!arguments->values[ARGUMENT_LABEL])
        return;
    json_add_array(job, "labels");
    json_put_text(job, slice_of(arguments->values[ARGUMENT_LABEL]));
    for (int i = 0; i < arguments->label_count; i++)
        json_put_text(job, slice_of(arguments->labels[i]));
    json_end_array(job);
}

static bool add_headers(struct json_writer *job, struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    if (arguments->header_count)
        json_add_object(job, "headers");
    for (int i = 0; i < arguments->header_count; i++) {
        struct slice name, value;
        if (!slice_cut(slice_of(arguments->headers[i]), ':', &name, &value)) {
            problem_set(&call->problem, "--header %s: expected Name: value", arguments->headers[i]);
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

/* Adds a duration such as "15m" as the API's seconds. */
static bool add_seconds(struct json_writer *job, struct call *call, const char *name, enum argument argument)
{
    const char *value = call->arguments.values[argument];
    int64_t ms;
    if (!value)
        return true;
    if (!duration_parse(slice_of(value), TIMESTAMP_MAX_MS, &ms)) {
        problem_set(&call->problem, "--%s is %s: expected a duration such as 90s, 15m or 1h", name, value);
        return false;
    }
    json_add_seconds(job, name, ms);
    return true;
}

static bool add_times(struct json_writer *job, struct call *call)
{
    char due[TIMESTAMP_SIZE];
    const char *due_at = call->arguments.values[ARGUMENT_DUE_AT];
    add_text(job, "dueAt", due_at && when_parse(due_at, due) ? due : NULL);
    return add_seconds(job, call, "delay", ARGUMENT_DELAY) && add_seconds(job, call, "ttl", ARGUMENT_TTL) &&
           add_seconds(job, call, "timeout", ARGUMENT_TIMEOUT);
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

static bool make_job(struct json_writer *job, struct buffer *body, struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    const char *file = arguments->values[ARGUMENT_BODY_FILE];
    json_put_object(job);
    if (!add_name(job, call) || !add_headers(job, call) || !add_times(job, call) ||
        (file && !read_file(file, body, &call->problem)))
        return false;
    add_text(job, "url", arguments->values[ARGUMENT_URL]);
    add_text(job, "group", arguments->values[ARGUMENT_GROUP]);
    add_text(job, "method", arguments->values[ARGUMENT_METHOD]);
    add_labels(job, arguments);
    add_text(job, "bodyBase64", arguments->values[ARGUMENT_BODY_BASE64]);
    if (arguments->values[ARGUMENT_RETRY])
        json_add_raw(job, "retry", slice_of(arguments->values[ARGUMENT_RETRY]));
    add_callback(job, "onDelivered", arguments->values[ARGUMENT_ON_DELIVERED]);
    add_callback(job, "onDead", arguments->values[ARGUMENT_ON_DEAD]);
    add_callback(job, "onAttempt", arguments->values[ARGUMENT_ON_ATTEMPT]);
    if (file)
        add_body(job, buffer_slice(body));
    else if (arguments->values[ARGUMENT_BODY])
        add_body(job, slice_of(arguments->values[ARGUMENT_BODY]));
    json_end_object(job);
    return true;
}

static void print_scheduled(const json_t *answer)
{
    char span[WHEN_SPAN_SIZE] = "";
    const char *due = call_text(answer, "dueAt");
    if (due && when_span(due, span))
        printf("%s/%s is %s, due %s, at %s\n", call_text(answer, "topic"), call_text(answer, "jobId"),
               call_text(answer, "state"), span, due);
    else
        printf("%s/%s is %s\n", call_text(answer, "topic"), call_text(answer, "jobId"),
               call_text(answer, "state"));
}

bool one_job_schedule(struct call *call)
{
    struct buffer job, body;
    json_t *answer = NULL;
    buffer_init(&job, (size_t)2 * BODY_MAX);
    buffer_init_fallible(&body, BODY_MAX);
    struct json_writer json = json_writer_to(&job);
    if (make_job(&json, &body, call))
        answer = remote_ask_json(call->remote, "POST", "/jobs", buffer_text(&job), &call->problem);
    if (answer && call->arguments.is_json)
        call_print_json(answer);
    else if (answer)
        print_scheduled(answer);
    json_decref(answer);
    buffer_fini(&body);
    buffer_fini(&job);
    return answer;
}
