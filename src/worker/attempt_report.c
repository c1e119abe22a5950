/* attempt_report.c - the log lines and the span of an attempt. */
#include "worker/attempt_private.h"

#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "base/system.h"
#include "job/request.h"
#include "job/target/receiver.h"
#include "job/target/url.h"
#include "tracing/tracer.h"

/* ---- log lines ---- */

enum { FIELDS_MAX = 12 };

struct line {
    struct log_field fields[FIELDS_MAX];
    size_t count;
    char receiver[RECEIVER_HOST_SIZE];
};

static void put(struct line *line, struct log_field field)
{
    if (line->count < FIELDS_MAX && (field.is_number || field.text.size))
        line->fields[line->count++] = field;
}

/* Begins a line with the job and, if it has a url, the receiver. */
static void attempt_log_begin(struct line *line, const struct attempt *attempt)
{
    line->count = 0;
    put(line, LOG_SLICE("job", attempt->lease.id));
    if (attempt->url.host.size == 0)
        return;
    bool is_of_topic = attempt->job.url.size == 0;
    if (!is_of_topic)
        receiver_name(&attempt->url, line->receiver);
    put(line, LOG_TEXT("receiver", is_of_topic ? attempt->share->receiver : line->receiver));
}

static void put_result(struct line *line, const struct attempt_result *result)
{
    if (result->error == FAILURE_NONE)
        put(line, LOG_NUMBER("status", result->status));
    put(line, LOG_TEXT("error", failure_word(result->error)));
    put(line, LOG_SLICE("error_detail", result->detail));
    put(line, LOG_NUMBER("ms", result->duration_ms));
}

void attempt_log_failure(const struct attempt *attempt)
{
    const struct ending *ending = &attempt->ending;
    bool is_dead = ending->verdict == ENDING_BURY;
    enum log_level level = is_dead ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO;
    struct line line;
    if (!log_is_on(level))
        return;
    attempt_log_begin(&line, attempt);
    put(&line, LOG_NUMBER(is_dead ? "attempts" : "attempt", attempt->ending.attempts));
    put_result(&line, &attempt->job.last_attempt);
    put(&line, LOG_NUMBER("late_ms", attempt->late_ms));
    if (!is_dead)
        put(&line, LOG_NUMBER("retry_in_ms", ending->wait_ms));
    put(&line, LOG_SLICE("reason", ending->reason));
    log_event(level, is_dead ? "job_dead" : "attempt_failed", line.fields, line.count);
}

void attempt_log_round(const struct attempt *attempt)
{
    struct line line;
    if (!log_is_on(LOG_LEVEL_INFO))
        return;
    attempt_log_begin(&line, attempt);
    put(&line, LOG_NUMBER("round", attempt->ending.rounds));
    put_result(&line, &attempt->job.last_attempt);
    put(&line, LOG_NUMBER("late_ms", attempt->late_ms));
    put(&line, LOG_NUMBER("again_in_ms", attempt->ending.wait_ms));
    log_event(LOG_LEVEL_INFO, "job_not_yet", line.fields, line.count);
}

void attempt_log_deferral(const struct attempt *attempt)
{
    struct line line;
    if (!log_is_on(LOG_LEVEL_INFO))
        return;
    attempt_log_begin(&line, attempt);
    put(&line, LOG_NUMBER("attempt", attempt->job.attempts + 1));
    put(&line, LOG_NUMBER("lease_ms", attempt->ending.wait_ms));
    log_event(LOG_LEVEL_INFO, "job_deferred", line.fields, line.count);
}

void attempt_log_unsent(const struct attempt *attempt)
{
    struct line line;
    if (!log_is_on(LOG_LEVEL_WARNING))
        return;
    attempt_log_begin(&line, attempt);
    put(&line, LOG_NUMBER("attempts", attempt->ending.attempts));
    put(&line, LOG_NUMBER("late_ms", attempt->late_ms));
    put(&line, LOG_SLICE("reason", attempt->ending.reason));
    log_event(LOG_LEVEL_WARNING, "job_dead", line.fields, line.count);
}

void attempt_log_replaced(const struct attempt *attempt)
{
    struct line line;
    bool was_made = attempt->job.last_attempt.at_ms == attempt->claimed_ms;
    if (!log_is_on(LOG_LEVEL_INFO))
        return;
    attempt_log_begin(&line, attempt);
    if (was_made)
        put_result(&line, &attempt->job.last_attempt);
    put(&line, LOG_NUMBER("late_ms", attempt->late_ms));
    put(&line, LOG_TEXT("reason", JOB_REASON_REPLACED));
    log_event(LOG_LEVEL_INFO, "attempt_replaced", line.fields, line.count);
}

void attempt_log_delivery(const struct attempt *attempt)
{
    struct line line;
    if (!log_is_on(LOG_LEVEL_INFO))
        return;
    attempt_log_begin(&line, attempt);
    put(&line, LOG_NUMBER("attempts", attempt->ending.attempts));
    if (attempt->job.last_attempt.at_ms == attempt->claimed_ms)
        put_result(&line, &attempt->job.last_attempt);
    put(&line, LOG_NUMBER("late_ms", attempt->late_ms));
    log_event(LOG_LEVEL_INFO, "job_delivered", line.fields, line.count);
}

/* ---- the span ---- */

struct attempt_span {
    char context[TRACE_PARENT_BYTES];
    bool is_recorded;
    int64_t began_us; /* CLOCK_BOOTTIME */
};

static const char *const verdicts[] = {
    [ENDING_COMPLETE] = "delivered", [ENDING_RETRY] = "retry",    [ENDING_BURY] = "dead",
    [ENDING_RELEASE] = "released",   [ENDING_DEFER] = "deferred",
};

void attempt_span_begin(struct attempt *attempt, char context[TRACE_PARENT_BYTES])
{
    struct attempt_span *made = NEW(struct attempt_span);
    made->is_recorded = tracer_begin(attempt->context->policy->tracer, attempt->job.trace_parent, context);
    made->began_us = clock_boot_us();
    memcpy(made->context, context, sizeof made->context);
    attempt->span = made;
}

static void copy_text(char *to, size_t size, struct slice from)
{
    snprintf(to, size, "%.*s", SLICE_ARG(from));
}

static void fill_span(struct span *span, const struct attempt *attempt, const struct attempt_result *result)
{
    const struct job *job = &attempt->job;
    struct slice topic, job_id, path, query;
    memcpy(span->context, attempt->span->context, sizeof span->context);
    span->has_parent = job->trace_parent.size > 0;
    if (span->has_parent)
        memcpy(span->parent, job->trace_parent.data, sizeof span->parent);
    copy_text(span->state, sizeof span->state, job->trace_state);
    span->end_us = clock_wall_us();
    span->start_us = span->end_us - (clock_boot_us() - attempt->span->began_us);
    slice_cut(attempt->lease.id, '/', &topic, &job_id);
    copy_text(span->topic, sizeof span->topic, topic);
    copy_text(span->job_id, sizeof span->job_id, job_id);
    copy_text(span->method, sizeof span->method, slice_of(job_method_word(job->method)));
    /* The values in the query may be secrets. */
    bool has_query = slice_cut(topic_defaults_url(attempt->settings, job), '?', &path, &query);
    snprintf(span->url, sizeof span->url, "%.*s%s", SLICE_ARG(path), has_query ? URL_HIDDEN_QUERY : "");
    copy_text(span->host, sizeof span->host, attempt->url.host);
    span->port = attempt->url.port;
    copy_text(span->outcome, sizeof span->outcome, slice_of(verdicts[attempt->ending.verdict]));
    span->attempt = attempt->ending.attempts;
    span->late_ms = attempt->late_ms;
    span->status = result->error == FAILURE_NONE ? result->status : 0;
    if (attempt_result_is_success(result))
        return;
    span->is_error = true; /* error.type is the word of the error, or the status */
    if (result->error != FAILURE_NONE)
        copy_text(span->error, sizeof span->error, slice_of(failure_word(result->error)));
    else
        snprintf(span->error, sizeof span->error, "%d", result->status);
    copy_text(span->message, sizeof span->message, result->detail);
}

void attempt_span_end(struct attempt *attempt, const struct attempt_result *result)
{
    struct span span = {.kind = SPAN_CLIENT};
    if (!attempt->span || !attempt->span->is_recorded)
        return;
    fill_span(&span, attempt, result);
    /* This attempt becomes the exemplar of its bucket in both histograms, which have counted it, because it
     * has a result. */
    struct metrics *metrics = attempt->context->metrics;
    struct slice context = slice_from(span.context, sizeof span.context);
    metrics_exemplify(metrics, METRICS_EXEMPLIFIED_ATTEMPT, result->duration_ms * 1000, context, span.end_us);
    metrics_exemplify(metrics, METRICS_EXEMPLIFIED_LATENESS, (attempt->late_ms - attempt->held_ms) * 1000,
                      context, span.end_us);
    tracer_record(attempt->context->policy->tracer, &span);
}
