/* job_parse.c - a client's JSON into a job.
 *
 *   1. json_check says whether the text is sound, and within its limits
 *   2. its members are found. null stands for an absent one, but for body, where it is a value like any
 * other. body stays as it is, because it has to arrive byte for byte
 *   3. each member's reader checks its rules, in the order of the table; numbers are read from their
 *      text, exactly
 *   4. members that the table does not name are reported
 *
 * It runs on each request: no tree is built. */
#include <assert.h>
#include <stdio.h>

#include "base/timestamp.h"
#include "job/job_errors.h"
#include "job/job_id.h"
#include "job/job_parse.h"
#include "job/json.h"
#include "job/member.h"
#include "job/suggestion.h"

struct parse {
    int64_t now_ms;
    struct slice topic, job_id; /* that the job must have; empty: any */
    bool is_changed;            /* see job_parse_changed */
    struct job *job;
    struct job_errors *errors;
};

/* A string with escapes is put into job->text, which has room for all of the request and therefore never
 * moves. */
static bool read_text(struct parse *parse, const char *name, struct slice value, struct slice *text)
{
    struct buffer *scratch = &parse->job->text;
    if (!json_is_text(value)) {
        job_errors_add(parse->errors, name, "must be a string");
        return false;
    }
    if (json_has_escapes(value) && !scratch->data)
        buffer_reserve(scratch, scratch->max);
    *text = json_text(value, scratch);
    return true;
}

static void check_name(struct parse *parse, const char *name, struct slice text, struct slice wanted)
{
    if (wanted.size && !slice_equal(text, wanted))
        job_errors_add(parse->errors, name, "must be that of the path");
}

static void read_topic(struct parse *parse, const char *name, struct slice value)
{
    struct slice *topic = &parse->job->topic;
    if (!read_text(parse, name, value, topic))
        return;
    if (topic_is_sibling(*topic))
        job_errors_add(parse->errors, name, "must not have ~: only the server schedules jobs in such topics");
    else if (topic_is_valid(*topic))
        check_name(parse, name, *topic, parse->topic);
    else
        job_errors_add(parse->errors, name, "must be 1 to 128 of A-Z a-z 0-9 . _ - and not . or ..");
}

static void read_job_id(struct parse *parse, const char *name, struct slice value)
{
    struct slice *job_id = &parse->job->job_id;
    if (!read_text(parse, name, value, job_id))
        return;
    if (job_id_is_valid(*job_id))
        check_name(parse, name, *job_id, parse->job_id);
    else
        job_errors_add(parse->errors, name,
                       "must be UTF-8 of 1 to 255 bytes without control characters, and not . or ..");
}

static void read_url(struct parse *parse, const char *name, struct slice value)
{
    if (read_text(parse, name, value, &parse->job->url))
        (void)member_url(parse->errors, name, parse->job->url);
}

static void read_delay(struct parse *parse, const char *name, struct slice value)
{
    parse->job->has_delay = true;
    member_seconds(parse->errors, name, value, 0, JOB_DELAY_MAX_MS, &parse->job->delay_ms);
}

static bool read_time(struct parse *parse, const char *name, struct slice value, int64_t *ms)
{
    struct slice text;
    if (!read_text(parse, name, value, &text))
        return false;
    if (timestamp_parse(text, ms))
        return true;
    job_errors_add(parse->errors, name, "must be a time as in RFC 3339, such as 2030-01-01T00:00:00Z");
    return false;
}

static void read_due_at(struct parse *parse, const char *name, struct slice value)
{
    struct job *job = parse->job;
    job->has_due_at = true;
    if (job->has_delay)
        job_errors_add(parse->errors, name, "cannot be combined with delay");
    if (read_time(parse, name, value, &job->due_at_ms) && job->due_at_ms > parse->now_ms + JOB_DELAY_MAX_MS)
        job_errors_add(parse->errors, name, "must be at most 10 years ahead");
}

static void check_expiry(struct parse *parse, const char *name)
{
    bool is_late = job_expires_ms(parse->job, parse->now_ms) <= job_due_ms(parse->job, parse->now_ms);
    if (is_late && !parse->is_changed)
        job_errors_add(parse->errors, name, JOB_EXPIRES_TOO_SOON);
}

static void read_ttl(struct parse *parse, const char *name, struct slice value)
{
    size_t errors_before = parse->errors->count;
    parse->job->has_ttl = true;
    member_seconds(parse->errors, name, value, 1, JOB_TTL_MAX_MS, &parse->job->ttl_ms);
    if (parse->errors->count == errors_before)
        check_expiry(parse, name);
}

static void read_expires_at(struct parse *parse, const char *name, struct slice value)
{
    struct job *job = parse->job;
    job->has_expires_at = true;
    if (job->has_ttl)
        job_errors_add(parse->errors, name, "cannot be combined with ttl");
    if (read_time(parse, name, value, &job->expires_at_ms))
        check_expiry(parse, name);
}

static void read_retry(struct parse *parse, const char *name, struct slice value)
{
    int64_t retry = 0;
    parse->job->has_retry = true;
    member_integer(parse->errors, name, value, 0, JOB_RETRY_MAX, &retry);
    parse->job->retry = (int)retry;
}

static void read_schedule(struct parse *parse, const char *name, struct slice value)
{
    struct job *job = parse->job;
    size_t errors_before = parse->errors->count;
    job->has_schedule = true;
    member_schedule(parse->errors, name, value, &job->schedule);
    if (parse->errors->count == errors_before && job->schedule.count == 0 && job->retry > 0)
        job_errors_add(parse->errors, name, "must not be empty when retry is over 0");
}

static void read_timeout(struct parse *parse, const char *name, struct slice value)
{
    parse->job->has_timeout = true;
    member_seconds(parse->errors, name, value, JOB_TIMEOUT_MIN_MS, JOB_TIMEOUT_MAX_MS,
                   &parse->job->timeout_ms);
}

static void read_headers(struct parse *parse, const char *name, struct slice value)
{
    struct job *job = parse->job;
    job->has_headers = true;
    job->header_count = member_headers(parse->errors, name, value, job->headers, &job->text);
}

#ifdef DUEPOST_TEST_NEXT
static void read_next(struct parse *parse, const char *name, struct slice value)
{
    (void)read_text(parse, name, value, &parse->job->next);
}
#endif

/* In the order of the API's table, which is the order of errors. */
static const struct member {
    const char *name;
    void (*read)(struct parse *, const char *name, struct slice value);
    bool is_required;
} members[] = {
    {"topic", read_topic, true},      {"jobId", read_job_id, false},
    {"url", read_url, false},         {"body", NULL, false}, /* any value will do */
    {"delay", read_delay, false},     {"dueAt", read_due_at, false},
    {"ttl", read_ttl, false},         {"expiresAt", read_expires_at, false},
    {"retry", read_retry, false},     {"retrySchedule", read_schedule, false},
    {"timeout", read_timeout, false}, {"headers", read_headers, false},
#ifdef DUEPOST_TEST_NEXT
    {"next", read_next, false},
#endif
};

enum { MEMBERS = sizeof members / sizeof *members, NAME_MAX_BYTES = 256 };

/* The member's place in the table, or MEMBERS. */
static size_t find_member(struct slice name)
{
    size_t i = 0;
    while (i < MEMBERS && !slice_equal(name, slice_of(members[i].name)))
        i++;
    return i;
}

static void report_unknown(struct parse *parse, struct slice text, struct buffer *name)
{
    struct json_cursor cursor;
    struct slice value;
    bool is_open = json_open(text, &cursor);
    while (is_open && json_next_named(&cursor, name, &value)) {
        struct suggestion meant = {.name = buffer_slice(name)};
        char detail[SUGGESTION_DETAIL_SIZE];
        if (find_member(meant.name) < MEMBERS)
            continue;
        for (size_t i = 0; i < MEMBERS; i++)
            suggestion_weigh(&meant, members[i].name);
        suggestion_write(&meant, "unknown field", detail);
        job_errors_add_named(parse->errors, "", meant.name, detail);
    }
}

static bool is_required(const struct parse *parse, const struct member *member)
{
    return member->is_required && !(member->read == read_topic && parse->topic.size);
}

static void read_members(struct parse *parse, struct slice text)
{
    char room[NAME_MAX_BYTES + 1];
    struct buffer name = {.data = room, .capacity = sizeof room, .max = NAME_MAX_BYTES};
    struct slice values[MEMBERS + 1] = {{NULL, 0}}, value; /* the last: of any unknown one */
    struct json_cursor cursor;
    bool is_open = json_open(text, &cursor);
    parse->job->topic = parse->topic;
    parse->job->job_id = parse->job_id;
    while (is_open && json_next_named(&cursor, &name, &value)) {
        size_t member = find_member(buffer_slice(&name));
        if (member == MEMBERS || !members[member].read || !member_is_absent(value))
            values[member] = value;
    }
    for (size_t i = 0; i < MEMBERS; i++) {
        if (values[i].size && members[i].read)
            members[i].read(parse, members[i].name, values[i]);
        if (!values[i].size && is_required(parse, &members[i]))
            job_errors_add(parse->errors, members[i].name, "is required");
    }
    parse->job->body = values[find_member(SLICE("body"))];
    if (values[MEMBERS].size)
        report_unknown(parse, text, &name);
}

enum status job_parse_document(struct slice text, struct job_errors *errors)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    struct json_cursor top;
    char detail[sizeof errors->items[0].detail];
    enum status status = json_check(text, &limits, &fault);
    if (status == STATUS_INVALID) {
        snprintf(detail, sizeof detail, "%s, at byte %zu", fault.detail, fault.offset);
        job_errors_add(errors, "", detail);
    } else if (status == STATUS_OK && (!json_open(text, &top) || top.close != '}')) {
        job_errors_add(errors, "", "must be an object");
        status = STATUS_INVALID;
    }
    return status;
}

static enum status parse_text(struct parse *parse, struct slice text)
{
    struct job *job = parse->job;
    struct job_errors *errors = parse->errors;
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS};
    buffer_init_fallible(&job->text, text.size);
    enum status status = job_parse_document(text, errors);
    if (status == STATUS_OK)
        read_members(parse, text);
    if (job->text.failed)
        status = STATUS_NO_MEMORY;
    else if (status == STATUS_OK && errors->count > 0)
        status = STATUS_INVALID;
    if (status != STATUS_OK)
        job_fini(job);
    return status;
}

enum status job_parse(struct slice text, int64_t now_ms, struct job *job, struct job_errors *errors)
{
    struct parse parse = {.now_ms = now_ms, .job = job, .errors = errors};
    errors->count = 0;
    return parse_text(&parse, text);
}

static enum status parse_named(struct parse *parse, struct slice id, struct slice text)
{
    bool is_id = job_key_parse(id, &parse->topic, &parse->job_id);
    assert(is_id);
    return parse_text(parse, text);
}

enum status job_parse_named(struct slice id, struct slice text, int64_t now_ms, struct job *job,
                            struct job_errors *errors)
{
    struct parse parse = {.now_ms = now_ms, .job = job, .errors = errors};
    errors->count = 0;
    return parse_named(&parse, id, text);
}

enum status job_parse_changed(struct slice id, struct slice text, int64_t now_ms, struct job *job,
                              struct job_errors *errors)
{
    struct parse parse = {.now_ms = now_ms, .job = job, .errors = errors, .is_changed = true};
    return parse_named(&parse, id, text);
}
