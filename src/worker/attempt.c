#include "worker/attempt.h"

#include <assert.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "job/attempt_line.h"
#include "job/job_id.h"
#include "job/json.h"
#include "job/outcome.h"
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
    NO_MEMORY_WAIT_MS = 5000,    /* for others to give some back */
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
    if (attempt->next_step == ATTEMPT_STEP_COMPLETE) {
        metrics_ended(attempt->context->metrics, attempt->job.topic, METRICS_END_DELIVERED);
        attempt_log_delivery(attempt);
    } else if (attempt->next_step == ATTEMPT_STEP_BURY) {
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
    struct slice record = buffer_slice(&attempt->outcome), line = buffer_slice(&attempt->line);
    switch (attempt->next_step) {
    case ATTEMPT_STEP_COMPLETE:
        shard_complete(shard, &attempt->lease, line, on_recorded, attempt);
        break;
    case ATTEMPT_STEP_RETRY:
        shard_retry(shard, &attempt->lease, attempt->wait_ms, record, line, on_recorded, attempt);
        break;
    case ATTEMPT_STEP_BURY:
        shard_bury(shard, &attempt->lease, record, line, on_recorded, attempt);
        break;
    case ATTEMPT_STEP_RELEASE:
        shard_release(shard, &attempt->lease, attempt->wait_ms, attempt->claimed_ms, on_recorded, attempt);
        break;
    }
}

/* ---- deciding ---- */

static int64_t with_jitter(const struct attempt *attempt, int64_t wait_ms)
{
    uint32_t random;
    if (!attempt->settings)
        return wait_ms;
    random_fill(&random, sizeof random);
    return topic_settings_wait_ms(attempt->settings, wait_ms, random);
}

/* Given back without an attempt, or without what would be recorded of it: the job is POSTed later. */
static void give_up_memory(struct attempt *attempt)
{
    log_error("no_memory_for_job", LOG_SLICE("job", attempt->lease.id),
              LOG_NUMBER("retry_in_ms", NO_MEMORY_WAIT_MS));
    permit_drop(&attempt->permit);
    attempt->is_held = true;
    attempt->wait_ms = NO_MEMORY_WAIT_MS;
    attempt->next_step = ATTEMPT_STEP_RELEASE;
}

static void give_back(struct attempt *attempt)
{
    attempt->is_running = false;
    give_up_memory(attempt);
    attempt_record(attempt);
}

static void decide(struct attempt *attempt, const struct http_outcome *http)
{
    struct job *job = &attempt->job;
    job->last_attempt = http_result(http, attempt->claimed_ms);
    if (http->error == HTTP_ERROR_REFUSED)
        job->last_attempt.detail = slice_of(attempt->refusal);
    permit_end(&attempt->permit, &job->last_attempt);
    struct outcome outcome =
        outcome_decide(job, topic_defaults_schedule(attempt->settings, attempt->context->policy->schedule),
                       &job->last_attempt, http->retry_after_ms);
    bool is_delivered = outcome.verdict == VERDICT_COMPLETE;
    if (!is_delivered || (attempt->settings && attempt->settings->retention_ms))
        attempt_line_write(&attempt->line, job->attempts + 1, &job->last_attempt, http->answer,
                           http->is_answer_cut);
    if (is_delivered) {
        attempt->next_step = ATTEMPT_STEP_COMPLETE;
        return;
    }
    job->attempts++;
    attempt->next_step = outcome.verdict == VERDICT_RETRY ? ATTEMPT_STEP_RETRY : ATTEMPT_STEP_BURY;
    outcome.wait_ms = outcome.is_at_once ? 0 : with_jitter(attempt, outcome.wait_ms);
    attempt->wait_ms = outcome.is_at_once ? SHARD_NO_WAIT : outcome.wait_ms;
    job->uncounted += outcome.is_at_once;
    job->wait_ms = outcome.verdict == VERDICT_RETRY ? outcome.wait_ms : 0;
    job->reason = outcome.reason;
    job_write(job, &attempt->outcome);
    if (attempt->outcome.failed)
        give_up_memory(attempt);
    else
        attempt_log_failure(attempt, &outcome);
    job->last_attempt.detail.size = 0; /* it was borrowed */
}

/* Back into its bucket without an attempt; no longer than until it expires. */
static void hold(struct attempt *attempt, int64_t wait_ms)
{
    int64_t left_ms = job_expires_ms(&attempt->job, attempt->job.created_ms) - attempt->claimed_ms;
    attempt->is_held = true;
    attempt->wait_ms = wait_ms < left_ms ? wait_ms : left_ms;
    attempt->next_step = ATTEMPT_STEP_RELEASE;
    attempt_record(attempt);
}

static void on_done(void *arg, const struct http_outcome *http)
{
    struct attempt *attempt = arg;
    attempt->is_running = false;
    attempt->post = NULL;
    if (http->error == HTTP_ERROR_UNSENT) {
        permit_drop(&attempt->permit);
        attempt->next_step = ATTEMPT_STEP_RELEASE; /* a lost lease makes that stale, which is as good */
        attempt_record(attempt);
    } else if (http->error == HTTP_ERROR_CROWDED) {
        permit_drop(&attempt->permit);
        metrics_count(attempt->context->metrics, METRICS_COUNTER_HELD_BY_LOOKUPS, 1);
        hold(attempt, LOOKUPS_WAIT_MS);
    } else {
        metrics_attempt(attempt->context->metrics, attempt->job.topic, http_result_metric(http),
                        http->duration_ms * 1000);
        decide(attempt, http);
        attempt_record(attempt);
    }
}

/* ---- the POST ---- */

static bool may_send(void *arg)
{
    return has_lease(arg);
}

/* duepost did not write this record, in any version: kept as it is, dead in the open. */
static void bury_unreadable(struct attempt *attempt)
{
    log_error("record_unreadable", LOG_SLICE("job", attempt->lease.id));
    permit_drop(&attempt->permit);
    buffer_append(&attempt->outcome, buffer_slice(&attempt->record));
    attempt->next_step = ATTEMPT_STEP_BURY;
    if (attempt->outcome.failed)
        give_up_memory(attempt);
    attempt_record(attempt);
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
    attempt->is_running = false;
    if (json_is_text(attempt->job.body) && has_broken_body(attempt))
        bury_unreadable(attempt);
    else
        give_back(attempt);
}

static void post(struct attempt *attempt)
{
    attempt->is_running = true;
    attempt->post = attempt_request_post(attempt, topic_defaults_timeout_ms(attempt->settings, &attempt->job),
                                         may_send, on_done);
    if (!attempt->post)
        give_up_post(attempt);
}

/* Its claim is the attempt's begin; there has been none that would count. */
static void bury_unsent(struct attempt *attempt, struct slice reason)
{
    struct job *job = &attempt->job;
    job->reason = reason;
    job_write(job, &attempt->outcome);
    attempt->next_step = ATTEMPT_STEP_BURY;
    if (attempt->outcome.failed)
        give_up_memory(attempt);
    else
        attempt_log_unsent(attempt);
    attempt_record(attempt);
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
    attempt->is_held = true;
    attempt->wait_ms = unserved_hold_ms(context->unserved, now_us);
    attempt->next_step = ATTEMPT_STEP_RELEASE;
    attempt_record(attempt);
}

/* Without its topic's settings a job would go out unsigned, or elsewhere. False: it is given back. */
static bool read_settings(struct attempt *attempt, struct slice text)
{
    attempt->settings = NEW(struct topic_settings);
    attempt->settings_text = slice_dup(text);
    enum status status =
        topic_settings_read(slice_from(attempt->settings_text, text.size), attempt->settings);
    if (status == STATUS_OK && attempt->settings->lacks.size == 0)
        return true;
    if (status == STATUS_OK) {
        give_back_unserved(attempt, UNSERVED_TOPIC_LACKS, attempt->settings->lacks);
        return false;
    }
    free(attempt->settings);
    attempt->settings = NULL;
    if (status == STATUS_NO_MEMORY)
        give_back(attempt);
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
        hold(attempt, wait_ms);
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
        hold(attempt, permit->wait_ms);
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
        give_back(attempt);
    else if (lacks)
        give_back_unserved(attempt, UNSERVED_JOB_LACKS, attempt->job.lacks);
    else if (!is_job || !read_url(attempt, &url))
        bury_unreadable(attempt);
    else if (job_is_expired(&attempt->job, now_ms))
        bury_unsent(attempt, SLICE("expired"));
    else if (attempt->host.size == 0)
        bury_unsent(attempt, SLICE("no_url"));
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
    attempt->wait_ms = SHARD_NO_WAIT;
    attempt->renewed_us = claim_us;
    attempt->claimed_ms = now_ms;
    attempt->late_ms = now_ms - claimed->due_ms;
    attempt->lease.nonce = *nonce;
    attempt->lease.id = slice_from(slice_dup(claimed->id), claimed->id.size);
    buffer_init_fallible(&attempt->record, JOB_RECORD_MAX);
    buffer_init_fallible(&attempt->outcome, JOB_RECORD_MAX);
    buffer_init(&attempt->line, ATTEMPT_LINE_MAX);
    buffer_init_fallible(&attempt->payload, JOB_RECORD_MAX);
    buffer_init(&attempt->header_text, HEADER_TEXT_MAX);
    buffer_append(&attempt->record, claimed->record);
    begin(attempt, claimed->settings, now_ms);
    return attempt;
}

void attempt_cut(struct attempt *attempt)
{
    bool is_waiting = permit_is_awaited(&attempt->permit);
    if (!is_waiting && (!attempt->is_running || http_post_hurry(attempt->post)))
        return;
    if (attempt->post)
        http_post_abort(attempt->post);
    permit_drop(&attempt->permit);
    attempt->post = NULL;
    attempt->is_running = false;
    attempt->next_step = ATTEMPT_STEP_RELEASE;
    attempt_record(attempt);
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
    buffer_fini(&attempt->outcome);
    buffer_fini(&attempt->line);
    buffer_fini(&attempt->payload);
    buffer_fini(&attempt->header_text);
    free((char *)(uintptr_t)attempt->lease.id.data);
    free(attempt);
}
