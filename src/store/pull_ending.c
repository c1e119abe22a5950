/* pull_ending.c - ends workers' leases by the rules of job/delivery/ending.h, with the same records, attempt
 * lines, callbacks, metrics and log lines as for jobs that are POSTed. */
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/utf8.h"
#include "job/target/receiver.h"
#include "job/target/url.h"
#include "job/topic/topic_settings.h"
#include "store/store_private.h"

/* How long a job that this version of duepost cannot deliver is held. Another version may deliver it after
 * that. */
#define UNSERVED_WAIT_MS INT64_C(60000)

/* The ending of one lease, while it is under way: copies of the caller's texts, and the data to write to
 * Redis. */
struct pull_ending {
    struct shard *shard;
    struct lease lease;
    struct buffer id, record, settings_text;
    struct topic_settings settings;
    bool has_settings, has_job;
    struct job job;
    int64_t due_ms, leased_ms, now_us;
    enum pull_cause cause;
    const struct retry_schedule *default_schedule;
    struct attempt_result result;
    char detail[ATTEMPT_DETAIL_MAX + 1];
    struct ending ending;
    struct ending_texts texts;
    struct shard_follow_up follow_ups[CALLBACK_JOBS_MAX];
    struct shard_end end;
    struct shard_hold hold;
    pull_ended_fn *fn;
    void *arg;
};

/* ---- when Redis has replied ---- */

static void pull_ending_free(struct pull_ending *ending)
{
    if (ending->has_job)
        job_fini(&ending->job);
    if (ending->has_settings)
        topic_settings_fini(&ending->settings);
    ending_texts_fini(&ending->texts);
    buffer_fini(&ending->id);
    buffer_fini(&ending->record);
    buffer_fini(&ending->settings_text);
    free(ending);
}

static void pull_ending_finish(struct pull_ending *ending, enum status status)
{
    if (ending->fn)
        ending->fn(ending->arg, status, status_is_done(status) ? &ending->ending : NULL, ending->now_us);
    pull_ending_free(ending);
}

static void log_retry(const struct pull_ending *ending)
{
    log_info("attempt_failed", LOG_SLICE("job", ending->lease.id),
             LOG_NUMBER("attempt", ending->ending.attempts),
             LOG_TEXT("error", failure_word(ending->result.error)),
             LOG_SLICE("error_detail", ending->result.detail), LOG_NUMBER("ms", ending->result.duration_ms),
             LOG_NUMBER("retry_in_ms", ending->ending.wait_ms));
}

/* Leaves out what the end does not have: the receiver of a job that workers pull, and the error of a job that
 * has expired. */
static void log_death(const struct pull_ending *ending)
{
    int64_t late_ms = ending->leased_ms - ending->due_ms;
    char receiver[RECEIVER_HOST_SIZE];
    const char *detail;
    struct url url;
    struct log_field fields[7];
    size_t count = 0;
    fields[count++] = LOG_SLICE("job", ending->lease.id);
    if (ending->has_job &&
        url_parse(topic_defaults_url(ending->has_settings ? &ending->settings : NULL, &ending->job), &url,
                  &detail) == STATUS_OK) {
        receiver_name(&url, receiver);
        fields[count++] = LOG_TEXT("receiver", receiver);
    }
    fields[count++] = LOG_NUMBER("attempts", ending->ending.attempts);
    if (ending->result.error != FAILURE_NONE)
        fields[count++] = LOG_TEXT("error", failure_word(ending->result.error));
    if (ending->result.detail.size)
        fields[count++] = LOG_SLICE("error_detail", ending->result.detail);
    fields[count++] = LOG_NUMBER("late_ms", late_ms > 0 ? late_ms : 0);
    fields[count++] =
        LOG_SLICE("reason", ending->ending.reason.size ? ending->ending.reason : SLICE("unreadable"));
    log_event(LOG_LEVEL_WARNING, "job_dead", fields, count);
}

static struct slice topic_of(const struct pull_ending *ending)
{
    struct slice topic, job_id;
    slice_cut(ending->lease.id, '/', &topic, &job_id);
    return topic;
}

/* Updates the metrics and writes the log lines after Redis has stored the ending. */
static void note_end(const struct pull_ending *ending)
{
    struct metrics *metrics = ending->shard->options->metrics;
    struct slice topic = topic_of(ending);
    const struct attempt_result *result = &ending->result;
    if (ending->texts.callbacks.count)
        metrics_count(metrics, METRICS_COUNTER_CALLBACKS, ending->texts.callbacks.count);
    if (result->at_ms)
        metrics_attempt(metrics, topic,
                        result->error ? METRICS_RESULT_OF(result->error) : METRICS_RESULT_DELIVERED,
                        result->duration_ms * 1000);
    if (ending->ending.verdict == ENDING_COMPLETE) {
        metrics_ended(metrics, topic, METRICS_END_DELIVERED);
    } else if (ending->ending.verdict == ENDING_BURY) {
        metrics_ended(metrics, topic, METRICS_END_DEAD);
        log_death(ending);
    } else if (ending->ending.verdict == ENDING_RETRY) {
        log_retry(ending);
    }
}

static void on_pull_end_done(void *arg, enum status status)
{
    struct pull_ending *ending = arg;
    if (status_is_done(status))
        note_end(ending);
    pull_ending_finish(ending, status == STATUS_REPLACED ? STATUS_STALE : status);
}

static void on_pull_end_sent(void *arg, enum status status, int64_t code, int64_t now_us)
{
    struct pull_ending *ending = arg;
    ending->now_us = now_us;
    on_pull_end_done(ending, status_is_done(status) && code <= 0 ? STATUS_STALE : status);
}

/* ---- sending ---- */

static void gather_texts(struct pull_ending *ending)
{
    const struct callback_jobs *callbacks = &ending->texts.callbacks;
    for (size_t i = 0; i < callbacks->count; i++)
        ending->follow_ups[i] = (struct shard_follow_up){.id = buffer_slice(&callbacks->items[i].id),
                                                         .record = buffer_slice(&callbacks->items[i].record)};
    ending->end = (struct shard_end){.record = buffer_slice(&ending->texts.record),
                                     .attempt = buffer_slice(&ending->texts.line),
                                     .follow = {ending->follow_ups, callbacks->count}};
}

static void send_confirmed(struct pull_ending *ending)
{
    static const enum lease_end_kind kinds[] = {[ENDING_COMPLETE] = LEASE_END_COMPLETE,
                                                [ENDING_RETRY] = LEASE_END_RETRY,
                                                [ENDING_BURY] = LEASE_END_BURY,
                                                [ENDING_RELEASE] = LEASE_END_RELEASE};
    lease_confirm(ending->shard, kinds[ending->ending.verdict], &ending->lease, ending->ending.wait_ms,
                  &ending->end, on_pull_end_sent, ending);
}

static void send_ending(struct pull_ending *ending)
{
    switch (ending->ending.verdict) {
    case ENDING_COMPLETE:
        shard_complete(ending->shard, &ending->lease, &ending->end, on_pull_end_done, ending);
        break;
    case ENDING_RETRY:
        shard_retry(ending->shard, &ending->lease, ending->ending.wait_ms, &ending->end, on_pull_end_done,
                    ending);
        break;
    case ENDING_BURY:
        shard_bury(ending->shard, &ending->lease, &ending->end, on_pull_end_done, ending);
        break;
    case ENDING_DEFER: /* only the answer to a POST defers */
    case ENDING_RELEASE:
        ending->hold =
            (struct shard_hold){.wait_ms = ending->ending.wait_ms, .claimed_ms = ending->leased_ms};
        shard_release(ending->shard, &ending->lease, &ending->hold, on_pull_end_done, ending);
        break;
    }
}

/* ---- deciding ---- */

/* Copies a worker's description of an error. Replaces each character that JSON would escape by a similar one.
 * Cuts the text before the first character that does not fit. */
static struct slice copy_detail(struct slice error, char detail[ATTEMPT_DETAIL_MAX + 1])
{
    size_t used = 0;
    while (error.size) {
        size_t size = (uint8_t)*error.data < 0x80 ? 1 : utf8_size((uint8_t)*error.data);
        if (size == 0 || size > error.size || used + size > ATTEMPT_DETAIL_MAX)
            break;
        memcpy(detail + used, error.data, size);
        if (size == 1 && ((uint8_t)*error.data < 0x20 || *error.data == 0x7f))
            detail[used] = ' ';
        else if (*error.data == '"' || *error.data == '\\')
            detail[used] = *error.data == '"' ? '\'' : '/';
        used += size;
        error = slice_skip(error, size);
    }
    return slice_from(detail, used);
}

static enum ending_cause cause_of(struct pull_ending *ending, bool is_served)
{
    if (!is_served || (ending->has_job && ending->job.lacks.size))
        return ENDING_CAUSE_UNSERVED;
    if (!ending->has_job)
        return ENDING_CAUSE_UNREADABLE;
    if (ending->cause >= PULL_CAUSE_LAPSED && job_is_expired(&ending->job, ending->leased_ms))
        return ENDING_CAUSE_EXPIRED;
    if (ending->cause == PULL_CAUSE_UNFIT &&
        ending_is_exhausted(&ending->job, &ending->settings, ending->default_schedule))
        return ENDING_CAUSE_EXHAUSTED;
    return ending->cause == PULL_CAUSE_UNFIT ? ENDING_CAUSE_UNSENT : ENDING_CAUSE_RESULT;
}

static struct ending_input facts_of(struct pull_ending *ending, const struct pull_ending_facts *facts,
                                    enum ending_cause cause)
{
    static const enum failure errors[] = {[PULL_CAUSE_COMPLETED] = FAILURE_NONE,
                                          [PULL_CAUSE_FAILED] = FAILURE_WORKER,
                                          [PULL_CAUSE_REJECTED] = FAILURE_WORKER,
                                          [PULL_CAUSE_LAPSED] = FAILURE_LEASE_EXPIRED,
                                          [PULL_CAUSE_UNFIT] = FAILURE_NONE};
    int64_t duration_ms = facts->now_ms - ending->leased_ms;
    uint32_t random;
    random_fill(&random, sizeof random);
    if (cause == ENDING_CAUSE_RESULT)
        ending->result = (struct attempt_result){
            .at_ms = ending->leased_ms,
            .duration_ms = duration_ms > 0 ? duration_ms : 0,
            .status = facts->cause == PULL_CAUSE_COMPLETED ? 200 : 0,
            .error = errors[facts->cause],
            .detail = copy_detail(facts->error, ending->detail),
        };
    return (struct ending_input){
        .cause = cause,
        .id = ending->lease.id,
        .nonce = slice_of(ending->lease.nonce.text),
        .now_ms = ending->leased_ms,
        .due_ms = ending->due_ms,
        .settings = ending->has_settings ? &ending->settings : NULL,
        .schedule = facts->schedule,
        .random = random,
        .hold_ms = UNSERVED_WAIT_MS,
        .result = &ending->result,
        .judgement = {.at_least_ms = -1, .has_wait = facts->has_delay, .wait_ms = facts->delay_ms},
        .is_rejected = facts->cause == PULL_CAUSE_REJECTED,
        .own_result = facts->result,
    };
}

/* Decides how the lease ends (complete, retry, bury or release), and writes the texts for Redis: the job's
 * record, a line about the attempt, and the callbacks. Returns false if there is not enough memory for
 * these texts. */
static bool pull_ending_decide(struct pull_ending *ending, const struct pull_ending_facts *facts,
                               enum ending_cause cause)
{
    struct job none = {.attempts = 0};
    struct job *job = ending->has_job ? &ending->job : &none;
    struct ending_input all = facts_of(ending, facts, cause);
    ending->ending = ending_decide(job, &all);
    if (ending->cause == PULL_CAUSE_COMPLETED)
        ending->ending.has_line =
            true; /* only with a line, complete.lua takes the callbacks from its arguments */
    return ending_write(&ending->ending, &all, job, buffer_slice(&ending->record), &ending->texts);
}

/* Reads the settings and the record. Sets *is_served to false if the settings cannot be used. Returns false
 * if there is no memory. */
static bool read_texts(struct pull_ending *ending, bool *is_served)
{
    struct slice text = buffer_slice(&ending->settings_text);
    if (ending->record.failed || ending->settings_text.failed)
        return false;
    enum status status = topic_settings_read_for(topic_of(ending), text, &ending->settings);
    ending->has_settings = status == STATUS_OK;
    *is_served = status == STATUS_OK && ending->settings.lacks.size == 0;
    if (status == STATUS_NO_MEMORY)
        return false;
    status = job_read(ending->lease.id, buffer_slice(&ending->record), &ending->job);
    ending->has_job = status == STATUS_OK;
    return status != STATUS_NO_MEMORY;
}

static enum status refusal_of(enum ending_cause cause)
{
    return cause == ENDING_CAUSE_UNSERVED ? STATUS_LACKING : STATUS_UNREADABLE;
}

static struct pull_ending *pull_ending_new(struct shard *shard, const struct pulled *pulled)
{
    struct pull_ending *ending = NEW(struct pull_ending);
    ending->shard = shard;
    ending->due_ms = pulled->due_ms;
    ending->leased_ms = pulled->leased_ms;
    buffer_init(&ending->id, pulled->id.size);
    buffer_init_fallible(&ending->record, pulled->record.size);
    buffer_init_fallible(&ending->settings_text, pulled->settings.size);
    ending_texts_init(&ending->texts);
    buffer_append(&ending->id, pulled->id);
    buffer_append(&ending->record, pulled->record);
    buffer_append(&ending->settings_text, pulled->settings);
    ending->lease = (struct lease){buffer_slice(&ending->id), pulled->nonce};
    return ending;
}

void pull_end(struct shard *shard, const struct pulled *pulled, const struct pull_ending_facts *facts,
              pull_ended_fn *fn, void *arg)
{
    struct pull_ending *ending = pull_ending_new(shard, pulled);
    bool is_served;
    ending->cause = facts->cause;
    ending->default_schedule = facts->schedule;
    ending->fn = fn;
    ending->arg = arg;
    if (!read_texts(ending, &is_served)) {
        pull_ending_finish(ending, STATUS_NO_MEMORY);
        return;
    }
    enum ending_cause cause = cause_of(ending, is_served);
    if (facts->is_confirmed && cause != ENDING_CAUSE_RESULT) {
        pull_ending_finish(ending, refusal_of(cause));
    } else if (!pull_ending_decide(ending, facts, cause)) {
        pull_ending_finish(ending, STATUS_NO_MEMORY);
    } else {
        gather_texts(ending);
        if (facts->is_confirmed)
            send_confirmed(ending);
        else
            send_ending(ending);
    }
}

/* ---- leases that have run out ---- */

struct lost_lease {
    shard_done_fn *fn;
    void *arg;
};

static void on_lost_lease_ended(void *arg, enum status status, const struct ending *ending, int64_t now_us)
{
    struct lost_lease *end = arg;
    (void)ending, (void)now_us;
    end->fn(end->arg, status);
    free(end);
}

void shard_end_lost(struct shard *shard, const struct shard_lost_job *job, int64_t now_ms,
                    const struct retry_schedule *schedule, shard_done_fn *fn, void *arg)
{
    struct lost_lease *end = NEW(struct lost_lease);
    struct pulled pulled = {.id = job->id,
                            .record = job->record,
                            .settings = job->settings,
                            .nonce = job->nonce,
                            .due_ms = job->due_ms,
                            .leased_ms = job->leased_ms};
    struct pull_ending_facts facts = {.cause = PULL_CAUSE_LAPSED, .now_ms = now_ms, .schedule = schedule};
    *end = (struct lost_lease){fn, arg};
    pull_end(shard, &pulled, &facts, on_lost_lease_ended, end);
}
