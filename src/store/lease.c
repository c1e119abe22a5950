/* lease.c - renews and ends leases of consumers and workers, and looks at leases that have run out. */
#include <stdio.h>

#include "base/system.h"
#include "job/lease_text.h"
#include "store/store_private.h"

/* ---- ending a lease ---- */

static void lease_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    int64_t code = redis_reply_integer(result);
    bool is_repeated = code == COMPLETED_BEFORE; /* no other script has this result */
    if (status == STATUS_OK && (code <= 0 || is_repeated))
        status = code == RESULT_CANCELLED  ? STATUS_NOT_FOUND
                 : code == RESULT_REPLACED ? STATUS_REPLACED
                 : code == RESULT_NO_LINE  ? STATUS_NO_LINE
                                           : STATUS_STALE;
    CALL_FN(call, shard_done_fn)(call->arg, status);
}

static struct store_call *lease_call(struct shard *shard, enum shard_batch batch, const struct lease *lease,
                                     store_call_end_fn *end, any_fn *fn, void *arg)
{
    struct store_call *call = store_call_new(shard, batch, end, fn, arg);
    struct slice job_id;
    store_call_text(call, lease->id);
    store_call_text(call, slice_of(lease->nonce.text));
    slice_cut(lease->id, '/', &call->topic, &job_id);
    call->topic_weight = BATCH_END_WEIGHT;
    return call;
}

static void send_complete(struct store_call *call, const struct shard_end *end)
{
    store_call_text(call, end->attempt);
    store_call_follow(call, &end->follow);
    call->bytes += end->record.size; /* the script may read as much */
    call->may_wait = end->may_wait;
    store_call_send(call);
}

static void send_retry(struct store_call *call, int64_t wait_ms, const struct shard_end *end)
{
    store_call_number(call, wait_ms);
    store_call_text(call, end->record);
    store_call_text(call, end->attempt);
    store_call_follow(call, &end->follow);
    store_call_send(call);
}

static void send_bury(struct store_call *call, const struct shard_end *end)
{
    store_call_text(call, end->record);
    store_call_text(call, end->attempt);
    store_call_follow(call, &end->follow);
    call->bytes += BATCH_BURY_WEIGHT;
    store_call_send(call);
}

static void send_release(struct store_call *call, const struct shard_hold *hold)
{
    store_call_number(call, hold->wait_ms);
    store_call_number(call, hold->claimed_ms);
    store_call_text(call, hold->receiver.size ? hold->receiver : SLICE("-"));
    store_call_text(call, hold->lacks_url ? SLICE("url") : hold->is_by_setting ? SLICE("1") : SLICE("0"));
    store_call_send(call);
}

void shard_complete(struct shard *shard, const struct lease *lease, const struct shard_end *end,
                    shard_done_fn *fn, void *arg)
{
    send_complete(lease_call(shard, SHARD_BATCH_COMPLETE, lease, lease_end, ANY_FN(fn), arg), end);
}

void shard_retry(struct shard *shard, const struct lease *lease, int64_t wait_ms, const struct shard_end *end,
                 shard_done_fn *fn, void *arg)
{
    send_retry(lease_call(shard, SHARD_BATCH_RETRY, lease, lease_end, ANY_FN(fn), arg), wait_ms, end);
}

void shard_bury(struct shard *shard, const struct lease *lease, const struct shard_end *end,
                shard_done_fn *fn, void *arg)
{
    send_bury(lease_call(shard, SHARD_BATCH_BURY, lease, lease_end, ANY_FN(fn), arg), end);
}

void shard_release(struct shard *shard, const struct lease *lease, const struct shard_hold *hold,
                   shard_done_fn *fn, void *arg)
{
    send_release(lease_call(shard, SHARD_BATCH_RELEASE, lease, lease_end, ANY_FN(fn), arg), hold);
}

void shard_renew(struct shard *shard, const struct lease *lease, shard_done_fn *fn, void *arg)
{
    struct store_call *call = lease_call(shard, SHARD_BATCH_RENEW, lease, lease_end, ANY_FN(fn), arg);
    call->topic = SLICE("");
    store_call_number(call, STORE_LEASE_MS);
    store_call_text(call, SLICE(""));
    store_call_send(call);
}

static void send_defer(struct store_call *call, const struct shard_deferral *deferral)
{
    store_call_number(call, deferral->lease_ms);
    store_call_number(call, deferral->began_ms);
    store_call_text(call, deferral->has_callbacks ? SLICE("+") : SLICE("-"));
    store_call_send(call);
}

void shard_defer(struct shard *shard, const struct lease *lease, const struct shard_deferral *deferral,
                 shard_done_fn *fn, void *arg)
{
    send_defer(lease_call(shard, SHARD_BATCH_DEFER, lease, lease_end, ANY_FN(fn), arg), deferral);
}

/* Beginning of the nonce of a deferred attempt, see scripts/defer.lua. The token of a lease that a worker has
 * requested has another form, so only the token of the attempt ends it. */
#define DEFERRED_MARK "p-"

bool shard_defer_nonce(struct nonce *nonce)
{
    struct nonce first = *nonce;
    return snprintf(nonce->text, sizeof nonce->text, DEFERRED_MARK "%s", first.text) <
           (int)sizeof nonce->text;
}

void shard_defer_token(const struct shard *shard, const struct lease *lease, int64_t began_ms,
                       struct buffer *token)
{
    defer_token_write(redis_state_secret(shard->redis_state), lease->id, slice_of(lease->nonce.text),
                      began_ms, token);
}

/* ---- ending a lease at the request of a worker, with the configured durability ---- */

static void confirmed_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    CALL_FN(call, lease_confirmed_fn)(call->arg, status, redis_reply_integer(result), call->now_us);
}

void lease_take(struct shard *shard, const struct lease *lease, const struct shard_deferral *deferral,
                lease_confirmed_fn *fn, void *arg)
{
    send_defer(lease_call(shard, SHARD_BATCH_PULL_DEFER, lease, confirmed_end, ANY_FN(fn), arg), deferral);
}

void lease_confirm(struct shard *shard, enum lease_end_kind kind, const struct lease *lease, int64_t ms,
                   const struct shard_end *end, lease_confirmed_fn *fn, void *arg)
{
    static const enum shard_batch batches[] = {[LEASE_END_COMPLETE] = SHARD_BATCH_PULL_COMPLETE,
                                               [LEASE_END_RETRY] = SHARD_BATCH_PULL_RETRY,
                                               [LEASE_END_BURY] = SHARD_BATCH_PULL_BURY,
                                               [LEASE_END_RELEASE] = SHARD_BATCH_PULL_RELEASE,
                                               [LEASE_END_EXTEND] = SHARD_BATCH_PULL_RENEW};
    static const struct shard_end nothing = {.may_wait = false};
    struct store_call *call = lease_call(shard, batches[kind], lease, confirmed_end, ANY_FN(fn), arg);
    if (!end)
        end = &nothing;
    switch (kind) {
    case LEASE_END_COMPLETE:
        send_complete(call, end);
        break;
    case LEASE_END_RETRY:
        send_retry(call, ms, end);
        break;
    case LEASE_END_BURY:
        send_bury(call, end);
        break;
    case LEASE_END_RELEASE: /* nothing holds the job, so the time of the claim is not needed */
        send_release(call, &(struct shard_hold){.wait_ms = SHARD_NO_WAIT});
        break;
    case LEASE_END_EXTEND:
        store_call_number(call, ms);
        store_call_text(call, end->progress);
        store_call_send(call);
        break;
    }
}

/* ---- leases that have run out, and expired jobs ---- */

enum {
    RECOVER_MAX = 256, /* maximum number of consumers' leases in one call */
    LAPSED_MAX = 100,  /* maximum number of workers' leases in one call */
    EXPIRED_MAX = 512, /* maximum number of expired jobs in one call */
    FIRST_LOST = 3,    /* index of the first job in a reply */
    LOST_PARTS = 5,    /* id, nonce, due time, time of the lease, record */
};

/* Nonces of recovery begin with this mark, see Attempts.is_recovering in scripts/lib/attempts.lua. */
#define RECOVERY_MARK "!"

/* Sets each job's settings to those of its topic. In the reply, the topics and their settings follow the
 * jobs, from position at on. */
static void give_settings(const struct redis_reply *reply, size_t at, struct shard_lost_job *jobs,
                          size_t count)
{
    for (; at + 1 < redis_reply_size(reply); at += 2) {
        struct slice topic = redis_reply_text(redis_reply_at(reply, at));
        for (size_t i = 0; i < count; i++)
            if (jobs[i].id.size > topic.size && jobs[i].id.data[topic.size] == '/' &&
                slice_starts_with(jobs[i].id, topic))
                jobs[i].settings = redis_reply_text(redis_reply_at(reply, at + 1));
    }
}

/* Returns false if neither recover.lua nor expire.lua can have sent this reply. */
static bool read_lost(const struct redis_reply *reply, size_t max, struct shard_lost_job jobs[EXPIRED_MAX],
                      struct shard_lost *lost)
{
    int64_t now_us = redis_reply_integer(redis_reply_at(reply, 0));
    int64_t number = redis_reply_integer(redis_reply_at(reply, 1));
    if (now_us <= 0 || number < 0 || number > (int64_t)max ||
        !reply_count(reply, 2, FIRST_LOST, LOST_PARTS, max, &lost->count))
        return false;
    lost->now_ms = now_us / 1000;
    lost->number = (size_t)number;
    lost->is_full = (size_t)number == max;
    for (size_t i = 0; i < lost->count; i++) {
        size_t at = FIRST_LOST + i * LOST_PARTS;
        jobs[i] = (struct shard_lost_job){.id = redis_reply_text(redis_reply_at(reply, at)),
                                          .due_ms = redis_reply_integer(redis_reply_at(reply, at + 2)),
                                          .leased_ms = redis_reply_integer(redis_reply_at(reply, at + 3)),
                                          .record = redis_reply_text(redis_reply_at(reply, at + 4))};
        snprintf(jobs[i].nonce.text, sizeof jobs[i].nonce.text, "%.*s",
                 SLICE_ARG(redis_reply_text(redis_reply_at(reply, at + 1))));
    }
    give_settings(reply, FIRST_LOST + lost->count * LOST_PARTS, jobs, lost->count);
    return true;
}

/* call->note: the maximum number of jobs */
static void lost_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct shard_lost_job jobs[EXPIRED_MAX];
    struct shard_lost lost = {.jobs = jobs};
    if (status == STATUS_OK && redis_reply_integer(redis_reply_at(reply, 1)) < 0)
        status = STATUS_STALE;
    if (status == STATUS_OK && !read_lost(reply, (size_t)call->note, jobs, &lost)) {
        lost.count = 0;
        status = reply_refuse(call->script == SCRIPT_RECOVER ? "recover" : "expire");
    }
    CALL_FN(call, shard_lost_fn)(call->arg, status, &lost);
}

void shard_recover(struct shard *shard, enum lease_holder holder, int64_t expected_ms, shard_lost_fn *fn,
                   void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_RECOVER, shard->worker, lost_end, ANY_FN(fn), arg);
    struct nonce nonce;
    uint32_t seed;
    random_fill(&seed, sizeof seed);
    shard_next_nonce(shard, RECOVERY_MARK, &nonce);
    call->note = holder == LEASE_OF_WORKER ? LAPSED_MAX : RECOVER_MAX;
    store_call_text(call, holder == LEASE_OF_WORKER ? SLICE("workers") : SLICE("consumers"));
    store_call_number(call, STORE_LEASE_MS);
    store_call_number(call, expected_ms);
    store_call_number(call, call->note);
    store_call_number(call, seed);
    store_call_text(call, slice_of(nonce.text));
    store_call_send(call);
}

void shard_list_expired(struct shard *shard, int64_t expected_ms, shard_lost_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_EXPIRE, shard->worker, lost_end, ANY_FN(fn), arg);
    call->note = EXPIRED_MAX;
    store_call_number(call, call->note);
    store_call_number(call, expected_ms);
    store_call_send(call);
}
