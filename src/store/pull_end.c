/* pull_end.c - ends and extends leases at the request of workers.
 *
 * complete, release and extend take one script call each. retry and bury read the job first, because C
 * writes the job's new record and its callbacks. If complete.lua reports that the job has callbacks,
 * complete reads the job, too, and calls the script again. Each script ends or extends a lease only if the
 * token is that lease's nonce. */
#include <stdio.h>

#include "base/seal.h"
#include "base/log.h"
#include "base/memory.h"
#include "store/pull.h"
#include "store/store_private.h"

/* ---- a worker's call ---- */

struct pull_call {
    struct shard *shard;
    struct lease_end what;
    struct lease lease;
    struct lease_ended ended;
    struct buffer result;   /* a newline and the result for complete.lua, or empty */
    struct buffer progress; /* for renew.lua */
    /* The token is that of an attempt. first: the consumer's lease, which may be the worker's by now;
     * was_taken: it is, because of this call */
    bool is_of_attempt, was_taken;
    struct lease first;
    int64_t began_ms;
    store_pull_end_fn *fn;
    void *arg;
};

static void pull_call_run(struct pull_call *);

static void pull_call_end(struct pull_call *call, enum status status)
{
    bool has_result = status_is_done(status) || status == STATUS_STALE;
    call->fn(call->arg, status, has_result ? &call->ended : NULL);
    buffer_fini(&call->result);
    buffer_fini(&call->progress);
    free(call);
}

static void on_state(void *arg, enum status status, const struct stored_job *job)
{
    struct pull_call *call = arg;
    if (status != STATUS_OK && status != STATUS_NOT_FOUND) {
        pull_call_end(call, STATUS_UNAVAILABLE); /* only a read has failed, so nothing has changed */
        return;
    }
    call->ended.has_state = status == STATUS_OK;
    if (call->ended.has_state) {
        call->ended.state = job->state;
        call->ended.now_ms = job->now_ms;
    }
    pull_call_end(call, STATUS_STALE);
}

/* How long the lease of an attempt lasts whose token comes before the receiver's answer. The call ends or
 * extends it at once. */
#define TAKEN_LEASE_MS INT64_C(10000)

static void on_taken(void *arg, enum status status, int64_t code, int64_t now_us)
{
    struct pull_call *call = arg;
    call->ended.now_ms = now_us / 1000;
    if (status_is_done(status) && code > 0) {
        pull_call_run(call);
    } else if (status_is_done(status)) {
        call->ended.was_replaced |= code == RESULT_REPLACED;
        shard_read(call->shard, call->what.id, true, on_state, call);
    } else {
        pull_call_end(call, status);
    }
}

/* The token of an attempt may come before the answer to its request: the lease is that of the consumer then.
 * Makes it a worker's, and runs the call once more. Returns false if this is not the case. */
static bool pull_call_take(struct pull_call *call)
{
    if (!call->is_of_attempt || call->was_taken)
        return false;
    call->was_taken = true;
    lease_take(call->shard, &call->first, &(struct shard_deferral){TAKEN_LEASE_MS, call->began_ms, true},
               on_taken, call);
    return true;
}

static void pull_call_refuse(struct pull_call *call)
{
    if (pull_call_take(call))
        return;
    shard_read(call->shard, call->what.id, true, on_state, call);
}

/* Refuses a call because its token holds no lease. Before that, sends a release with this token: if the
 * job was cancelled or replaced, its attempt no longer counts as in flight after this release. Otherwise, the
 * release changes nothing. */
static void on_lingering_ended(void *arg, enum status status, int64_t code, int64_t now_us)
{
    struct pull_call *call = arg;
    (void)now_us;
    call->ended.was_replaced = status_is_done(status) && code == RESULT_REPLACED;
    pull_call_refuse(call);
}

static void pull_call_end_lingering(struct pull_call *call)
{
    if (pull_call_take(call))
        return;
    lease_confirm(call->shard, LEASE_END_RELEASE, &call->lease, 0, NULL, on_lingering_ended, call);
}

/* ---- with the record ---- */

/* retry.lua counts the wait from the first whole millisecond that has not begun. */
static void on_pull_call_ended(void *arg, enum status status, const struct ending *ending, int64_t now_us)
{
    struct pull_call *call = arg;
    if (status == STATUS_STALE) {
        pull_call_refuse(call);
        return;
    }
    if (status_is_done(status)) {
        call->ended.now_ms = now_us / 1000;
        call->ended.is_dead = ending->verdict == ENDING_BURY;
        call->ended.reason = ending->reason;
        if (ending->verdict == ENDING_RETRY)
            call->ended.at_ms = (now_us + 999) / 1000 + ending->wait_ms;
    }
    pull_call_end(call, status);
}

static void end_pulled(struct pull_call *call, const struct redis_reply *result)
{
    static const enum pull_cause causes[] = {[LEASE_END_COMPLETE] = PULL_CAUSE_COMPLETED,
                                             [LEASE_END_RETRY] = PULL_CAUSE_FAILED,
                                             [LEASE_END_BURY] = PULL_CAUSE_REJECTED};
    struct pulled pulled = {
        .id = call->what.id,
        .nonce = call->lease.nonce,
        .due_ms = redis_reply_integer(redis_reply_at(result, 0)),
        .leased_ms = redis_reply_integer(redis_reply_at(result, 1)),
        .record = redis_reply_text(redis_reply_at(result, 2)),
        .settings = redis_reply_text(redis_reply_at(result, 3)),
    };
    struct pull_ending_facts facts = {
        .cause = causes[call->what.kind],
        .now_ms = call->ended.now_ms,
        .error = call->what.error,
        .result = call->what.result,
        .has_delay = call->what.has_delay,
        .delay_ms = call->what.delay_ms,
        .schedule = call->what.schedule,
        .is_confirmed = true,
    };
    pull_end(call->shard, &pulled, &facts, on_pull_call_ended, call);
}

static void pulled_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct pull_call *pull = call->arg;
    pull->ended.now_ms = call->now_us / 1000;
    if (status != STATUS_OK)
        pull_call_end(pull, status);
    else if (redis_reply_size(result) == 0)
        pull_call_end_lingering(pull);
    else
        end_pulled(pull, result);
}

static void pull_call_read(struct pull_call *pull)
{
    struct store_call *call = store_call_new(pull->shard, SHARD_BATCH_PULLED, pulled_end, NULL, pull);
    store_call_text(call, pull->what.id);
    store_call_text(call, slice_of(pull->lease.nonce.text));
    store_call_send(call);
}

/* ---- in one call ---- */

static void note_completed(const struct pull_call *call, int64_t leased_ms)
{
    struct metrics *metrics = call->shard->options->metrics;
    struct slice topic, job_id;
    int64_t duration_ms = call->ended.now_ms - leased_ms;
    slice_cut(call->what.id, '/', &topic, &job_id);
    metrics_attempt(metrics, topic, METRICS_RESULT_DELIVERED, duration_ms > 0 ? duration_ms * 1000 : 0);
    metrics_ended(metrics, topic, METRICS_END_DELIVERED);
    log_info("job_delivered", LOG_SLICE("job", call->what.id), LOG_NUMBER("ms", duration_ms));
}

static void on_pull_completed(void *arg, enum status status, int64_t code, int64_t now_us)
{
    struct pull_call *call = arg;
    call->ended.now_ms = now_us / 1000;
    if (status == STATUS_OK && code == RESULT_NO_RECORD) {
        pull_call_read(call);
        return;
    }
    if (status_is_done(status) && code <= 0) {
        call->ended.was_replaced = code == RESULT_REPLACED;
        pull_call_refuse(call);
        return;
    }
    call->ended.is_repeated = code == COMPLETED_BEFORE;
    if (status_is_done(status) && !call->ended.is_repeated)
        note_completed(call, code);
    pull_call_end(call, status);
}

static void on_pull_changed(void *arg, enum status status, int64_t code, int64_t now_us)
{
    struct pull_call *call = arg;
    call->ended.now_ms = now_us / 1000;
    if (status_is_done(status) && code <= 0) {
        call->ended.was_replaced = code == RESULT_REPLACED;
        pull_call_refuse(call);
        return;
    }
    if (call->what.kind == LEASE_END_EXTEND)
        call->ended.at_ms = code;
    pull_call_end(call, status);
}

/* ---- the call ---- */

static void pull_call_run(struct pull_call *call)
{
    struct shard_end end = {.attempt = buffer_slice(&call->result),
                            .progress = buffer_slice(&call->progress)};
    switch (call->what.kind) {
    case LEASE_END_COMPLETE:
        lease_confirm(call->shard, LEASE_END_COMPLETE, &call->lease, 0, &end, on_pull_completed, call);
        break;
    case LEASE_END_RETRY:
    case LEASE_END_BURY:
        pull_call_read(call);
        break;
    case LEASE_END_EXTEND:
        lease_confirm(call->shard, LEASE_END_EXTEND, &call->lease, call->what.lease_ms, &end, on_pull_changed,
                      call);
        break;
    case LEASE_END_RELEASE:
        lease_confirm(call->shard, LEASE_END_RELEASE, &call->lease, 0, NULL, on_pull_changed, call);
        break;
    }
}

/* Copies a token. Returns false if the text cannot be a token. */
static bool read_token(struct slice token, struct nonce *nonce)
{
    if (token.size < 2 || token.size > STORE_NONCE_MAX || token.data[0] != 'p')
        return false;
    for (size_t i = 1; i < token.size; i++)
        if (!strchr("0123456789abcdef", token.data[i]) || !token.data[i])
            return false;
    memcpy(nonce->text, token.data, token.size);
    return true;
}

/* Reads the token of an attempt, and writes the nonce of the worker's lease that it becomes. */
static bool read_attempt_token(struct pull_call *call)
{
    struct slice nonce;
    if (!defer_token_read(redis_state_secret(call->shard->redis_state), call->what.id, call->what.token,
                          &nonce, &call->began_ms) ||
        nonce.size == 0 || nonce.size > STORE_NONCE_MAX)
        return false;
    call->first.id = call->what.id;
    memcpy(call->first.nonce.text, nonce.data, nonce.size);
    call->lease.nonce = call->first.nonce;
    call->is_of_attempt = shard_defer_nonce(&call->lease.nonce);
    return call->is_of_attempt;
}

bool store_knows_token(struct store *store, struct slice id, struct slice token)
{
    struct slice nonce;
    int64_t began_ms;
    return defer_token_read(redis_state_secret(store_shard_of(store, id)->redis_state), id, token, &nonce,
                            &began_ms);
}

void store_pull_end(struct store *store, const struct lease_end *what, store_pull_end_fn *fn, void *arg)
{
    struct pull_call *call = NEW(struct pull_call);
    call->shard = store_shard_of(store, what->id);
    buffer_init_fallible(&call->result, SEAL_SIZE(what->result.size) + 16);
    buffer_init_fallible(&call->progress, SEAL_SIZE(what->progress.size) + 16);
    if (what->result.size) {
        buffer_append_byte(&call->result, '\n');
        job_value_write(what->id, JOB_RESULT, what->result, &call->result);
    }
    if (what->progress.size)
        job_value_write(what->id, JOB_PROGRESS, what->progress, &call->progress);
    call->what = *what;
    call->lease.id = what->id;
    call->fn = fn;
    call->arg = arg;
    if (call->result.failed || call->progress.failed)
        pull_call_end(call, STATUS_NO_MEMORY);
    else if (read_attempt_token(call) || read_token(what->token, &call->lease.nonce))
        pull_call_run(call);
    else
        pull_call_refuse(call);
}
