/* job_read.c - a record into a job. It runs once a delivery, on text that duepost wrote, this version or
 * another one, so it goes through the members once, with the scanner's cursor, and builds no tree. Text that
 * somebody else wrote is found out by its shape, and what it would do as a job by the rules for clients. */
#include "base/duration.h"
#include "base/timestamp.h"
#include "job/header.h"
#include "job/job.h"
#include "job/job_id.h"
#include "job/json.h"
#include "job/needs.h"
#include "job/trace.h"

static bool read_number(struct slice value, int64_t max, int64_t *number)
{
    uint64_t got;
    if (!slice_to_number(value, (uint64_t)max, &got))
        return false;
    *number = (int64_t)got;
    return true;
}

static bool read_int(struct slice value, int max, int *number)
{
    int64_t got;
    if (!read_number(value, max, &got))
        return false;
    *number = (int)got;
    return true;
}

/* Strings with escapes, rare in records, are put into job->text, which has room for all that
 * a job may hold and therefore never moves. */
static bool read_text(struct job *job, struct slice value, struct slice *text)
{
    if (!json_is_text(value))
        return false;
    if (json_has_escapes(value) && !job->text.data)
        buffer_reserve(&job->text, job->text.max);
    *text = json_text(value, &job->text);
    return !job->text.failed;
}

static bool read_url(struct job *job, struct slice value)
{
    return read_text(job, value, &job->url) && job->url.size <= JOB_URL_MAX &&
           header_value_is_valid(job->url); /* visible ASCII, as far as that goes */
}

static bool read_body(struct job *job, struct slice value)
{
    job->body = value;
    return true;
}

static bool read_delay(struct job *job, struct slice value)
{
    job->has_delay = true;
    return seconds_parse(value, JOB_DELAY_MAX_MS, &job->delay_ms);
}

static bool read_time(struct job *job, struct slice value, int64_t *ms)
{
    struct slice text;
    return read_text(job, value, &text) && timestamp_parse(text, ms);
}

static bool read_due_at(struct job *job, struct slice value)
{
    job->has_due_at = true;
    return read_time(job, value, &job->due_at_ms);
}

static bool read_ttl(struct job *job, struct slice value)
{
    job->has_ttl = true;
    return seconds_parse(value, JOB_TTL_MAX_MS, &job->ttl_ms);
}

static bool read_expires_at(struct job *job, struct slice value)
{
    job->has_expires_at = true;
    return read_time(job, value, &job->expires_at_ms);
}

static bool read_retry(struct job *job, struct slice value)
{
    job->has_retry = true;
    return read_int(value, JOB_RETRY_MAX, &job->retry);
}

static bool read_schedule(struct job *job, struct slice value)
{
    struct json_cursor cursor;
    struct slice item;
    job->has_schedule = true;
    job->schedule.count = 0;
    if (!json_open(value, &cursor) || cursor.close != ']')
        return false;
    while (json_next_item(&cursor, &item)) {
        if (job->schedule.count == RETRY_SCHEDULE_MAX ||
            !seconds_parse(item, JOB_WAIT_MAX_MS, &job->schedule.wait_ms[job->schedule.count]))
            return false;
        job->schedule.count++;
    }
    return cursor.is_ended;
}

static bool read_timeout(struct job *job, struct slice value)
{
    job->has_timeout = true;
    return seconds_parse(value, JOB_TIMEOUT_MAX_MS, &job->timeout_ms);
}

static bool read_headers(struct job *job, struct slice value)
{
    struct json_cursor cursor;
    struct slice name, text;
    size_t bytes = 0;
    job->has_headers = true;
    job->header_count = 0;
    if (!json_open(value, &cursor) || cursor.close != '}')
        return false;
    while (json_next_member(&cursor, &name, &text)) {
        struct job_header *header = &job->headers[job->header_count];
        if (job->header_count == JOB_HEADERS_MAX || !read_text(job, name, &header->name) ||
            !read_text(job, text, &header->value) || !header_name_is_valid(header->name) ||
            header_is_refused(header->name) || !header_value_is_valid(header->value))
            return false;
        bytes += header->name.size + header->value.size;
        job->header_count++;
    }
    return cursor.is_ended && bytes <= JOB_HEADER_BYTES_MAX;
}

static bool read_created(struct job *job, struct slice value)
{
    return read_number(value, TIMESTAMP_MAX_MS, &job->created_ms);
}

static bool read_attempts(struct job *job, struct slice value)
{
    return read_int(value, JOB_ATTEMPTS_MAX, &job->attempts);
}

static bool read_uncounted(struct job *job, struct slice value)
{
    return read_int(value, INT32_MAX, &job->uncounted) && job->uncounted <= job->attempts;
}

static bool read_attempt_member(struct job *job, struct slice name, struct slice value)
{
    struct attempt_result *result = &job->last_attempt;
    struct slice word;
    if (slice_equal(name, SLICE("\"at\"")))
        return read_number(value, TIMESTAMP_MAX_MS, &result->at_ms);
    if (slice_equal(name, SLICE("\"durationMs\"")))
        return read_number(value, TIMESTAMP_MAX_MS, &result->duration_ms);
    if (slice_equal(name, SLICE("\"status\"")))
        return read_int(value, 999, &result->status);
    if (slice_equal(name, SLICE("\"error\"")))
        return read_text(job, value, &word) && attempt_error_parse(word, &result->error);
    if (slice_equal(name, SLICE("\"errorDetail\"")))
        result->detail = attempt_detail(value);
    return true; /* or of a later version */
}

static bool read_last_attempt(struct job *job, struct slice value)
{
    struct json_cursor cursor;
    struct slice name, member;
    job->last_attempt = (struct attempt_result){.text = value};
    if (!json_open(value, &cursor) || cursor.close != '}')
        return false;
    while (json_next_member(&cursor, &name, &member))
        if (!read_attempt_member(job, name, member))
            return false;
    return cursor.is_ended;
}

static bool read_wait(struct job *job, struct slice value)
{
    return read_number(value, TIMESTAMP_MAX_MS, &job->wait_ms);
}

static bool read_reason(struct job *job, struct slice value)
{
    return read_text(job, value, &job->reason);
}

static bool read_trace_parent(struct job *job, struct slice value)
{
    char ignored[TRACE_PARENT_BYTES];
    return read_text(job, value, &job->trace_parent) && job->trace_parent.size == TRACE_PARENT_BYTES &&
           trace_parent_read(job->trace_parent, ignored);
}

static bool read_trace_state(struct job *job, struct slice value)
{
    return read_text(job, value, &job->trace_state) && job->trace_state.size <= TRACE_STATE_MAX &&
           header_value_is_valid(job->trace_state);
}

/* A version that knows all of the names writes it anew. */
static bool read_needs(struct job *job, struct slice name, struct slice value)
{
    return needs_read(value, &job->lacks) &&
           (job->lacks.size == 0 || carried_add(&job->carried, name, value));
}

#ifdef DUEPOST_TEST_NEXT
static bool read_next(struct job *job, struct slice value)
{
    return read_text(job, value, &job->next);
}
#endif

/* In the order of the record. */
static const struct member {
    struct slice name;
    bool (*read)(struct job *, struct slice value);
} members[] = {
    {{"\"createdAt\"", 11}, read_created},
    {{"\"url\"", 5}, read_url},
    {{"\"delay\"", 7}, read_delay},
    {{"\"dueAt\"", 7}, read_due_at},
    {{"\"ttl\"", 5}, read_ttl},
    {{"\"expiresAt\"", 11}, read_expires_at},
    {{"\"retry\"", 7}, read_retry},
    {{"\"retrySchedule\"", 15}, read_schedule},
    {{"\"timeout\"", 9}, read_timeout},
    {{"\"headers\"", 9}, read_headers},
    {{"\"attempts\"", 10}, read_attempts},
    {{"\"uncounted\"", 11}, read_uncounted},
    {{"\"lastAttempt\"", 13}, read_last_attempt},
    {{"\"waitMs\"", 8}, read_wait},
    {{"\"reason\"", 8}, read_reason},
    {{"\"traceparent\"", 13}, read_trace_parent},
    {{"\"tracestate\"", 12}, read_trace_state},
#ifdef DUEPOST_TEST_NEXT
    {{"\"next\"", 6}, read_next},
#endif

    {{"\"body\"", 6}, read_body},
};

enum { MEMBERS = sizeof members / sizeof *members };

/* The member's place in the table, or MEMBERS. Records are in the table's order, so that next is mostly
 * right. */
static size_t find_member(size_t next, struct slice name)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        size_t at = next + i < MEMBERS ? next + i : next + i - MEMBERS;
        if (slice_equal(members[at].name, name))
            return at;
    }
    return MEMBERS;
}

struct reading {
    struct job *job;
    size_t next;      /* behind the member that was read last */
    uint32_t is_read; /* bits */
    bool has_needs;
};

/* Each that is known at most once. */
static bool read_member(struct reading *reading, struct slice name, struct slice value)
{
    size_t at = find_member(reading->next, name);
    if (at == MEMBERS && slice_equal(name, SLICE("\"needs\""))) {
        bool is_first = !reading->has_needs;
        reading->has_needs = true;
        return is_first && read_needs(reading->job, name, value);
    }
    if (at == MEMBERS)
        return carried_add(&reading->job->carried, name, value);
    bool is_first = !(reading->is_read & UINT32_C(1) << at);
    reading->is_read |= UINT32_C(1) << at;
    reading->next = at + 1;
    return is_first && members[at].read(reading->job, value);
}

/* Whether it needs what this version does not know. */
static bool find_lack(struct slice record, struct slice *lacks)
{
    struct json_cursor cursor;
    struct slice name, value;
    bool is_object = json_open(record, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &name, &value))
        if (slice_equal(name, SLICE("\"needs\"")) && !needs_read(value, lacks))
            return false;
    return is_object && cursor.is_ended && lacks->size > 0;
}

/* A later version may give members that are known here other values, too: then only that is told. */
static enum status read_lacking(struct slice id, struct slice record, struct job *job)
{
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS};
    job_key_parse(id, &job->topic, &job->job_id);
    return find_lack(record, &job->lacks) ? STATUS_OK : STATUS_INVALID;
}

enum status job_read(struct slice id, struct slice record, struct job *job)
{
    struct json_cursor cursor;
    struct slice name, value;
    struct reading reading = {.job = job};
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS};
    buffer_init(&job->text, JOB_URL_MAX + JOB_HEADER_BYTES_MAX + TRACE_STATE_MAX);
    bool is_id = job_key_parse(id, &job->topic, &job->job_id);
    bool is_ours = json_open(record, &cursor) && cursor.close == '}';
    while (is_ours && json_next_member(&cursor, &name, &value))
        is_ours = read_member(&reading, name, value);
    is_ours = is_ours && cursor.is_ended && cursor.at + 1 == cursor.end && job->created_ms && job->url.data &&
              is_id; /* a url is there, though it may be empty */
    if (is_ours)
        return STATUS_OK;
    job_fini(job);
    return read_lacking(id, record, job);
}
