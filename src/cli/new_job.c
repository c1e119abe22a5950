#include "cli/new_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/duration.h"
#include "base/timestamp.h"
#include "base/utf8.h"

enum { BODY_MAX = 16 * 1024 * 1024, RETRY_DIGITS_MAX = 9 };

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

void new_job_add_text(struct json_writer *job, const char *name, const char *value)
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
        new_job_add_text(job, name, value);
        return true;
    }
    if (!call_is_json(slice_of(value))) {
        problem_set(&call->problem, "%s is %s: expected a url, or a JSON object with a url", flag, value);
        return false;
    }
    json_add_raw(job, name, slice_of(value));
    return true;
}

static void add_bytes(struct json_writer *job, struct slice bytes)
{
    json_put_name(job, "bodyBase64");
    struct buffer *out = json_put(job);
    buffer_append_byte(out, '"');
    base64_append(out, bytes);
    buffer_append_byte(out, '"');
}

/* Adds JSON unchanged, so that the receiver gets the same bytes. Adds other UTF-8 as a JSON string, and other
 * bytes as bodyBase64. */
static void add_body(struct json_writer *job, struct slice body)
{
    if (call_is_json(body))
        json_add_raw(job, "body", body);
    else if (utf8_is_sound_text(body.data, body.size))
        json_add_text(job, "body", body);
    else
        add_bytes(job, body);
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

/* The server checks whether the number is within its bounds. Other text is refused here, because it would
 * become a part of the request's JSON. */
static bool add_retry(struct json_writer *job, struct call *call)
{
    const char *value = call->arguments.values[ARGUMENT_RETRY];
    size_t digits = value ? strspn(value, "0123456789") : 0;
    if (!value)
        return true;
    if (digits == 0 || value[digits] || digits > RETRY_DIGITS_MAX) {
        problem_set(&call->problem, "--retry is %s: expected a whole number from 0 to 100", value);
        return false;
    }
    json_add_number(job, "retry", strtoll(value, NULL, 10));
    return true;
}

void new_job_add_seconds(struct json_writer *job, const struct call *call, const char *name,
                         enum argument argument)
{
    const char *value = call->arguments.values[argument];
    int64_t ms;
    if (value && duration_parse(slice_of(value), TIMESTAMP_MAX_MS, &ms))
        json_add_seconds(job, name, ms);
}

void new_job_init(struct new_job *job)
{
    buffer_init(&job->text, (size_t)2 * BODY_MAX);
    buffer_init_fallible(&job->body, BODY_MAX);
}

void new_job_fini(struct new_job *job)
{
    buffer_fini(&job->body);
    buffer_fini(&job->text);
}

bool new_job_add_members(struct new_job *job, struct json_writer *json, struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    const char *file = arguments->values[ARGUMENT_BODY_FILE];
    if (!add_headers(json, call) || !add_retry(json, call) ||
        !add_callback(json, call, "onDelivered", "--on-delivered", ARGUMENT_ON_DELIVERED) ||
        !add_callback(json, call, "onDead", "--on-dead", ARGUMENT_ON_DEAD) ||
        !add_callback(json, call, "onAttempt", "--on-attempt", ARGUMENT_ON_ATTEMPT) ||
        (file && !read_file(file, &job->body, &call->problem)))
        return false;
    new_job_add_seconds(json, call, "ttl", ARGUMENT_TTL);
    new_job_add_seconds(json, call, "timeout", ARGUMENT_TIMEOUT);
    new_job_add_text(json, "url", arguments->values[ARGUMENT_URL]);
    new_job_add_text(json, "group", arguments->values[ARGUMENT_GROUP]);
    new_job_add_text(json, "method", arguments->values[ARGUMENT_METHOD]);
    add_labels(json, arguments);
    new_job_add_text(json, "bodyBase64", arguments->values[ARGUMENT_BODY_BASE64]);
    if (file)
        add_body(json, buffer_slice(&job->body));
    else if (arguments->values[ARGUMENT_BODY])
        add_body(json, slice_of(arguments->values[ARGUMENT_BODY]));
    return true;
}
