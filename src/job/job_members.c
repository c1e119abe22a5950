#include "job/job_members.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/seal.h"
#include "base/time_zone.h"
#include "base/timestamp.h"
#include "job/job.h"
#include "job/job_id.h"
#include "job/request.h"
#include "job/retry.h"
#include "job/text/json.h"
#include "job/text/sealed.h"
#include "job/unknown_members.h"

/* ---- rules for a client's job that the kinds of members (members.h) do not cover ---- */

static void job_refuse(struct member_parse *parse, const struct member *member, const char *detail)
{
    job_errors_add(parse->errors, member->path, detail);
}

static void check_topic(struct member_parse *parse, const struct member *member)
{
    const struct job_rules *rules = parse->context;
    const struct job *job = parse->of;
    if (topic_is_sibling(job->topic))
        job_refuse(parse, member, "must not have ~: only the server schedules jobs in such topics");
    else if (!topic_is_valid(job->topic))
        job_refuse(parse, member, "must be 1 to 128 characters of A-Z a-z 0-9 . _ - and not . or ..");
    else if (rules->topic.size && !slice_equal(job->topic, rules->topic))
        job_refuse(parse, member, "must be the same as in the path");
}

static void check_job_id(struct member_parse *parse, const struct member *member)
{
    const struct job_rules *rules = parse->context;
    const struct job *job = parse->of;
    bool is_given = rules->job_id.size; /* job_parse_named has checked its dots */
    if (!job_id_is_valid(job->job_id) || (!is_given && job_id_has_dots(job->job_id)))
        job_refuse(parse, member,
                   "must be UTF-8 of 1 to 255 bytes without control characters, and no part between slashes "
                   "may be . or ..");
    else if (is_given && !slice_equal(job->job_id, rules->job_id))
        job_refuse(parse, member, "must be the same as in the path");
}

static void check_group(struct member_parse *parse, const struct member *member)
{
    const struct job *job = parse->of;
    if (!group_name_is_valid(job->group))
        job_refuse(parse, member, "must be 1 to 128 characters of A-Z a-z 0-9 . _ - and not . or ..");
    else if (job->url.size)
        job_refuse(parse, member, "cannot be combined with url");
}

static void check_timezone(struct member_parse *parse, const struct member *member)
{
    const struct job *job = parse->of;
    if (!time_zone_name_is_valid(job->timezone) || time_zone_name_is_of_host(job->timezone))
        job_refuse(parse, member, TIME_ZONE_NAME_EXPECTED);
}

static void check_due_at(struct member_parse *parse, const struct member *member)
{
    const struct job_rules *rules = parse->context;
    const struct job *job = parse->of;
    if (job->is_due_local && job->timezone.size == 0)
        job_refuse(parse, member, "needs timezone, because it has no offset from UTC");
    else if (!job->is_due_local && job->timezone.size)
        job_refuse(parse, member, "must have no offset from UTC, because there is a timezone");
    else if (job->due_at_ms > rules->now_ms + JOB_DELAY_MAX_MS)
        job_refuse(parse, member, "must be at most 10 years ahead");
}

/* Compares what can be compared without a clock. Otherwise the script compares, with Redis's clock. */
static void check_expiry(struct member_parse *parse, const struct member *member)
{
    const struct job_rules *rules = parse->context;
    const struct job *job = parse->of;
    bool is_over = job->has_ttl ? !job->has_due_at && job->ttl_ms <= job->delay_ms
                                : job->has_due_at && job->expires_at_ms <= job->due_at_ms;
    if (!rules->is_changed && !job->is_due_local && is_over)
        job_refuse(parse, member, JOB_EXPIRES_TOO_SOON);
}

static void check_schedule(struct member_parse *parse, const struct member *member)
{
    const struct job *job = parse->of;
    if (job->schedule.count == 0 && job->retry > 0)
        job_refuse(parse, member, "must have at least one wait, because retry is over 0");
}

static void check_retry_wait(struct member_parse *parse, const struct member *member)
{
    const struct job *job = parse->of;
    struct problem problem;
    /* Without "retry", the topic's schedule limits the retries, and may change. */
    if (retry_expression_check(job->retry_wait, job->has_retry ? job->retry : JOB_RETRY_MAX, &problem) !=
        STATUS_OK)
        job_refuse(parse, member, problem.text);
}

static void check_key(struct member_parse *parse, const struct member *member)
{
    const struct job *job = parse->of;
    if (!lane_key_is_valid(job->key))
        job_refuse(parse, member, LANE_KEY_EXPECTED);
}

/* Drops the default, so that a job with it is the same as a job without a priority. */
static void check_priority(struct member_parse *parse, const struct member *member)
{
    struct job *job = parse->of;
    (void)member;
    job->has_priority = job->priority != JOB_PRIORITY_DEFAULT;
}

static void check_throttle_key(struct member_parse *parse, const struct member *member)
{
    const struct job *job = parse->of;
    if (!lane_key_is_valid(job->throttle_key))
        job_refuse(parse, member, LANE_KEY_EXPECTED);
}

static void check_debounce_key(struct member_parse *parse, const struct member *member)
{
    const struct job *job = parse->of;
    if (!lane_key_is_valid(job->debounce_key))
        job_refuse(parse, member, LANE_KEY_EXPECTED);
}

static void check_debounce_max(struct member_parse *parse, const struct member *member)
{
    const struct job *job = parse->of;
    if (job->debounce_max_ms < job->debounce_wait_ms)
        job_refuse(parse, member, "must be at least debounce.wait");
}

static void check_throttle(struct member_parse *parse, const struct member *member)
{
    const struct job_rules *rules = parse->context;
    const struct job *job = parse->of;
    if (!rules->is_posted)
        job_refuse(parse, member, "is for POST /jobs only");
    else if (job->group.size)
        job_refuse(parse, member, "cannot be combined with group");
}

static void check_debounce(struct member_parse *parse, const struct member *member)
{
    const struct job_rules *rules = parse->context;
    const struct job *job = parse->of;
    if (!rules->is_posted)
        job_refuse(parse, member, "is for POST /jobs only");
    else if (job->job_id.size)
        job_refuse(parse, member, "cannot be combined with jobId: all jobs of the key become one job");
    else if (job->group.size || job->has_delay || job->has_due_at || job->throttle_key.size)
        job_refuse(parse, member, "cannot be combined with group, delay, dueAt or throttle");
}

static void check_idempotency_key(struct member_parse *parse, const struct member *member)
{
    const struct job_rules *rules = parse->context;
    const struct job *job = parse->of;
    struct slice key = job->idempotency_key;
    bool is_valid = key.size > 0 && key.size <= JOB_IDEMPOTENCY_KEY_MAX;
    for (size_t i = 0; is_valid && i < key.size; i++)
        is_valid = key.data[i] >= 0x20 && key.data[i] < 0x7f;
    if (!is_valid)
        job_refuse(parse, member, "must be 1 to 255 visible ASCII characters and spaces");
    else if (!rules->is_posted)
        job_refuse(parse, member, "is for POST /jobs only");
    else if (job->debounce_key.size)
        job_refuse(parse, member, "cannot be combined with debounce");
}

static void check_body(struct member_parse *parse, const struct member *member)
{
    const struct job *job = parse->of;
    char detail[64];
    snprintf(detail, sizeof detail, "cannot be sent with method %s", job_method_word(job->method));
    if (!job_method_allows_body(job->method))
        job_refuse(parse, member, detail);
}

/* ---- rules for a record ---- */

/* Returns whether the url is visible ASCII. This is the only check of the url in a record. */
static bool is_url_sound(const void *of)
{
    const struct job *job = of;
    return job->url.size <= JOB_URL_MAX && header_value_is_valid(job->url);
}

static bool is_retry_wait_sound(const void *of)
{
    const struct job *job = of;
    struct problem ignored;
    return retry_expression_check(job->retry_wait, 0, &ignored) == STATUS_OK;
}

static bool is_key_sound(const void *of)
{
    const struct job *job = of;
    return lane_key_is_valid(job->key);
}

static bool is_uncounted_sound(const void *of)
{
    const struct job *job = of;
    return job->uncounted <= job->attempts;
}

static bool is_form_sound(const void *of)
{
    const struct job *job = of;
    return job->form.size <= JOB_FORM_MAX;
}

static bool is_form_data_sound(const void *of)
{
    const struct job *job = of;
    return job->form_data.size <= JOB_FORM_DATA_MAX && job->form_data.data[0] == '{';
}

static bool is_workflow_sound(const void *of)
{
    const struct job *job = of;
    return job->workflow.size <= JOB_WORKFLOW_MAX;
}

static bool is_answer_headers_sound(const void *of)
{
    const struct job *job = of;
    return job->answer_headers.size <= JOB_ANSWER_HEADERS_MAX;
}

static bool is_trace_parent_sound(const void *of)
{
    const struct job *job = of;
    char ignored[TRACE_PARENT_BYTES];
    return job->trace_parent.size == TRACE_PARENT_BYTES && trace_parent_read(job->trace_parent, ignored);
}

static bool is_trace_state_sound(const void *of)
{
    const struct job *job = of;
    return job->trace_state.size <= TRACE_STATE_MAX && header_value_is_valid(job->trace_state);
}

/* ---- the table ----
 *
 * A new member whose row has MEMBER_EVERYWHERE needs no code elsewhere: clients can send and patch it, Redis
 * stores it, and clients see it as it is stored. api/view.c has code for each row with MEMBER_RESOLVED. */

#define NAMED(text)   MEMBER_NAMED("", text)
#define FIELD(member) MEMBER_FIELD(struct job, member)
#define HAS(member)   MEMBER_HAS(struct job, member)
#define RESOLVED      .flags = MEMBER_SENT | MEMBER_PATCHED | MEMBER_STORED | MEMBER_RESOLVED
#define STORED        .flags = MEMBER_STORED
#define SENT          .flags = MEMBER_SENT
#define KEPT          .flags = MEMBER_STORED | MEMBER_RESOLVED
#define SEALED        .flags = MEMBER_SENT | MEMBER_PATCHED | MEMBER_STORED | MEMBER_RESOLVED | MEMBER_SEALED

static const struct member throttle_rows[] = {
    {MEMBER_NAMED("throttle.", "key"), MEMBER_TEXT, .flags = MEMBER_SENT | MEMBER_REQUIRED,
     FIELD(throttle_key), HAS(throttle_key.size), .min = 1, .max = LANE_KEY_MAX, .check = check_throttle_key},
    {MEMBER_NAMED("throttle.", "per"), MEMBER_SECONDS, .flags = MEMBER_SENT | MEMBER_REQUIRED,
     FIELD(throttle_per_ms), HAS(throttle_per_ms), .min = 1, .max = JOB_DELAY_MAX_MS},
};

static const struct members throttle_members = {MEMBER_ROWS(throttle_rows), .noun = "field",
                                                .prefix = "throttle."};

static const struct member debounce_rows[] = {
    {MEMBER_NAMED("debounce.", "key"), MEMBER_TEXT, .flags = MEMBER_SENT | MEMBER_REQUIRED,
     FIELD(debounce_key), HAS(debounce_key.size), .min = 1, .max = LANE_KEY_MAX, .check = check_debounce_key},
    {MEMBER_NAMED("debounce.", "wait"), MEMBER_SECONDS, .flags = MEMBER_SENT | MEMBER_REQUIRED,
     FIELD(debounce_wait_ms), HAS(debounce_wait_ms), .min = 1, .max = JOB_DELAY_MAX_MS},
    {MEMBER_NAMED("debounce.", "maxWait"), MEMBER_SECONDS, SENT, FIELD(debounce_max_ms), HAS(debounce_max_ms),
     .min = 1, .max = JOB_DELAY_MAX_MS, .check = check_debounce_max},
};

static const struct members debounce_members = {MEMBER_ROWS(debounce_rows), .noun = "field",
                                                .prefix = "debounce."};

static const struct member rows[] = {
    [JOB_CREATED_AT] = {NAMED("createdAt"), MEMBER_INTEGER, KEPT, FIELD(created_ms), HAS(created_ms),
                        .max = TIMESTAMP_MAX_MS},
    [JOB_TOPIC] = {NAMED("topic"), MEMBER_TEXT, .flags = MEMBER_SENT | MEMBER_RESOLVED | MEMBER_REQUIRED,
                   FIELD(topic), HAS(topic.size), .min = 1, .max = JOB_TOPIC_MAX, .check = check_topic},
    [JOB_JOB_ID] = {NAMED("jobId"), MEMBER_TEXT, .flags = MEMBER_SENT | MEMBER_RESOLVED, FIELD(job_id),
                    HAS(job_id.size), .min = 1, .max = JOB_ID_MAX, .check = check_job_id},
    [JOB_URL] = {NAMED("url"), MEMBER_URL, RESOLVED, FIELD(url), .max = JOB_URL_MAX,
                 .is_sound = is_url_sound},
    [JOB_GROUP] = {NAMED("group"), MEMBER_TEXT, .flags = MEMBER_SENT | MEMBER_SCHEDULED, FIELD(group),
                   HAS(group.size), .min = 1, .max = JOB_TOPIC_MAX, .check = check_group},
    [JOB_METHOD] = {NAMED("method"), MEMBER_METHOD, .flags = MEMBER_EVERYWHERE, FIELD(method), HAS(method)},
    [JOB_DELAY] = {NAMED("delay"), MEMBER_SECONDS, RESOLVED, FIELD(delay_ms), HAS(has_delay),
                   .max = JOB_DELAY_MAX_MS},
    [JOB_TIMEZONE] = {NAMED("timezone"), MEMBER_TEXT, .flags = MEMBER_SENT | MEMBER_PATCHED, FIELD(timezone),
                      HAS(timezone.size), .min = 1, .max = TIME_ZONE_NAME_MAX, .check = check_timezone},
    [JOB_DUE_AT] = {NAMED("dueAt"), MEMBER_TIME, RESOLVED, FIELD(due_at_ms), HAS(has_due_at),
                    .count = offsetof(struct job, is_due_local), .rival = JOB_DELAY, .check = check_due_at},
    [JOB_TTL] = {NAMED("ttl"), MEMBER_SECONDS, .flags = MEMBER_SENT | MEMBER_PATCHED | MEMBER_STORED,
                 FIELD(ttl_ms), HAS(has_ttl), .min = 1, .max = JOB_TTL_MAX_MS, .check = check_expiry},
    [JOB_EXPIRES_AT] = {NAMED("expiresAt"), MEMBER_TIME, RESOLVED, FIELD(expires_at_ms), HAS(has_expires_at),
                        .rival = JOB_TTL, .check = check_expiry},
    [JOB_RETRY] = {NAMED("retry"), MEMBER_INTEGER, RESOLVED, FIELD(retry), HAS(has_retry),
                   .max = JOB_RETRY_MAX},
    [JOB_RETRY_SCHEDULE] = {NAMED("retrySchedule"), MEMBER_WAITS, RESOLVED, FIELD(schedule),
                            HAS(has_schedule), .max = JOB_WAIT_MAX_MS, .check = check_schedule},
    [JOB_RETRY_WAIT] = {NAMED("retryWait"), MEMBER_TEXT, .flags = MEMBER_EVERYWHERE, FIELD(retry_wait),
                        HAS(retry_wait.size), .min = 1, .max = RETRY_EXPRESSION_MAX,
                        .rival = JOB_RETRY_SCHEDULE, .check = check_retry_wait,
                        .is_sound = is_retry_wait_sound},
    [JOB_TIMEOUT] = {NAMED("timeout"), MEMBER_SECONDS, RESOLVED, FIELD(timeout_ms), HAS(has_timeout),
                     .min = JOB_TIMEOUT_MIN_MS, .max = JOB_TIMEOUT_MAX_MS, .fallback = JOB_TIMEOUT_MS},
    [JOB_HEADERS] = {NAMED("headers"), MEMBER_HEADERS, SEALED, FIELD(headers), HAS(has_headers),
                     .count = offsetof(struct job, header_count), .max = JOB_HEADERS_MAX},
    [JOB_KEY] = {NAMED("key"), MEMBER_TEXT,
                 .flags = MEMBER_SENT | MEMBER_STORED | MEMBER_SHOWN | MEMBER_SCHEDULED, FIELD(key),
                 HAS(key.size), .min = 1, .max = LANE_KEY_MAX, .check = check_key, .is_sound = is_key_sound,
                 .kept = "cannot be changed by PATCH; PUT replaces the job, with another key"},
    [JOB_PRIORITY] = {NAMED("priority"), MEMBER_INTEGER, RESOLVED, FIELD(priority), HAS(has_priority),
                      .max = JOB_PRIORITY_MAX, .check = check_priority},
    [JOB_THROTTLE] = {NAMED("throttle"), MEMBER_OBJECT, SENT, HAS(throttle_key.size),
                      .object = &throttle_members, .check = check_throttle},
    [JOB_DEBOUNCE] = {NAMED("debounce"), MEMBER_OBJECT, SENT, HAS(debounce_key.size),
                      .object = &debounce_members, .check = check_debounce},
    [JOB_IDEMPOTENCY_KEY] = {NAMED("idempotencyKey"), MEMBER_TEXT, SENT, FIELD(idempotency_key),
                             HAS(idempotency_key.size), .min = 1, .max = JOB_IDEMPOTENCY_KEY_MAX,
                             .check = check_idempotency_key},
    [JOB_LABELS] = {NAMED("labels"), MEMBER_LABELS, .flags = MEMBER_EVERYWHERE | MEMBER_SEALED, FIELD(labels),
                    HAS(labels.count), .max = JOB_LABELS_MAX},
    [JOB_ON_DELIVERED] = {NAMED("onDelivered"), MEMBER_CALLBACK, .flags = MEMBER_EVERYWHERE | MEMBER_SEALED,
                          FIELD(on_delivered), HAS(on_delivered.size)},
    [JOB_ON_DEAD] = {NAMED("onDead"), MEMBER_CALLBACK, .flags = MEMBER_EVERYWHERE | MEMBER_SEALED,
                     FIELD(on_dead), HAS(on_dead.size)},
    [JOB_ON_ATTEMPT] = {NAMED("onAttempt"), MEMBER_CALLBACK, .flags = MEMBER_EVERYWHERE | MEMBER_SEALED,
                        FIELD(on_attempt), HAS(on_attempt.size)},
    [JOB_FORM] = {NAMED("form"), MEMBER_TEXT, .flags = MEMBER_STORED | MEMBER_SHOWN, FIELD(form),
                  HAS(form.size), .is_sound = is_form_sound},
    [JOB_FORM_DATA] = {NAMED("formData"), MEMBER_JSON, .flags = MEMBER_STORED | MEMBER_SEALED,
                       FIELD(form_data), HAS(form_data.size), .is_sound = is_form_data_sound},
    [JOB_WORKFLOW] = {NAMED("workflow"), MEMBER_TEXT, .flags = MEMBER_STORED | MEMBER_SHOWN, FIELD(workflow),
                      HAS(workflow.size), .is_sound = is_workflow_sound},
    [JOB_ATTEMPTS] = {NAMED("attempts"), MEMBER_INTEGER, KEPT, FIELD(attempts), HAS(attempts),
                      .max = JOB_ATTEMPTS_MAX},
    [JOB_UNCOUNTED] = {NAMED("uncounted"), MEMBER_INTEGER, STORED, FIELD(uncounted), HAS(uncounted),
                       .max = INT32_MAX, .is_sound = is_uncounted_sound},
    [JOB_ROUNDS] = {NAMED("rounds"), MEMBER_INTEGER, .flags = MEMBER_STORED | MEMBER_SHOWN, FIELD(rounds),
                    HAS(rounds), .max = JOB_ROUNDS_MAX},
    [JOB_LAST_ATTEMPT] = {NAMED("lastAttempt"), MEMBER_ATTEMPT, KEPT, FIELD(last_attempt),
                          HAS(last_attempt.at_ms)},
    [JOB_WAIT] = {NAMED("waitMs"), MEMBER_INTEGER, STORED, FIELD(wait_ms), HAS(wait_ms),
                  .max = TIMESTAMP_MAX_MS},
    [JOB_ALONE] = {NAMED("alone"), MEMBER_BOOL, STORED, FIELD(is_alone), HAS(is_alone)},
    [JOB_REASON] = {NAMED("reason"), MEMBER_TEXT, KEPT, FIELD(reason), HAS(reason.size)},
    [JOB_ANSWER_HEADERS] = {NAMED("answerHeaders"), MEMBER_TEXT, .flags = MEMBER_STORED | MEMBER_SEALED,
                            FIELD(answer_headers), HAS(answer_headers.size),
                            .is_sound = is_answer_headers_sound},
    [JOB_PROGRESS] = {NAMED("progress"), MEMBER_JSON, .flags = MEMBER_STORED | MEMBER_SHOWN | MEMBER_SEALED,
                      FIELD(progress), HAS(progress.size)},
    [JOB_RESULT] = {NAMED("result"), MEMBER_JSON, .flags = MEMBER_STORED | MEMBER_SHOWN | MEMBER_SEALED,
                    FIELD(result), HAS(result.size)},
    [JOB_TRACE_PARENT] = {NAMED("traceparent"), MEMBER_TEXT, STORED, FIELD(trace_parent),
                          HAS(trace_parent.size), .is_sound = is_trace_parent_sound},
    [JOB_TRACE_STATE] = {NAMED("tracestate"), MEMBER_TEXT, STORED, FIELD(trace_state), HAS(trace_state.size),
                         .is_sound = is_trace_state_sound},
#ifdef DUEPOST_TEST_NEXT
    [JOB_NEXT] = {NAMED("next"), MEMBER_TEXT, .flags = MEMBER_SENT | MEMBER_PATCHED | MEMBER_STORED,
                  FIELD(next), HAS(next.size)},
#endif
    [JOB_BODY_BASE64] = {NAMED("bodyBase64"), MEMBER_BASE64, SEALED, FIELD(body_base64), HAS(has_body_base64),
                         .check = check_body},
    [JOB_BODY] = {NAMED("body"), MEMBER_JSON, SEALED, FIELD(body), HAS(body.size), .rival = JOB_BODY_BASE64,
                  .check = check_body},
};

MEMBER_ROWS_FIT(rows);

const struct members job_members = {MEMBER_ROWS(rows), .noun = "field", .prefix = ""};

/* Writes a job into its record, and reads a job from a record.
 *
 * A record is text that some version of duepost wrote. Other texts usually do not have the form of a record
 * and are refused. The rules for clients are not checked again. */

/* Writes the names of the features that earlier versions must not ignore. If this version does not know one
 * of the names that the job already has, writes nothing: then the member "needs" is carried unchanged. */
static void put_needs(const struct job *job, bool is_sealed, struct json_writer *json)
{
    struct needs_writer needs = {json, false};
    if (job->lacks.size)
        return;
    if (job->method != JOB_METHOD_POST)
        needs_add(&needs, "method");
    if (job->has_body_base64)
        needs_add(&needs, "bodyBase64");
    if (job->rounds > 0)
        needs_add(&needs, "rounds");
    if (job->on_delivered.size || job->on_dead.size || job->on_attempt.size)
        needs_add(&needs, "callbacks");
    if (job->form.size)
        needs_add(&needs, "form");
    if (job->workflow.size)
        needs_add(&needs, "workflow");
#ifdef DUEPOST_TEST_NEXT
    if (slice_starts_with(job->next, SLICE("needed")))
        needs_add(&needs, "next");
#endif
    if (is_sealed)
        needs_add(&needs, "sealed");
    needs_end(&needs);
}

/* ---- the head ---- */

enum {
    HEAD_KEY_MAX = 2 * LANE_KEY_MAX + 2, /* a key as a JSON string, in which \" and \\ are its only escapes */
    HEAD_MAX = 96 + HEAD_KEY_MAX,
};
#define HEAD_OPENING "\"head\":\"1 "

/* Writes the head, a text for scripts (store/scripts/lib/records.lua), in front of the members, which begin
 * at the position at. The head is written last, because it has the size of the members. A script completes
 * the head of a new job: it replaces "+<ttl>" by the time at which the job expires.
 *
 * Priority and key are in the head only of jobs that have one of them: the first flag is then k. */
static void insert_head(const struct job *job, size_t at, bool is_sealed, struct buffer *out)
{
    char head[HEAD_MAX], flags[8], key_text[HEAD_KEY_MAX + 1];
    struct buffer key = buffer_of(key_text, sizeof key_text);
    bool is_new = job->created_ms == 0;
    bool is_relative = is_new && job->has_ttl && !job->has_expires_at;
    int64_t expires_ms = is_relative ? job->ttl_ms : job_expires_ms(job, job->created_ms);
    bool is_in_lane = job->key.size || job_priority(job) != JOB_PRIORITY_DEFAULT;
    buffer_append_json(&key, job->key);
    assert(!key.failed);
    snprintf(flags, sizeof flags, "%s%s%s%s%s", is_in_lane ? "k" : "", job->url.size ? "" : "u",
             job->on_delivered.size || job->on_attempt.size ? "c" : "",
             job->labels.count && !(is_sealed && seal_has_labels()) ? "l" : "",
             job->last_attempt.at_ms ? "a" : "");
    if (out->failed)
        return;
    size_t members_size = out->size - at;
    /* The size of the members counts from the key, and includes the end of the head. */
    int size =
        snprintf(head, sizeof head, "%s" HEAD_OPENING "%s%lld 0 %d %s %zu %.*s%s", is_new ? "" : ",",
                 is_relative ? "+" : "", (long long)(expires_ms == JOB_NEVER_MS ? 0 : expires_ms),
                 is_in_lane ? job_priority(job) : 0, flags[0] ? flags : "-",
                 key.size - 1 + members_size + is_new, (int)key.size - 1, key.data + 1, is_new ? "," : "");
    assert(size > 0 && size < HEAD_MAX);
    if (!buffer_extend(out, (size_t)size))
        return;
    memmove(out->data + at + size, out->data + at, members_size);
    memcpy(out->data + at, head, (size_t)size);
}

struct slice job_record_complete(struct buffer *written, int64_t created_ms)
{
    char opening[JOB_OPENING_MAX + 1];
    struct slice rest = slice_skip(buffer_slice(written), JOB_OPENING_MAX), word;
    uint64_t ttl_ms;
    int size = snprintf(opening, sizeof opening, "{\"createdAt\":%lld,", (long long)created_ms);
    if (slice_starts_with(rest, SLICE(HEAD_OPENING "+"))) {
        struct slice ttl = slice_skip(rest, sizeof HEAD_OPENING);
        bool is_head = slice_cut(ttl, ' ', &word, &rest) && slice_to_number(word, JOB_TTL_MAX_MS, &ttl_ms);
        assert(is_head);
        rest = slice_from(rest.data - 1, rest.size + 1);
        size += snprintf(opening + size, sizeof opening - (size_t)size, HEAD_OPENING "%lld",
                         (long long)created_ms + (long long)ttl_ms);
    }
    assert(size > 0 && size <= JOB_OPENING_MAX);
    size_t first = written->size - rest.size - (size_t)size;
    memcpy(written->data + first, opening, (size_t)size);
    return slice_skip(buffer_slice(written), first);
}

/* ---- sealed members ---- */

static bool is_member_sealed(size_t row)
{
    return job_members.rows[row].flags & MEMBER_SEALED && (row != JOB_LABELS || seal_has_labels());
}

enum { OWNER_MAX = JOB_KEY_MAX + 16 };

/* Writes the owner of a job's secrets: topic/jobId. A job with a debounce may get the id of the job that it
 * replaces, which only the script knows; its record then names the id in the member "of". */
static struct slice write_owner(struct slice topic, struct slice job_id, bool is_debounced,
                                char text[OWNER_MAX])
{
    struct buffer owner = buffer_of(text, OWNER_MAX);
    buffer_append(&owner, is_debounced ? SLICE("debounce ") : SLICE(""));
    buffer_append(&owner, topic);
    buffer_append_byte(&owner, '/');
    buffer_append(&owner, job_id);
    assert(!owner.failed && topic.size && job_id.size);
    return buffer_slice(&owner);
}

/* Writes the members that are to be sealed as an object, or nothing if the job has none. The url is among
 * them if it has a query. */
static void write_secrets(const struct job *job, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    if (job->url.size && memchr(job->url.data, '?', job->url.size))
        members_put(&job_members.rows[JOB_URL], job, MEMBERS_FOR_REDIS, &json);
    for (size_t i = 0; i < job_members.count; i++)
        if (is_member_sealed(i))
            members_put(&job_members.rows[i], job, MEMBERS_FOR_REDIS, &json);
    json_end_object(&json);
    if (out->size == sizeof "{}" - 1)
        buffer_clear(out);
}

/* Writes the members that are not sealed, from topic up to the body. */
static void write_open_members(const struct job *job, struct json_writer *json)
{
    struct slice base;
    slice_cut(job->url, '?', &base, &(struct slice){NULL, 0});
    for (size_t i = JOB_TOPIC; i < JOB_BODY_BASE64; i++) {
        if (i == JOB_URL)
            json_add_text(json, "url", base);
        else if (!is_member_sealed(i) && job_members.rows[i].flags & MEMBER_STORED)
            members_put(&job_members.rows[i], job, MEMBERS_FOR_REDIS, json);
    }
}

/* Opens the sealed text, and reads its members. A job whose key the process lacks is one that this process
 * does not run: job->lacks names the key. */
static bool read_secrets(struct record_reading *reading, struct slice owner, struct slice sealed,
                         struct job *job)
{
    buffer_init(&job->opened, sealed.size);
    switch (seal_open(sealed, owner, &job->opened)) {
    case SEAL_DAMAGED:
        return false;
    case SEAL_NO_KEY:
        if (!job->text.data)
            buffer_reserve(&job->text, job->text.max);
        size_t at = job->text.size;
        sealed_lacks(sealed, &job->text);
        job->lacks = slice_skip(buffer_slice(&job->text), at);
        return !job->text.failed;
    case SEAL_OPENED:
        break;
    }
    reading->next = 0;
    reading->is_read &= ~(UINT64_C(1) << JOB_URL);
    return members_read(reading, buffer_slice(&job->opened));
}

/* Writes the owner of a value that a script adds to the record of a job. */
static struct slice write_value_owner(struct slice id, enum job_member member, char text[OWNER_MAX])
{
    struct buffer owner = buffer_of(text, OWNER_MAX);
    buffer_append(&owner, id);
    buffer_append_byte(&owner, ' ');
    buffer_append(&owner, job_members.rows[member].name);
    assert(!owner.failed);
    return buffer_slice(&owner);
}

/* A job with a value whose key the process lacks is not run or rewritten, because the value would be lost. */
static void open_value(struct slice id, enum job_member member, struct slice *value, struct job *job)
{
    char owner[OWNER_MAX];
    if (!sealed_value_is(*value))
        return;
    if (!job->text.data)
        buffer_reserve(&job->text, job->text.max);
    size_t at = job->text.size;
    if (job->lacks.size == 0 && sealed_value_lacks(*value, &job->text))
        job->lacks = slice_skip(buffer_slice(&job->text), at);
    *value = sealed_value_open(write_value_owner(id, member, owner), *value, &job->text);
}

void job_value_write(struct slice id, enum job_member member, struct slice value, struct buffer *out)
{
    char owner[OWNER_MAX];
    sealed_value_append(out, write_value_owner(id, member, owner), value);
}

struct slice job_value_open(struct slice id, enum job_member member, struct slice value,
                            struct sealed_values *values)
{
    char owner[OWNER_MAX];
    return sealed_values_open(values, write_value_owner(id, member, owner), value);
}

bool job_members_read(struct slice owner, struct slice record, const struct json_limits *limits,
                      struct job *job, bool *has_broken_json)
{
    struct slice sealed = {NULL, 0}, of = {NULL, 0};
    char room[OWNER_MAX];
    struct record_reading reading = {.table = &job_members,
                                     .of = job,
                                     .text = &job->text,
                                     .unknown = &job->unknown,
                                     .lacks = &job->lacks,
                                     .sealed = &sealed,
                                     .sealed_of = &of,
                                     .checked = limits};
    buffer_init(&job->text, record.size + sizeof JOB_LACKS_KEY + SEAL_NAME_SIZE);
    bool is_read = members_read(&reading, record);
    if (is_read && sealed.data && job->lacks.size == 0)
        is_read =
            read_secrets(&reading, of.size ? write_owner(job->topic, of, true, room) : owner, sealed, job);
    if (is_read && job->progress.size)
        open_value(owner, JOB_PROGRESS, &job->progress, job);
    if (is_read && job->result.size)
        open_value(owner, JOB_RESULT, &job->result, job);
    *has_broken_json = reading.has_broken_json;
    return is_read;
}

/* ---- records ---- */

static void write_record(const struct job *job, bool has_head, struct slice owner, struct buffer *out)
{
    const struct members before_body = {.rows = job_members.rows + JOB_TOPIC,
                                        .count = JOB_BODY_BASE64 - JOB_TOPIC};
    struct json_writer json = json_writer_to(out);
    struct buffer secrets;
    bool is_sealing = owner.size && seal_is_on();
    buffer_init(&secrets, (size_t)2 * JOB_RECORD_MAX);
    if (is_sealing)
        write_secrets(job, &secrets);
    if (job->created_ms) {
        json_put_object(&json);
        members_put(&job_members.rows[JOB_CREATED_AT], job, MEMBERS_FOR_REDIS, &json);
    }
    size_t at = out->size;
    if (is_sealing)
        write_open_members(job, &json);
    else
        members_write(&before_body, job, MEMBERS_FOR_REDIS, &json);
    if (secrets.size && job->debounce_key.size)
        json_add_text(&json, "of", job->job_id);
    put_needs(job, secrets.size > 0, &json);
    unknown_members_write(&job->unknown, &json); /* unknown members come before the body */
    if (has_head)
        insert_head(job, at, is_sealing, out);
    if (secrets.size) {
        sealed_put(&json, owner, buffer_slice(&secrets));
    } else if (!is_sealing) {
        members_put(&job_members.rows[JOB_BODY_BASE64], job, MEMBERS_FOR_REDIS, &json);
        members_put(&job_members.rows[JOB_BODY], job, MEMBERS_FOR_REDIS, &json);
    }
    json_end_object(&json);
    buffer_fini(&secrets);
}

void job_write(const struct job *job, struct buffer *out)
{
    char room[OWNER_MAX];
    struct slice owner = SLICE("");
    if (seal_is_on())
        owner = write_owner(job->topic, job->job_id, job->debounce_key.size, room);
    write_record(job, true, owner, out);
}

void job_write_definition(const struct job *job, struct slice owner, struct buffer *out)
{
    write_record(job, false, owner, out);
}

void job_write_plain(const struct job *job, struct buffer *out)
{
    write_record(job, false, SLICE(""), out);
}

/* Reads a record. If limits are given, a record whose body is not JSON within these limits is INVALID. */
static enum status read_record(struct slice id, struct slice record, const struct json_limits *limits,
                               struct job *job)
{
    bool has_broken_json;
    job_init(job);
    bool is_id = job_key_parse(id, &job->topic, &job->job_id);
    bool is_read = job_members_read(id, record, limits, job, &has_broken_json);
    if (is_id && is_read && job->created_ms &&
        job->url.data) /* each record has the member url, even if it is empty */
        return STATUS_OK;
    job_fini(job);
    /* A later version may give the members values that this version cannot read. Then only the id and the
     * unknown name in "needs" are read. */
    job_init(job);
    job_key_parse(id, &job->topic, &job->job_id);
    return !has_broken_json && needs_find(record, &job->lacks) ? STATUS_OK : STATUS_INVALID;
}

enum status job_read(struct slice id, struct slice record, struct job *job)
{
    return read_record(id, record, NULL, job);
}

enum status job_read_checked(struct slice id, struct slice record, struct job *job)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, JOB_MEMBERS_MAX};
    return read_record(id, record, &limits, job);
}

bool job_is_same(const struct job *a, const struct job *b)
{
    return a->lacks.size == 0 && b->lacks.size == 0 && members_are_same(&job_members, a, b);
}
