#include "job/job_members.h"

#include <stdio.h>

#include "base/timestamp.h"
#include "job/header.h"
#include "job/job_id.h"
#include "job/retry_expression.h"
#include "job/trace.h"

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

static void check_due_at(struct member_parse *parse, const struct member *member)
{
    const struct job_rules *rules = parse->context;
    const struct job *job = parse->of;
    if (job->due_at_ms > rules->now_ms + JOB_DELAY_MAX_MS)
        job_refuse(parse, member, "must be at most 10 years ahead");
}

/* Compares what can be compared without a clock. Otherwise the script compares, with Redis's clock. */
static void check_expiry(struct member_parse *parse, const struct member *member)
{
    const struct job_rules *rules = parse->context;
    const struct job *job = parse->of;
    bool is_over = job->has_ttl ? !job->has_due_at && job->ttl_ms <= job->delay_ms
                                : job->has_due_at && job->expires_at_ms <= job->due_at_ms;
    if (!rules->is_changed && is_over)
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
#define KEPT          .flags = MEMBER_STORED | MEMBER_RESOLVED

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
    [JOB_DUE_AT] = {NAMED("dueAt"), MEMBER_TIME, RESOLVED, FIELD(due_at_ms), HAS(has_due_at),
                    .rival = JOB_DELAY, .check = check_due_at},
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
    [JOB_HEADERS] = {NAMED("headers"), MEMBER_HEADERS, RESOLVED, FIELD(headers), HAS(has_headers),
                     .count = offsetof(struct job, header_count), .max = JOB_HEADERS_MAX},
    [JOB_LABELS] = {NAMED("labels"), MEMBER_LABELS, .flags = MEMBER_EVERYWHERE, FIELD(labels),
                    HAS(labels.count), .max = JOB_LABELS_MAX},
    [JOB_ON_DELIVERED] = {NAMED("onDelivered"), MEMBER_CALLBACK, .flags = MEMBER_EVERYWHERE,
                          FIELD(on_delivered), HAS(on_delivered.size)},
    [JOB_ON_DEAD] = {NAMED("onDead"), MEMBER_CALLBACK, .flags = MEMBER_EVERYWHERE, FIELD(on_dead),
                     HAS(on_dead.size)},
    [JOB_ON_ATTEMPT] = {NAMED("onAttempt"), MEMBER_CALLBACK, .flags = MEMBER_EVERYWHERE, FIELD(on_attempt),
                        HAS(on_attempt.size)},
    [JOB_FORM] = {NAMED("form"), MEMBER_TEXT, .flags = MEMBER_STORED | MEMBER_SHOWN, FIELD(form),
                  HAS(form.size), .is_sound = is_form_sound},
    [JOB_FORM_DATA] = {NAMED("formData"), MEMBER_JSON, STORED, FIELD(form_data), HAS(form_data.size),
                       .is_sound = is_form_data_sound},
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
    [JOB_REASON] = {NAMED("reason"), MEMBER_TEXT, KEPT, FIELD(reason), HAS(reason.size)},
    [JOB_ANSWER_HEADERS] = {NAMED("answerHeaders"), MEMBER_TEXT, STORED, FIELD(answer_headers),
                            HAS(answer_headers.size), .is_sound = is_answer_headers_sound},
    [JOB_TRACE_PARENT] = {NAMED("traceparent"), MEMBER_TEXT, STORED, FIELD(trace_parent),
                          HAS(trace_parent.size), .is_sound = is_trace_parent_sound},
    [JOB_TRACE_STATE] = {NAMED("tracestate"), MEMBER_TEXT, STORED, FIELD(trace_state), HAS(trace_state.size),
                         .is_sound = is_trace_state_sound},
#ifdef DUEPOST_TEST_NEXT
    [JOB_NEXT] = {NAMED("next"), MEMBER_TEXT, .flags = MEMBER_SENT | MEMBER_PATCHED | MEMBER_STORED,
                  FIELD(next), HAS(next.size)},
#endif
    [JOB_BODY_BASE64] = {NAMED("bodyBase64"), MEMBER_BASE64, RESOLVED, FIELD(body_base64),
                         HAS(has_body_base64), .check = check_body},
    [JOB_BODY] = {NAMED("body"), MEMBER_JSON, RESOLVED, FIELD(body), HAS(body.size), .rival = JOB_BODY_BASE64,
                  .check = check_body},
};

MEMBER_ROWS_FIT(rows);

const struct members job_members = {MEMBER_ROWS(rows), .noun = "field", .prefix = ""};
