#include "worker/attempt.h"

#include <assert.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/attempt_line.h"
#include "job/job_id.h"
#include "job/target/url.h"
#include "store/clock.h"
#include "worker/attempt_private.h"

/* The states of an attempt. Each arrow is an event. attempt_move checks that the table allows the change.
 *
 *   READING ──▶ ASKING ──▶ ARRIVING ──▶ SENDING ──▶ RECORDING ──▶ OVER
 *   READING ──▶ GATHERED ─────────────▶ SENDING
 *
 *   from the state becomes the event is
 *   READING      ASKING, ARRIVING, SENDING, RECORDING (nothing can be sent)    attempt_start
 *   READING      GATHERED (is sent with other jobs of its topic)               attempt_start
 *   GATHERED     SENDING, RECORDING (held back, or nothing can be sent)        company_gather, attempt_cut
 *   ASKING       ARRIVING, SENDING, RECORDING (held back)                      attempt_on_permit, attempt_cut
 *   ARRIVING     SENDING, RECORDING (nothing can be sent)                      attempt_on_arrived
 *   SENDING      RECORDING                                                     attempt_on_done, attempt_cut
 *   RECORDING    OVER (taken, or stale), UNRECORDED (Redis did not take it)    attempt_on_recorded
 *   UNRECORDED   RECORDING                                                     attempt_record
 *   OVER         on_end, once no renewal is under way                          attempt_on_renewed
 *
 * In ASKING, the attempt requests the access token that the request needs, and then the permit of its
 * receiver. If the job belongs to a workflow, the attempt reads the data of the workflow for its request in
 * ARRIVING; other attempts skip this state.
 *
 * The answers to renewals change the state of the lease, in any state of the attempt (attempt_on_renewed):
 *
 *   HELD         LINGERING (the job was cancelled or replaced), LOST
 *   LINGERING    LOST
 *
 * A request is sent only while the lease is HELD and has not expired by this host's clock. A LINGERING lease
 * is renewed too, so that the attempt keeps its place in flight until it is over. If Redis does not answer a
 * renewal, the state of the lease does not change. */

/* A request must begin at least this long before its lease expires. */
#define LEASE_SPARE_US INT64_C(1000000)

/* How long a job is held when too many name lookups are under way (io/http/name_lookups.c). */
#define LOOKUPS_WAIT_MS INT64_C(5000)

/* How long a job of a workflow is held when Redis does not return the workflow's data for its request. */
#define ARRIVAL_WAIT_MS INT64_C(1000)

enum {
    HEADER_TEXT_MAX = 32 * 1024, /* maximum size of all headers: the job's and duepost's own */
    RECORD_INSIDE_MAX = 1024,    /* bytes of a record that needs no memory of its own */
};

void attempt_move(struct attempt *attempt, enum attempt_state to)
{
    static const bool is_allowed[ATTEMPT_STATES][ATTEMPT_STATES] = {
        [ATTEMPT_READING] = {[ATTEMPT_ASKING] = true,
                             [ATTEMPT_GATHERED] = true,
                             [ATTEMPT_ARRIVING] = true,
                             [ATTEMPT_SENDING] = true,
                             [ATTEMPT_RECORDING] = true},
        [ATTEMPT_GATHERED] = {[ATTEMPT_SENDING] = true, [ATTEMPT_RECORDING] = true},
        [ATTEMPT_ASKING] = {[ATTEMPT_ARRIVING] = true, [ATTEMPT_SENDING] = true, [ATTEMPT_RECORDING] = true},
        [ATTEMPT_ARRIVING] = {[ATTEMPT_SENDING] = true, [ATTEMPT_RECORDING] = true},
        [ATTEMPT_SENDING] = {[ATTEMPT_RECORDING] = true},
        [ATTEMPT_RECORDING] = {[ATTEMPT_UNRECORDED] = true, [ATTEMPT_OVER] = true},
        [ATTEMPT_UNRECORDED] = {[ATTEMPT_RECORDING] = true},
    };
    assert(is_allowed[attempt->state][to]);
    attempt->state = to;
}

/* ---- RECORDING ---- */

static void attempt_tell_end(struct attempt *attempt)
{
    if (attempt->renewing_us == 0)
        attempt->context->on_end(attempt->context->arg, attempt);
}

static void count_end(const struct attempt *attempt)
{
    size_t callbacks = attempt->texts.callbacks.count;
    if (callbacks)
        metrics_count(attempt->context->metrics, METRICS_COUNTER_CALLBACKS, callbacks);
    if (attempt->ending.verdict == ENDING_DEFER)
        metrics_count(attempt->context->metrics, METRICS_COUNTER_DEFERRED, 1);
    if (attempt->ending.verdict == ENDING_COMPLETE) {
        metrics_ended(attempt->context->metrics, attempt->job.topic, METRICS_END_DELIVERED);
        attempt_log_delivery(attempt);
    } else if (attempt->ending.verdict == ENDING_BURY) {
        metrics_ended(attempt->context->metrics, attempt->job.topic, METRICS_END_DEAD);
    }
}

static void note_fired(const struct attempt *attempt)
{
    const struct ending *ending = &attempt->ending;
    const struct attempt_result *last = &attempt->job.last_attempt;
    bool was_made = last->at_ms == attempt->claimed_ms;
    bool is_dead = ending->verdict == ENDING_BURY, is_deferred = ending->verdict == ENDING_DEFER;
    if (!clock_is_manual() || (!was_made && !is_dead && !is_deferred))
        return;
    struct clock_fired fired = {.at_ms = attempt->claimed_ms, .job = attempt->lease.id};
    if (is_deferred) {
        fired.event = SLICE("attempt");
        fired.attempt = ending->attempts + 1;
        fired.status = 202;
        fired.outcome = SLICE("deferred");
        fired.next_ms = attempt->claimed_ms + ending->wait_ms;
    } else if (was_made) {
        fired.event = SLICE("attempt");
        fired.attempt = ending->is_round ? ending->rounds : ending->attempts;
        fired.status = last->error == FAILURE_NONE ? last->status : 0;
        fired.error = slice_of(failure_word(last->error));
        fired.outcome = slice_of(is_dead                              ? "dead"
                                 : ending->verdict == ENDING_COMPLETE ? "delivered"
                                 : ending->is_round                   ? "again"
                                                                      : "retry");
    } else {
        bool has_expired = slice_equal(ending->reason, SLICE("expired"));
        fired.event = slice_of(has_expired ? "expired" : "dead");
    }
    if (ending->verdict == ENDING_RETRY)
        fired.next_ms = attempt->claimed_ms + (ending->keeps_place ? 0 : ending->wait_ms);
    clock_note_fired(&fired);
}

/* Writes the line of the attempt, without its answer, because a request has begun to wait for the job since
 * the claim. The text has at most the job's result, which follows the line. */
static void write_line(struct attempt *attempt)
{
    const struct job *job = &attempt->job;
    struct buffer *text = &attempt->texts.line, line;
    buffer_init(&line, text->max);
    if (job->last_attempt.at_ms == attempt->claimed_ms)
        attempt_line_write(&line, job->rounds + 1, job->attempts + 1, &job->last_attempt, SLICE(""), false);
    else
        buffer_append_byte(&line, '-');
    buffer_append(&line, buffer_slice(text));
    buffer_fini(text);
    *text = line;
}

/* While the request was under way, its token may have extended the lease, which is a worker's since then.
 * Such a program only reports how far it is, so an answer that does not defer the end still ends the attempt.
 * A request without an answer does not: the program continues. Returns whether the ending is recorded once
 * more, for that lease. */
static bool attempt_end_extended(struct attempt *attempt)
{
    enum ending_verdict verdict = attempt->ending.verdict;
    if (!attempt->was_answered || verdict == ENDING_DEFER || !attempt_may_defer(attempt))
        return false;
    attempt->was_answered = false;             /* only once */
    attempt->lease_state = ATTEMPT_LEASE_LOST; /* a renewal would shorten the lease of the worker */
    if (!shard_defer_nonce(&attempt->lease.nonce))
        return false;
    attempt_move(attempt, ATTEMPT_UNRECORDED);
    attempt_record(attempt);
    return true;
}

static void attempt_on_recorded(void *arg, enum status status)
{
    struct attempt *attempt = arg;
    const struct attempt_context *context = attempt->context;
    if (status == STATUS_STALE && attempt_end_extended(attempt))
        return;
    if (status == STATUS_NO_LINE) {
        write_line(attempt);
        attempt_move(attempt, ATTEMPT_UNRECORDED);
        attempt_record(attempt);
        return;
    }
    bool is_known = status == STATUS_OK || status == STATUS_STALE || status == STATUS_REPLACED;
    if (status == STATUS_OK)
        count_end(attempt);
    if (status == STATUS_OK)
        note_fired(attempt);
    else if (status == STATUS_REPLACED)
        attempt_log_replaced(attempt);
    attempt_move(attempt, is_known ? ATTEMPT_OVER : ATTEMPT_UNRECORDED);
    if (is_known)
        attempt_tell_end(attempt);
    else
        context->on_unrecorded(context->arg, attempt);
}

/* Returns whether the job has a circuit breaker only because its topic turns breakers on. */
static bool has_breaker_by_setting(const struct attempt *attempt)
{
    const struct topic_settings *settings = attempt->settings;
    return settings && settings->has_breaker && settings->is_breaker_on &&
           !attempt->context->policy->is_breaker_on;
}

/* Returns whether nothing waits for the end of the job: neither a free slot, nor other jobs of a topic with a
 * limit or an order, nor follow-ups, nor a manual clock. */
static bool may_wait(const struct attempt *attempt)
{
    const struct attempt_context *context = attempt->context;
    return !attempt->settings && attempt->texts.callbacks.count == 0 && !clock_is_manual() &&
           context->has_room(context->arg);
}

void attempt_record(struct attempt *attempt)
{
    struct shard *shard = attempt->context->shard;
    const struct ending *ending = &attempt->ending;
    const struct callback_jobs *callbacks = &attempt->texts.callbacks;
    const struct lease *lease = &attempt->lease;
    struct shard_end end = {.record = buffer_slice(&attempt->texts.record),
                            .attempt = buffer_slice(&attempt->texts.line),
                            .follow = {attempt->follow_ups, callbacks->count},
                            .may_wait = may_wait(attempt)};
    int64_t wait_ms = ending->keeps_place ? SHARD_NO_WAIT : ending->wait_ms;
    struct shard_hold hold = {.receiver = slice_of(attempt->held_by ? attempt->held_by : ""),
                              .is_by_setting = has_breaker_by_setting(attempt),
                              .lacks_url = attempt->lacks_url,
                              .claimed_ms = attempt->claimed_ms};
    for (size_t i = 0; i < callbacks->count; i++)
        attempt->follow_ups[i] =
            (struct shard_follow_up){.id = buffer_slice(&callbacks->items[i].id),
                                     .delay_ms = callbacks->items[i].delay_ms,
                                     .record = buffer_slice(&callbacks->items[i].record)};
    attempt_move(attempt, ATTEMPT_RECORDING);
    switch (ending->verdict) {
    case ENDING_COMPLETE:
        shard_complete(shard, lease, &end, attempt_on_recorded, attempt);
        break;
    case ENDING_RETRY:
        shard_retry(shard, lease, wait_ms, &end, attempt_on_recorded, attempt);
        break;
    case ENDING_BURY:
        shard_bury(shard, lease, &end, attempt_on_recorded, attempt);
        break;
    case ENDING_DEFER:
        shard_defer(shard, lease,
                    &(struct shard_deferral){.lease_ms = ending->wait_ms,
                                             .began_ms = attempt->claimed_ms,
                                             .has_callbacks =
                                                 callback_jobs_are_wanted(&attempt->job, attempt->settings)},
                    attempt_on_recorded, attempt);
        break;
    case ENDING_RELEASE:
        hold.wait_ms = wait_ms;
        shard_release(shard, lease, &hold, attempt_on_recorded, attempt);
        break;
    }
}

static void log_ending(const struct attempt *attempt, enum ending_cause cause)
{
    if (cause == ENDING_CAUSE_NO_MEMORY)
        log_error("no_memory_for_job", LOG_SLICE("job", attempt->lease.id),
                  LOG_NUMBER("retry_in_ms", attempt->ending.wait_ms));
    else if (cause == ENDING_CAUSE_UNREADABLE)
        log_error("record_unreadable", LOG_SLICE("job", attempt->lease.id));
    else if (cause == ENDING_CAUSE_EXPIRED || cause == ENDING_CAUSE_EXHAUSTED || cause == ENDING_CAUSE_OVER)
        attempt_log_unsent(attempt);
    else if (attempt->ending.verdict == ENDING_DEFER)
        attempt_log_deferral(attempt);
    else if (cause == ENDING_CAUSE_RESULT && attempt->ending.is_round)
        attempt_log_round(attempt);
    else if (cause == ENDING_CAUSE_RESULT && attempt->ending.verdict != ENDING_COMPLETE)
        attempt_log_failure(attempt);
}

/* Frees what only the request needed. If the ending has the new record, this includes a large claimed record,
 * so an attempt never has two copies of its body while it waits for Redis: all attempts of a receiver may
 * fail at the same time. A host in the record is copied, because log lines name it later. */
static void attempt_drop_request(struct attempt *attempt)
{
    struct slice host = attempt->url.host;
    buffer_fini(&attempt->payload);
    buffer_fini(&attempt->elements);
    buffer_fini(&attempt->header_text);
    if (attempt->texts.record.size == 0 || !attempt->large_record)
        return;
    if (attempt->job.url.size && host.size) {
        attempt->host = slice_dup(host);
        attempt->url.host = slice_from(attempt->host, host.size);
    }
    attempt->url.target = attempt->url.query = SLICE("");
    free(attempt->large_record);
    attempt->large_record = NULL;
    attempt->record = SLICE("");
}

static void attempt_decide(struct attempt *attempt, const struct ending_input *input)
{
    attempt->ending = ending_decide(&attempt->job, input);
    if (ending_write(&attempt->ending, input, &attempt->job, attempt->record, &attempt->texts)) {
        log_ending(attempt, input->cause);
    } else {
        struct ending_input instead = {.cause = ENDING_CAUSE_NO_MEMORY};
        attempt_decide(attempt, &instead);
    }
}

/* Decides how the attempt ends and sends the ending to Redis. */
static void attempt_end(struct attempt *attempt, struct ending_input *input)
{
    input->id = attempt->lease.id;
    input->nonce = slice_of(attempt->lease.nonce.text);
    input->now_ms = attempt->claimed_ms;
    input->due_ms = attempt->claimed_ms - attempt->late_ms;
    input->settings = attempt->settings;
    input->form = attempt->form;
    input->schedule = attempt->context->policy->schedule;
    input->has_history = attempt->context->policy->has_history || shard_has_waiters(attempt->context->shard);
    if (input->cause == ENDING_CAUSE_RESULT)
        permit_end(&attempt->permit, input->result);
    else
        permit_drop(&attempt->permit);
    identity_drop(&attempt->identity);
    attempt_decide(attempt, input);
    if (input->cause == ENDING_CAUSE_RESULT && attempt->span)
        attempt_span_end(attempt, input->result);
    attempt_drop_request(attempt);
    attempt->job.last_attempt.detail.size = 0; /* the text that detail points into is freed */
    attempt_record(attempt);
}

void attempt_end_by(struct attempt *attempt, enum ending_cause cause)
{
    attempt_end(attempt, &(struct ending_input){.cause = cause});
}

void attempt_hold(struct attempt *attempt, enum ending_cause cause, int64_t hold_ms)
{
    attempt_end(attempt, &(struct ending_input){.cause = cause, .hold_ms = hold_ms});
}

/* ---- SENDING ---- */

/* Applies what the answer to a batch says of this job. */
static void judge_own(const struct attempt *attempt, const struct batch_result *own,
                      struct attempt_result *result, struct form_judgement *judgement)
{
    (void)attempt;
    judgement->again_ms = 0;
    judgement->reply_fault = NULL;
    judgement->defer_ms = 0;
    if (own->verdict == BATCH_DELIVERED)
        return;
    result->error = FAILURE_WORKER;
    result->status = 0;
    result->detail = slice_of(own->detail);
    judgement->has_wait = own->has_wait;
    judgement->wait_ms = own->wait_ms;
}

/* own: what the answer to a batch says of this job; NULL: the whole answer counts. */
static void end_by_result(struct attempt *attempt, const struct http_outcome *http,
                          const struct batch_result *own)
{
    struct attempt_result result = attempt_result_of(http, attempt->claimed_ms);
    struct form_judgement judgement;
    bool has_jitter = attempt->settings && attempt->settings->jitter_ppm;
    const struct form_answer answer = {
        .job = &attempt->job,
        .result = &result,
        .retry_after_ms = http->retry_after_ms,
        .has_again = http->replies[HTTP_REPLY_AGAIN].is_there,
        .again = http->replies[HTTP_REPLY_AGAIN].value,
        .has_defer = http->replies[HTTP_REPLY_DEFER].is_there,
        .defer = http->replies[HTTP_REPLY_DEFER].value,
        .may_defer = attempt_may_defer(attempt),
        .headers = http->headers,
    };
    attempt->was_answered = http->error == FAILURE_NONE;
    delivery_form_judge(attempt->form, &answer, &judgement);
    if (own)
        judge_own(attempt, own, &result, &judgement);
    else if (attempt->was_in_company && result.error == FAILURE_NONE && !attempt_result_is_success(&result))
        attempt->job.is_alone = true;
    if (judgement.reply_fault) {
        result.error = FAILURE_PROTOCOL;
        result.status = 0;
        result.detail = slice_of(judgement.reply_fault);
    } else if (http->error == FAILURE_TARGET_REFUSED) {
        result.detail = slice_of(attempt->refusal);
    }
    bool has_detail = judgement.final.size && judgement.detail.size;
    if (judgement.defer_ms == 0) /* otherwise it counts when it ends */
        metrics_attempt(attempt->context->metrics, attempt->job.topic,
                        attempt_metric_of(&result, judgement.again_ms > 0), http->duration_ms * 1000);
    attempt_end(attempt, &(struct ending_input){.cause = ENDING_CAUSE_RESULT,
                                                .is_rejected = own && own->verdict == BATCH_BURIED,
                                                .random = has_jitter ? random_bits() : 0,
                                                .result = &result,
                                                .judgement = judgement,
                                                .answer = has_detail ? judgement.detail : http->answer,
                                                .headers = http->headers,
                                                .is_answer_cut = http->is_answer_cut && !has_detail,
                                                .elements = buffer_slice(&attempt->elements)});
}

void attempt_end_by_outcome(struct attempt *attempt, const struct http_outcome *http,
                            const struct batch_result *own)
{
    if (http->error == FAILURE_UNSENT) {
        attempt_end_by(
            attempt,
            ENDING_CAUSE_UNSENT); /* if the lease is lost, Redis answers STALE, which ends the attempt */
    } else if (http->error == FAILURE_CROWDED) {
        metrics_count(attempt->context->metrics, METRICS_COUNTER_HELD_BY_LOOKUPS, 1);
        attempt_hold(attempt, ENDING_CAUSE_HELD, LOOKUPS_WAIT_MS);
    } else {
        end_by_result(attempt, http, own);
    }
}

void attempt_hold_by_identity(struct attempt *attempt, int64_t wait_ms)
{
    metrics_count(attempt->context->metrics, METRICS_COUNTER_HELD_BY_IDENTITY, 1);
    attempt_hold(attempt, ENDING_CAUSE_HELD, wait_ms);
}

static void attempt_on_done(void *arg, const struct http_outcome *http)
{
    struct attempt *attempt = arg;
    attempt->call = NULL;
    if (http->certificate_until_ms)
        receivers_note_certificate(attempt->context->receivers, &attempt->url, http->certificate_until_ms);
    if (identity_is_revoked(&attempt->identity, http))
        attempt_hold_by_identity(attempt, 0);
    else
        attempt_end_by_outcome(attempt, http, NULL);
}

bool attempt_may_send_at(const struct attempt *attempt, int64_t now_us)
{
    int64_t until_us = attempt->renewed_us + STORE_LEASE_MS * INT64_C(1000) - LEASE_SPARE_US;
    return attempt->lease_state == ATTEMPT_LEASE_HELD && now_us < until_us;
}

static bool attempt_may_send(void *arg)
{
    return attempt_may_send_at(arg, clock_boot_us());
}

static void attempt_send(struct attempt *attempt)
{
    int64_t timeout_ms = topic_defaults_timeout_ms(attempt->settings, &attempt->job);
    attempt_move(attempt, ATTEMPT_SENDING);
    attempt->call = attempt_request_send(attempt, timeout_ms, attempt_may_send, attempt_on_done);
    if (!attempt->call)
        attempt_end_by(attempt,
                       job_has_broken_body(&attempt->job) ? ENDING_CAUSE_UNREADABLE : ENDING_CAUSE_NO_MEMORY);
}

/* ---- ARRIVING ---- */

/* Copies the data of the workflow that the request needs. Returns false if there is no memory. */
static bool take_input(struct attempt *attempt, const struct workflow_input *input)
{
    attempt->workflow_ms = input->made_ms;
    attempt->input_kind = input->kind;
    buffer_append(&attempt->elements, input->elements);
    return !attempt->elements.failed;
}

static void attempt_on_arrived(void *arg, enum status status, const struct workflow_input *input)
{
    struct attempt *attempt = arg;
    bool is_known = status == STATUS_OK;
    if (attempt->is_cut)
        attempt_end_by(attempt, ENDING_CAUSE_UNSENT);
    else if (is_known && input->kind == INPUT_DONE)
        attempt_end_by(attempt, ENDING_CAUSE_DONE);
    else if (is_known && input->kind == INPUT_OVER)
        attempt_end_by(attempt, ENDING_CAUSE_OVER);
    else if (is_known && input->kind == INPUT_UNREADABLE)
        attempt_end_by(attempt, ENDING_CAUSE_UNREADABLE);
    else if (is_known && take_input(attempt, input))
        attempt_send(attempt);
    else if (is_known || status == STATUS_NO_MEMORY)
        attempt_end_by(attempt, ENDING_CAUSE_NO_MEMORY);
    else
        attempt_hold(attempt, ENDING_CAUSE_HELD, ARRIVAL_WAIT_MS);
}

/* Sends the request. If the job belongs to a workflow, requests the data for its body first. */
static void attempt_go(struct attempt *attempt)
{
    if (attempt->job.workflow.size == 0) {
        attempt_send(attempt);
        return;
    }
    attempt_move(attempt, ATTEMPT_ARRIVING);
    shard_arrive(attempt->context->shard, attempt->lease.id, attempt_on_arrived, attempt);
}

/* ---- ASKING ---- */

static void attempt_on_permit(void *arg, int64_t wait_ms)
{
    struct attempt *attempt = arg;
    attempt->held_by = attempt->permit.held_by;
    attempt->permit.held_by = NULL;
    if (wait_ms < 0)
        attempt_go(attempt);
    else
        attempt_hold(attempt, ENDING_CAUSE_HELD, wait_ms);
}

bool attempt_needs_permit(const struct attempt *attempt)
{
    const struct topic_settings *settings = attempt->settings;
    return settings && settings->has_breaker ? settings->is_breaker_on
                                             : attempt->context->policy->is_breaker_on;
}

static void ask_permit(struct attempt *attempt)
{
    struct permit *permit = &attempt->permit;
    char name[RECEIVER_NAME_SIZE];
    receiver_path_name(&attempt->url, name);
    enum permit_answer answer =
        permit_ask(permit, attempt->context->receivers, name, attempt_on_permit, attempt);
    if (answer != PERMIT_ASKED)
        attempt_on_permit(attempt, answer == PERMIT_GIVEN ? -1 : permit->wait_ms);
    else if (attempt->state != ATTEMPT_ASKING)
        attempt_move(attempt, ATTEMPT_ASKING);
}

static bool attempt_lacks_key(const struct attempt *attempt)
{
    const struct topic_settings *settings = attempt->settings;
    return topic_auth_is(settings, SLICE("jwt"), &attempt->url) &&
           !identity_keys_have(attempt->context->policy->identity_keys, settings->auth.algorithm);
}

static void attempt_on_identity(void *arg, int64_t wait_ms)
{
    struct attempt *attempt = arg;
    if (wait_ms >= 0)
        attempt_hold_by_identity(attempt, wait_ms);
    else if (attempt_needs_permit(attempt))
        ask_permit(attempt);
    else
        attempt_go(attempt);
}

/* Prepares what says to the receiver who sends the request. Then asks for the permit, if there is one. */
static void ask_identity(struct attempt *attempt)
{
    struct identity_use *use = &attempt->identity;
    enum identity_answer answer = identity_ask(use, attempt->context->identities, attempt->settings,
                                               &attempt->url, attempt_on_identity, attempt);
    if (answer == IDENTITY_ASKED)
        attempt_move(attempt, ATTEMPT_ASKING);
    else
        attempt_on_identity(attempt, answer == IDENTITY_READY ? -1 : use->wait_ms);
}

/* ---- settings that attempts share ---- */

static void settings_share_drop(struct settings_share *share)
{
    if (!share || --share->users > 0)
        return;
    topic_settings_fini(&share->settings);
    free(share->text);
    free(share);
}

void settings_shares_fini(struct settings_shares *shares)
{
    for (size_t i = 0; i < SETTINGS_SHARES_MAX; i++)
        settings_share_drop(shares->items[i]);
}

/* Reads the settings of a topic. Does not keep settings that cannot be read, so that *share is then NULL. */
static enum status settings_share_read(struct slice topic, struct slice written,
                                       struct settings_share **share)
{
    struct settings_share *made = NEW(struct settings_share);
    const char *ignored;
    made->users = 1;
    made->text = memory_resize(NULL, topic.size + written.size);
    memcpy(made->text, topic.data, topic.size);
    memcpy(made->text + topic.size, written.data, written.size);
    made->topic = slice_from(made->text, topic.size);
    made->written = slice_from(made->text + topic.size, written.size);
    enum status status = topic_settings_read_for(made->topic, made->written, &made->settings);
    *share = status == STATUS_OK ? made : NULL;
    if (status != STATUS_OK) {
        free(made->text);
        free(made);
        return status;
    }
    made->has_broken_url =
        made->settings.url.size && url_parse(made->settings.url, &made->url, &ignored) != STATUS_OK;
    if (made->url.host.size)
        receiver_name(&made->url, made->receiver);
    return STATUS_OK;
}

/* Returns the settings of a topic as they are in a claim, with a use of them. */
static enum status settings_share_find(struct settings_shares *shares, struct slice topic,
                                       struct slice written, struct settings_share **share)
{
    struct settings_share **place = &shares->items[hash_of(topic) % SETTINGS_SHARES_MAX];
    /* Settings that lack a key are read anew, because a reload may bring the key. */
    bool is_same = *place && slice_equal((*place)->topic, topic) && slice_equal((*place)->written, written) &&
                   (*place)->settings.lacks.size == 0;
    enum status status = is_same ? STATUS_OK : settings_share_read(topic, written, share);
    if (status != STATUS_OK)
        return status;
    if (!is_same) {
        settings_share_drop(*place);
        *place = *share;
    }
    *share = *place;
    (*share)->users++;
    return STATUS_OK;
}

/* ---- READING ---- */

static void give_back_unserved(struct attempt *attempt, enum unserved_why why, struct slice lacks)
{
    const struct attempt_context *context = attempt->context;
    struct slice topic, job_id, id = attempt->lease.id;
    int64_t now_us = clock_boot_us();
    slice_cut(id, '/', &topic, &job_id);
    unserved_warn(context->unserved, now_us, why, why == UNSERVED_JOB_LACKS ? id : topic, lacks);
    metrics_count(context->metrics, METRICS_COUNTER_HELD_UNSERVED, 1);
    attempt_hold(attempt, ENDING_CAUSE_UNSERVED, hold_unserved_ms(context->unserved, clock_wait_us()));
}

/* Holds a job that has no url, because its topic has lost the url or is no longer a pull topic. The jobs of
 * the topic resume when a change of the settings mends this. */
static void hold_without_url(struct attempt *attempt)
{
    const struct attempt_context *context = attempt->context;
    int64_t now_us = clock_boot_us();
    attempt->lacks_url = true;
    unserved_warn(context->unserved, now_us, UNSERVED_NO_URL, attempt->job.topic, SLICE(""));
    metrics_count(context->metrics, METRICS_COUNTER_HELD_WITHOUT_URL, 1);
    attempt_hold(attempt, ENDING_CAUSE_HELD, hold_unserved_ms(context->unserved, clock_wait_us()));
}

/* Reads the settings of the job's topic. Without these settings, a job could be sent unsigned or to the wrong
 * url. Returns false if the settings cannot be used; the job is then released. */
static bool read_settings(struct attempt *attempt, struct slice text)
{
    struct slice topic, job_id;
    slice_cut(attempt->lease.id, '/', &topic, &job_id);
    enum status status = settings_share_find(attempt->context->shares, topic, text, &attempt->share);
    if (status == STATUS_OK)
        attempt->settings = &attempt->share->settings;
    if (status == STATUS_OK && attempt->settings->lacks.size == 0)
        return true;
    if (status == STATUS_OK)
        give_back_unserved(attempt, UNSERVED_TOPIC_LACKS, attempt->settings->lacks);
    else if (status == STATUS_NO_MEMORY)
        attempt_end_by(attempt, ENDING_CAUSE_NO_MEMORY);
    else
        give_back_unserved(attempt, UNSERVED_SETTINGS, SLICE(""));
    return false;
}

/* Sets the parts of the url, if the job or its topic has one. Returns false if the url is broken. */
static bool read_url(struct attempt *attempt)
{
    const char *ignored;
    if (attempt->job.url.size)
        return url_parse(attempt->job.url, &attempt->url, &ignored) == STATUS_OK;
    if (attempt->share)
        attempt->url = attempt->share->url;
    return !attempt->share || !attempt->share->has_broken_url;
}

/* Returns whether the job is sent in the form of a batch, which may have this job only. */
static bool is_for_batch(const struct attempt *attempt)
{
    const struct job *job = &attempt->job;
    return attempt->settings && attempt->settings->batch_size && job->form.size == 0 &&
           job->workflow.size == 0 && job->method == JOB_METHOD_POST && !job_has_broken_body(job);
}

static void attempt_read(struct attempt *attempt, struct slice settings, int64_t now_ms)
{
    bool is_whole = attempt->record.data != NULL;
    bool is_job = is_whole && job_read(attempt->lease.id, attempt->record, &attempt->job) == STATUS_OK;
    if (!is_whole)
        job_init(&attempt->job);
    if (settings.size && !read_settings(attempt, settings))
        return;
    bool lacks = is_job && attempt->job.lacks.size;
    attempt->form = delivery_form_find(attempt->context->policy->forms, attempt->job.form);
    if (!is_whole)
        attempt_end_by(attempt, ENDING_CAUSE_NO_MEMORY);
    else if (lacks)
        give_back_unserved(attempt, UNSERVED_JOB_LACKS, attempt->job.lacks);
    else if (!attempt->form)
        give_back_unserved(attempt, UNSERVED_JOB_LACKS, attempt->job.form);
    else if (!is_job || !read_url(attempt))
        attempt_end_by(attempt, ENDING_CAUSE_UNREADABLE);
    else if (job_is_expired(&attempt->job, now_ms))
        attempt_end_by(attempt, ENDING_CAUSE_EXPIRED);
    else if (ending_is_exhausted(&attempt->job, attempt->settings, attempt->context->policy->schedule))
        attempt_end_by(attempt, ENDING_CAUSE_EXHAUSTED);
    else if (attempt->url.host.size == 0)
        hold_without_url(attempt);
    else if (attempt_lacks_key(attempt))
        give_back_unserved(attempt, UNSERVED_NO_KEY, SLICE(""));
    else if (is_for_batch(attempt))
        attempt_move(attempt, ATTEMPT_GATHERED);
    else
        ask_identity(attempt);
}

/* Copies bytes to "to", and returns the copy. */
static struct slice slice_copy(struct slice bytes, char *to)
{
    if (bytes.size)
        memcpy(to, bytes.data, bytes.size);
    return slice_from(to, bytes.size);
}

struct attempt *attempt_start(const struct attempt_context *context, const struct shard_claimed *claimed,
                              const struct nonce *nonce, int64_t claim_us, int64_t now_ms)
{
    size_t inside = claimed->record.size <= RECORD_INSIDE_MAX ? claimed->record.size : 0;
    struct attempt *attempt = memory_resize(NULL, sizeof *attempt + claimed->id.size + inside);
    memset(attempt, 0, offsetof(struct attempt, job));
    clock_note_work(1);
    list_init(&attempt->link);
    attempt->context = context;
    attempt->used_identity = &attempt->identity;
    attempt->renewed_us = claim_us;
    attempt->claimed_ms = now_ms;
    attempt->late_ms = now_ms - claimed->due_ms;
    attempt->held_ms = claimed->free_ms - claimed->due_ms;
    attempt->lease.nonce = *nonce;
    attempt->bytes = claimed->record.size;
    attempt->lease.id = slice_copy(claimed->id, attempt->room);
    if (claimed->record.size <= RECORD_INSIDE_MAX)
        attempt->record = slice_copy(claimed->record, attempt->room + claimed->id.size);
    else if (claimed->record.size <= JOB_RECORD_MAX && (attempt->large_record = malloc(claimed->record.size)))
        attempt->record = slice_copy(claimed->record, attempt->large_record);
    ending_texts_init(&attempt->texts);
    buffer_init_fallible(&attempt->payload, JOB_RECORD_MAX);
    buffer_init_fallible(&attempt->elements, JOB_RECORD_MAX);
    buffer_init(&attempt->header_text, HEADER_TEXT_MAX);
    attempt_read(attempt, claimed->settings, now_ms);
    return attempt;
}

size_t attempt_bytes(const struct attempt *attempt)
{
    return attempt->bytes;
}

bool attempt_was_held(const struct attempt *attempt)
{
    return attempt->state == ATTEMPT_RECORDING && attempt->ending.verdict == ENDING_RELEASE;
}

/* ---- in any state ---- */

static void attempt_on_renewed(void *arg, enum status status)
{
    struct attempt *attempt = arg;
    bool is_lingering = status == STATUS_NOT_FOUND || status == STATUS_REPLACED;
    if (status == STATUS_OK || is_lingering)
        attempt->renewed_us = attempt->renewing_us;
    if (is_lingering)
        attempt->lease_state = ATTEMPT_LEASE_LINGERING;
    else if (status == STATUS_STALE)
        attempt->lease_state = ATTEMPT_LEASE_LOST;
    attempt->renewing_us = 0;
    if (attempt->state == ATTEMPT_OVER)
        attempt_tell_end(attempt);
}

int64_t attempt_last_renewal_us(const struct attempt *attempt)
{
    return attempt->renewing_us ? attempt->renewing_us : attempt->renewed_us;
}

void attempt_renew(struct attempt *attempt)
{
    if (attempt->renewing_us || attempt->lease_state == ATTEMPT_LEASE_LOST)
        return;
    attempt->renewing_us = clock_boot_us();
    shard_renew(attempt->context->shard, &attempt->lease, attempt_on_renewed, attempt);
}

void attempt_cut(struct attempt *attempt)
{
    attempt->is_cut = true;
    if (attempt->state == ATTEMPT_SENDING) {
        if (http_call_hurry(attempt->call))
            return; /* attempt_on_done follows */
        http_call_abort(attempt->call);
        attempt->call = NULL;
    } else if (attempt->state != ATTEMPT_ASKING) {
        return;
    }
    attempt_end_by(attempt, ENDING_CAUSE_UNSENT);
}

void attempt_free(struct attempt *attempt)
{
    clock_note_work(-1);
    if (attempt->call)
        http_call_abort(attempt->call);
    permit_drop(&attempt->permit);
    identity_drop(&attempt->identity);
    list_remove(&attempt->link);
    job_fini(&attempt->job);
    settings_share_drop(attempt->share);
    free(attempt->held_by);
    free(attempt->host);
    free(attempt->span);
    free(attempt->large_record);
    ending_texts_fini(&attempt->texts);
    buffer_fini(&attempt->payload);
    buffer_fini(&attempt->elements);
    buffer_fini(&attempt->header_text);
    free(attempt);
}
