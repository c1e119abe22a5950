/* job_parse.c - a client's JSON into a job.
 *
 *   1. json_check says whether the text is sound, and within its limits
 *   2. the value of body is cut out: it has to arrive byte for byte
 *   3. jansson reads what is left; numbers are read from their text, exactly
 *   4. each member's reader checks its rules, in the order of the table
 *   5. members that the table does not name are reported */
#include <jansson.h>
#include <stdio.h>

#include "base/decimal.h"
#include "base/memory.h"
#include "job/header.h"
#include "job/job_errors.h"
#include "job/job_id.h"
#include "job/json.h"
#include "job/seconds.h"
#include "job/timestamp.h"
#include "job/url.h"

enum { REST_INLINE = 4096 }; /* bytes of text without body, before the heap is asked */

struct parse {
    struct slice rest; /* the text, with null for its body */
    int64_t now_ms;
    struct job *job;
    struct job_errors *errors;
};

/* The text of a number that jansson found under name. */
static bool find_number(const struct parse *parse, const char *name, json_t *value, struct slice *text)
{
    return json_is_number(value) && json_find(parse->rest, slice_of(name), text);
}

static bool read_text(struct parse *parse, const char *name, json_t *value, struct slice *text)
{
    if (!json_is_string(value)) {
        job_errors_add(parse->errors, name, "must be a string");
        return false;
    }
    *text = slice_from(json_string_value(value), json_string_length(value));
    return true;
}

static void read_topic(struct parse *parse, const char *name, json_t *value)
{
    struct slice *topic = &parse->job->topic;
    if (read_text(parse, name, value, topic) && !topic_is_valid(*topic))
        job_errors_add(parse->errors, name, "must be 1 to 128 of A-Z a-z 0-9 . _ - and not . or ..");
}

static void read_job_id(struct parse *parse, const char *name, json_t *value)
{
    struct slice *job_id = &parse->job->job_id;
    if (read_text(parse, name, value, job_id) && !job_id_is_valid(*job_id))
        job_errors_add(parse->errors, name, "must be 1 to 128 of A-Z a-z 0-9 . _ - ~ : and not . or ..");
}

static void read_url(struct parse *parse, const char *name, json_t *value)
{
    struct url ignored;
    const char *detail;
    if (read_text(parse, name, value, &parse->job->url) &&
        url_parse(parse->job->url, &ignored, &detail) != STATUS_OK)
        job_errors_add(parse->errors, name, detail);
}

static void read_delay(struct parse *parse, const char *name, json_t *value)
{
    struct slice text;
    parse->job->has_delay = true;
    if (!find_number(parse, name, value, &text))
        job_errors_add(parse->errors, name, "must be a number of seconds");
    else if (!seconds_parse(text, JOB_DELAY_MAX_MS, &parse->job->delay_ms))
        job_errors_add(parse->errors, name, "must be 0 to 315360000");
}

static void read_due_at(struct parse *parse, const char *name, json_t *value)
{
    struct slice text;
    struct job *job = parse->job;
    job->has_due_at = true;
    if (job->has_delay)
        job_errors_add(parse->errors, name, "must not stand beside delay");
    if (!read_text(parse, name, value, &text))
        return;
    if (!timestamp_parse(text, &job->due_at_ms))
        job_errors_add(parse->errors, name, "must be a time as in RFC 3339, such as 2030-01-01T00:00:00Z");
    else if (job->due_at_ms > parse->now_ms + JOB_DELAY_MAX_MS)
        job_errors_add(parse->errors, name, "must be at most 10 years ahead");
}

static void read_retry(struct parse *parse, const char *name, json_t *value)
{
    struct slice text;
    int64_t retry;
    bool is_integer;
    parse->job->has_retry = true;
    if (find_number(parse, name, value, &text) &&
        decimal_parse(text, 1, JOB_RETRY_MAX, &retry, &is_integer) && is_integer)
        parse->job->retry = (int)retry;
    else
        job_errors_add(parse->errors, name, "must be an integer from 0 to 100");
}

static void read_wait(struct parse *parse, const char *name, struct slice text)
{
    struct retry_schedule *schedule = &parse->job->schedule;
    int64_t *wait_ms = &schedule->wait_ms[schedule->count];
    if (!seconds_parse(text, JOB_WAIT_MAX_MS, wait_ms)) {
        char field[64];
        *wait_ms = 0;
        snprintf(field, sizeof field, "%s[%zu]", name, schedule->count);
        job_errors_add(parse->errors, field, "must be 0 to 31536000");
    }
    schedule->count++;
}

static void read_schedule(struct parse *parse, const char *name, json_t *value)
{
    struct slice text, item;
    struct json_cursor cursor;
    struct job *job = parse->job;
    job->has_schedule = true;
    if (!json_is_array(value) || !json_find(parse->rest, slice_of(name), &text) ||
        !json_open(text, &cursor)) {
        job_errors_add(parse->errors, name, "must be an array of seconds");
        return;
    }
    if (json_array_size(value) > RETRY_SCHEDULE_MAX)
        job_errors_add(parse->errors, name, "must have at most 100 waits");
    while (job->schedule.count < RETRY_SCHEDULE_MAX && json_next_item(&cursor, &item))
        read_wait(parse, name, item);
    if (job->schedule.count == 0 && job->retry > 0)
        job_errors_add(parse->errors, name, "must not be empty when retry is over 0");
}

static void read_timeout(struct parse *parse, const char *name, json_t *value)
{
    struct slice text;
    struct job *job = parse->job;
    job->has_timeout = true;
    if (!find_number(parse, name, value, &text))
        job_errors_add(parse->errors, name, "must be a number of seconds");
    else if (!seconds_parse(text, JOB_TIMEOUT_MAX_MS, &job->timeout_ms) ||
             job->timeout_ms < JOB_TIMEOUT_MIN_MS)
        job_errors_add(parse->errors, name, "must be 0.1 to 3600");
}

/* What is wrong with one header, or NULL. */
static const char *check_header(const struct job *job, struct slice name, json_t *value)
{
    if (!header_name_is_valid(name))
        return "must be a token, as header names are";
    if (header_is_refused(name))
        return "must not be set by a job";
    if (job_header(job, name))
        return "must not stand there twice, in whatever case";
    if (!json_is_string(value))
        return "must be a string";
    if (!header_value_is_valid(slice_from(json_string_value(value), json_string_length(value))))
        return "must be visible ASCII, space and tab";
    return NULL;
}

static void read_header(struct parse *parse, struct slice name, json_t *value, size_t *bytes)
{
    struct job *job = parse->job;
    const char *detail = check_header(job, name, value);
    if (detail) {
        job_errors_add_named(parse->errors, "headers.", name, detail);
        return;
    }
    struct slice text = slice_from(json_string_value(value), json_string_length(value));
    job->headers[job->header_count++] = (struct job_header){name, text};
    *bytes += name.size + text.size;
}

static void read_headers(struct parse *parse, const char *name, json_t *value)
{
    size_t bytes = 0;
    parse->job->has_headers = true;
    if (!json_is_object(value)) {
        job_errors_add(parse->errors, name, "must be an object of strings");
        return;
    }
    if (json_object_size(value) > JOB_HEADERS_MAX) {
        job_errors_add(parse->errors, name, "must have at most 50 headers");
        return;
    }
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at))
        read_header(parse, slice_of(json_object_iter_key(at)), json_object_iter_value(at), &bytes);
    if (bytes > JOB_HEADER_BYTES_MAX)
        job_errors_add(parse->errors, name, "must have at most 8192 bytes in all");
}

/* In the order of the API's table, which is the order of errors. */
static const struct member {
    const char *name;
    void (*read)(struct parse *, const char *name, json_t *value);
    bool is_required;
} members[] = {
    {"topic", read_topic, true},
    {"jobId", read_job_id, false},
    {"url", read_url, true},
    {"body", NULL, false}, /* any value will do, and it is not here any more */
    {"delay", read_delay, false},
    {"dueAt", read_due_at, false},
    {"retry", read_retry, false},
    {"retrySchedule", read_schedule, false},
    {"timeout", read_timeout, false},
    {"headers", read_headers, false},
};

enum { MEMBERS = sizeof members / sizeof *members };

static bool is_member(struct slice name)
{
    for (size_t i = 0; i < MEMBERS; i++)
        if (slice_equal(name, slice_of(members[i].name)))
            return true;
    return false;
}

static void read_members(struct parse *parse, json_t *tree)
{
    size_t known = 0;
    for (size_t i = 0; i < MEMBERS; i++) {
        json_t *value = json_object_get(tree, members[i].name);
        if (value && members[i].read)
            members[i].read(parse, members[i].name, value);
        if (!value && members[i].is_required)
            job_errors_add(parse->errors, members[i].name, "is required");
        known += value != NULL;
    }
    if (known == json_object_size(tree))
        return;
    for (void *at = json_object_iter(tree); at; at = json_object_iter_next(tree, at)) {
        struct slice name = slice_of(json_object_iter_key(at));
        if (!is_member(name))
            job_errors_add_named(parse->errors, "", name, "is no member of a job");
    }
}

/* jansson's tree of rest. Once json_check took a text, only a number that no float can hold stops
 * jansson: integers go as floats, since their value is read from their text, and NUL is for the
 * rules of each string. */
static bool load(struct parse *parse)
{
    json_error_t ignored;
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL;
    parse->job->tree = json_loadb(parse->rest.data, parse->rest.size, flags, &ignored);
    if (!parse->job->tree)
        job_errors_add(parse->errors, "", "has a number that is out of range");
    return parse->job->tree != NULL;
}

/* Puts the text with null for body, which lies in it, into room. */
static struct slice cut_body(struct slice text, struct slice body, char *room)
{
    size_t before = (size_t)(body.data - text.data);
    size_t behind = text.size - before - body.size;
    memcpy(room, text.data, before);
    memcpy(room + before, "null", 4);
    memcpy(room + before + 4, body.data + body.size, behind);
    return slice_from(room, before + 4 + behind);
}

static void parse_rest(struct parse *parse, struct slice text)
{
    char inline_room[REST_INLINE];
    struct slice body;
    char *room = NULL;
    parse->rest = text;
    if (json_find(text, SLICE("body"), &body)) {
        size_t bytes = text.size - body.size + 4;
        if (bytes > sizeof inline_room)
            room = memory_new(bytes);
        parse->job->body = body;
        parse->rest = cut_body(text, body, room ? room : inline_room);
    }
    if (load(parse))
        read_members(parse, parse->job->tree);
    free(room);
}

static bool check_document(struct slice text, struct job_errors *errors)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    struct json_cursor top;
    char detail[sizeof errors->items[0].detail];
    if (json_check(text, &limits, &fault) != STATUS_OK) {
        snprintf(detail, sizeof detail, "%s, at byte %zu", fault.detail, fault.offset);
        job_errors_add(errors, "", detail);
        return false;
    }
    if (!json_open(text, &top) || top.close != '}') {
        job_errors_add(errors, "", "must be an object");
        return false;
    }
    return true;
}

enum status job_parse(struct slice text, int64_t now_ms, struct job *job, struct job_errors *errors)
{
    struct parse parse = {.now_ms = now_ms, .job = job, .errors = errors};
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS};
    errors->count = 0;
    if (check_document(text, errors))
        parse_rest(&parse, text);
    if (errors->count > 0)
        job_fini(job);
    return errors->count > 0 ? STATUS_INVALID : STATUS_OK;
}

void job_startup(void)
{
    json_object_seed(0);
}
