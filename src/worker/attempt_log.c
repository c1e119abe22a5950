#include "worker/attempt_log.h"

#include "base/log.h"
#include "job/target/receiver.h"
#include "job/target/url.h"

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
    receiver_name(&attempt->url, line->receiver);
    put(line, LOG_TEXT("receiver", line->receiver));
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
