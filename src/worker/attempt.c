#include "worker/attempt.h"

#include <assert.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "job/job_id.h"
#include "job/json.h"
#include "job/url.h"
#include "worker/attempt_log.h"
#include "worker/attempt_request.h"
#include "worker/http_result.h"

/* Kept of a lease for the way of a request out of this process. */
#define LEASE_SPARE_US INT64_C(1000000)

/* For a job whose name cannot be looked for now. */
#define LOOKUPS_WAIT_MS INT64_C(5000)

enum {
    HEADER_TEXT_MAX = 32 * 1024, /* job's headers and ours */
};

/* ---- the lease ---- */

static bool has_lease(const struct attempt *attempt)
{
    int64_t until_us = attempt->renewed_us + STORE_LEASE_MS * INT64_C(1000) - LEASE_SPARE_US;
    return !attempt->is_lease_lost && clock_boot_us() < until_us;
}

static void on_renewed(void *arg, enum status status)
{
    struct attempt *attempt = arg;
    attempt->is_renewing = false;
    bool is_lingering = status == STATUS_NOT_FOUND;
    if (status == STATUS_OK || is_lingering)
        attempt->renewed_us = attempt->renewal_us;
    if (status == STATUS_STALE || is_lingering) {
        attempt->is_lease_lost = true;
        attempt->is_lingering = is_lingering;
    }
    if (attempt->is_over)
        attempt->context->on_end(attempt->context->arg, attempt);
}

void attempt_renew(struct attempt *attempt)
{
    assert(!attempt->is_renewing);
    attempt->is_renewing = true;
    attempt->renewal_us = clock_boot_us();
    shard_renew(attempt->context->shard, &attempt->lease, on_renewed, attempt);
}

/* ---- recording ---- */

static void count_end(const struct attempt *attempt)
{
    if (attempt->ending.verdict == ENDING_COMPLETE) {
        metrics_ended(attempt->context->metrics, attempt->job.topic, METRICS_END_DELIVERED);
        attempt_log_delivery(attempt);
    } else if (attempt->ending.verdict == ENDING_BURY) {
        metrics_ended(attempt->context->metrics, attempt->job.topic, METRICS_END_DEAD);
    }
}

static void on_recorded(void *arg, enum status status)
{
    struct attempt *attempt = arg;
    const struct attempt_context *context = attempt->context;
    if (status == STATUS_OK)
        count_end(attempt);
    if (status != STATUS_OK && status != STATUS_STALE)
        context->on_unrecorded(context->arg, attempt);
    else if (attempt->is_renewing)
        attempt->is_over = true;
    else
        context->on_end(context->arg, attempt);
}

void attempt_record(struct attempt *attempt)
{
    struct shard *shard = attempt->context->shard;
    const struct ending *ending = &attempt->ending;
    const struct lease *lease = &attempt->lease;
    struct slice record = buffer_slice(&attempt->texts.record), line = buffer_slice(&attempt->texts.line);
    int64_t wait_ms = ending->keeps_place ? SHARD_NO_WAIT : ending->wait_ms;
    switch (ending->verdict) {
    case ENDING_COMPLETE:
        shard_complete(shard, lease, line, on_recorded, attempt);
        break;
    case ENDING_RETRY:
        shard_retry(shard, lease, wait_ms, record, line, on_recorded, attempt);
        break;
    case ENDING_BURY:
        shard_bury(shard, lease, record, line, on_recorded, attempt);
        break;
    case ENDING_RELEASE:
        shard_release(shard, lease, wait_ms, attempt->claimed_ms, on_recorded, attempt);
        break;
    }
}

/* ---- ending ---- */

static uint32_t random_bits(void)
{
    uint32_t random;
    random_fill(&random, sizeof random);
    return random;
}

static void log_ending(const struct attempt *attempt, enum ending_cause cause)
{
    if (cause == ENDING_CAUSE_NO_MEMORY)
        log_error("no_memory_for_job", LOG_SLICE("job", attempt->lease.id),
                  LOG_NUMBER("retry_in_ms", attempt->ending.wait_ms));
    else if (cause == ENDING_CAUSE_UNREADABLE)
        log_error("record_unreadable", LOG_SLICE("job", attempt->lease.id));
    else if (cause == ENDING_CAUSE_EXPIRED || cause == ENDING_CAUSE_NO_URL)
        attempt_log_unsent(attempt);
    else if (cause == ENDING_CAUSE_RESULT && attempt->ending.verdict != ENDING_COMPLETE)
        attempt_log_failure(attempt);
}

static void decide(struct attempt *attempt, const struct ending_facts *facts)
{
    attempt->ending = ending_decide(&attempt->job, facts);
    if (!ending_write(&attempt->ending, facts, &attempt->job, buffer_slice(&attempt->record),
                      &attempt->texts)) {
        struct ending_facts instead = {.cause = ENDING_CAUSE_NO_MEMORY};
        decide(attempt, &instead);
        return;
    }
    log_ending(attempt, facts->cause);
}

/* Decides how the lease ends and gives that to Redis. */
static void end(struct attempt *attempt, struct ending_facts facts)
{
    facts.now_ms = attempt->claimed_ms;
    facts.settings = attempt->settings;
    facts.schedule = attempt->context->policy->schedule;
    attempt->is_running = false;
    if (facts.cause == ENDING_CAUSE_RESULT)
        permit_end(&attempt->permit, facts.result);
    else
        permit_drop(&attempt->permit);
    decide(attempt, &facts);
    attempt->job.last_attempt.detail.size = 0; /* it was borrowed */
    attempt_record(attempt);
}

static void end_by(struct attempt *attempt, enum ending_cause cause)
{
    end(attempt, (struct ending_facts){.cause = cause});
}

static void hold(struct attempt *attempt, enum ending_cause cause, int64_t hold_ms)
{
    end(attempt, (struct ending_facts){.cause = cause, .hold_ms = hold_ms});
}

static void end_by_result(struct attempt *attempt, const struct http_outcome *http)
{
    struct attempt_result result = http_result(http, attempt->claimed_ms);
    bool has_jitter = attempt->settings && attempt->settings->jitter_ppm;
    if (http->error == HTTP_ERROR_REFUSED)
        result.detail = slice_of(attempt->refusal);
    metrics_attempt(attempt->context->metrics, attempt->job.topic, http_result_metric(http),
                    http->duration_ms * 1000);
    end(attempt, (struct ending_facts){.cause = ENDING_CAUSE_RESULT,
                                       .random = has_jitter ? random_bits() : 0,
                                       .result = &result,
                                       .retry_after_ms = http->retry_after_ms,
                                       .answer = http->answer,
                                       .is_answer_cut = http->is_answer_cut});
}

static void on_done(void *arg, const struct http_outcome *http)
{
    struct attempt *attempt = arg;
    attempt->post = NULL;
    if (http->error == HTTP_ERROR_UNSENT) {
        end_by(attempt, ENDING_CAUSE_UNSENT); /* a lost lease makes that stale, which is as good */
    } else if (http->error == HTTP_ERROR_CROWDED) {
        metrics_count(attempt->context->metrics, METRICS_COUNTER_HELD_BY_LOOKUPS, 1);
        hold(attempt, ENDING_CAUSE_HELD, LOOKUPS_WAIT_MS);
    } else {
        end_by_result(attempt, http);
    }
}

/* ---- the POST ---- */

static bool may_send(void *arg)
{
    return has_lease(arg);
}

/* Its escapes are no text: the reader of records leaves a body as it is. */
static bool has_broken_body(const struct attempt *attempt)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault ignored;
    return json_check(attempt->job.body, &limits, &ignored) == STATUS_INVALID;
}

/* There is no memory for it, or nothing that could be sent. */
static void give_up_post(struct attempt *attempt)
{
    bool is_unreadable = json_is_text(attempt->job.body) && has_broken_body(attempt);
    end_by(attempt, is_unreadable ? ENDING_CAUSE_UNREADABLE : ENDING_CAUSE_NO_MEMORY);
}

static void post(struct attempt *attempt)
{
    attempt->is_running = true;
    attempt->post = attempt_request_post(attempt, topic_defaults_timeout_ms(attempt->settings, &attempt->job),
                                         may_send, on_done);
    if (!attempt->post)
        give_up_post(attempt);
}

static bool read_job(struct attempt *attempt)
{
    return job_read(attempt->lease.id, buffer_slice(&attempt->record), &attempt->job) == STATUS_OK;
}

/* Where it leads; attempt->host is empty where neither the job nor its topic says. */
static bool read_url(struct attempt *attempt, struct url *url)
{
    const char *detail;
    struct slice text = topic_defaults_url(attempt->settings, &attempt->job);
    if (text.size && url_parse(text, url, &detail) != STATUS_OK)
        return false;
    attempt->host = text.size ? url->host : text;
    return true;
}

/* ---- what this process does not serve ---- */

static void give_back_unserved(struct attempt *attempt, enum unserved_why why, struct slice lacks)
{
    const struct attempt_context *context = attempt->context;
    struct slice topic, job_id, id = attempt->lease.id;
    int64_t now_us = clock_boot_us();
    slice_cut(id, '/', &topic, &job_id);
    unserved_tell(context->unserved, now_us, why, why == UNSERVED_JOB_LACKS ? id : topic, lacks);
    metrics_count(context->metrics, METRICS_COUNTER_HELD_UNSERVED, 1);
    hold(attempt, ENDING_CAUSE_UNSERVED, unserved_hold_ms(context->unserved, now_us));
}

/* Without its topic's settings a job would go out unsigned, or elsewhere. False: it is given back. */
static bool read_settings(struct attempt *attempt, struct slice text)
{
    struct slice topic, job_id;
    attempt->settings = NEW(struct topic_settings);
    attempt->settings_text = slice_dup(text);
    slice_cut(attempt->lease.id, '/', &topic, &job_id);
    enum status status =
        topic_settings_read_for(topic, slice_from(attempt->settings_text, text.size), attempt->settings);
    if (status == STATUS_OK && attempt->settings->lacks.size == 0)
        return true;
    if (status == STATUS_OK) {
        give_back_unserved(attempt, UNSERVED_TOPIC_LACKS, attempt->settings->lacks);
        return false;
    }
    free(attempt->settings);
    attempt->settings = NULL;
    if (status == STATUS_NO_MEMORY)
        end_by(attempt, ENDING_CAUSE_NO_MEMORY);
    else
        give_back_unserved(attempt, UNSERVED_SETTINGS, SLICE(""));
    return false;
}

/* ---- the permit ---- */

static void on_permit(void *arg, int64_t wait_ms)
{
    struct attempt *attempt = arg;
    if (wait_ms < 0)
        post(attempt);
    else
        hold(attempt, ENDING_CAUSE_HELD, wait_ms);
}

static bool needs_permit(const struct attempt *attempt)
{
    const struct topic_settings *settings = attempt->settings;
    return settings && settings->has_breaker ? settings->is_breaker_on
                                             : attempt->context->policy->is_breaker_on;
}

static void ask_permit(struct attempt *attempt, const struct url *url)
{
    struct permit *permit = &attempt->permit;
    char name[RECEIVER_NAME_SIZE];
    receiver_path_name(url, name);
    enum permit_answer answer = permit_ask(permit, attempt->context->receivers, name, on_permit, attempt);
    if (answer == PERMIT_GIVEN)
        post(attempt);
    else if (answer == PERMIT_HELD)
        hold(attempt, ENDING_CAUSE_HELD, permit->wait_ms);
}

/* ---- its life ---- */

/* What is claimed becomes a POST, or goes back, or is buried. */
static void begin(struct attempt *attempt, struct slice settings, int64_t now_ms)
{
    struct url url;
    if (settings.size && !read_settings(attempt, settings))
        return;
    bool is_whole = !attempt->record.failed, is_job = is_whole && read_job(attempt);
    bool lacks = is_job && attempt->job.lacks.size;
    if (!is_whole)
        end_by(attempt, ENDING_CAUSE_NO_MEMORY);
    else if (lacks)
        give_back_unserved(attempt, UNSERVED_JOB_LACKS, attempt->job.lacks);
    else if (!is_job || !read_url(attempt, &url))
        end_by(attempt, ENDING_CAUSE_UNREADABLE);
    else if (job_is_expired(&attempt->job, now_ms))
        end_by(attempt, ENDING_CAUSE_EXPIRED);
    else if (attempt->host.size == 0)
        end_by(attempt, ENDING_CAUSE_NO_URL);
    else if (needs_permit(attempt))
        ask_permit(attempt, &url);
    else
        post(attempt);
}

struct attempt *attempt_start(const struct attempt_context *context, const struct shard_claimed *claimed,
                              const struct nonce *nonce, int64_t claim_us, int64_t now_ms)
{
    struct attempt *attempt = NEW(struct attempt);
    list_init(&attempt->link);
    attempt->context = context;
    attempt->renewed_us = claim_us;
    attempt->claimed_ms = now_ms;
    attempt->late_ms = now_ms - claimed->due_ms;
    attempt->lease.nonce = *nonce;
    attempt->lease.id = slice_from(slice_dup(claimed->id), claimed->id.size);
    buffer_init_fallible(&attempt->record, JOB_RECORD_MAX);
    ending_texts_init(&attempt->texts);
    buffer_init_fallible(&attempt->payload, JOB_RECORD_MAX);
    buffer_init(&attempt->header_text, HEADER_TEXT_MAX);
    buffer_append(&attempt->record, claimed->record);
    begin(attempt, claimed->settings, now_ms);
    return attempt;
}

bool attempt_is_released(const struct attempt *attempt)
{
    return attempt->ending.verdict == ENDING_RELEASE;
}

void attempt_cut(struct attempt *attempt)
{
    bool is_waiting = permit_is_awaited(&attempt->permit);
    if (!is_waiting && (!attempt->is_running || http_post_hurry(attempt->post)))
        return;
    if (attempt->post)
        http_post_abort(attempt->post);
    attempt->post = NULL;
    end_by(attempt, ENDING_CAUSE_UNSENT);
}

void attempt_free(struct attempt *attempt)
{
    if (attempt->post)
        http_post_abort(attempt->post);
    permit_drop(&attempt->permit);
    list_remove(&attempt->link);
    job_fini(&attempt->job);
    if (attempt->settings)
        topic_settings_fini(attempt->settings);
    free(attempt->settings);
    free(attempt->settings_text);
    buffer_fini(&attempt->record);
    ending_texts_fini(&attempt->texts);
    buffer_fini(&attempt->payload);
    buffer_fini(&attempt->header_text);
    free((char *)(uintptr_t)attempt->lease.id.data);
    free(attempt);
}
