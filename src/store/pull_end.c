/* pull_end.c - ends and extends leases at the request of workers.
 *
 * complete, release and extend take one script call each. retry and bury read the job first, because C
 * writes the job's new record and its callbacks. If complete.lua reports that the job has callbacks,
 * complete reads the job, too, and calls the script again. Each script ends or extends a lease only if the
 * token is that lease's nonce. */
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "store/pull.h"
#include "store/pull_ending.h"
#include "store/reply.h"
#include "store/shard_private.h"

enum { COMPLETED_BEFORE = 2 /* result of complete.lua: the same token has completed the job before */ };

/* ---- items ---- */

struct pull_item {
    struct batch_item item;
    struct batch *batch;
    const struct lease *lease;
    int64_t number;
    struct shard_end end;
    pull_sent_fn *fn;
    void *arg;
};

void pull_send(struct shard *shard, int batch, const struct lease *lease, int64_t number,
               const struct shard_end *end, pull_sent_fn *fn, void *arg)
{
    struct pull_item *item = NEW(struct pull_item);
    struct slice job_id;
    item->batch = &shard->batches[batch];
    item->lease = lease;
    item->number = number;
    item->fn = fn;
    item->arg = arg;
    if (end)
        item->end = *end;
    item->item.follow = &item->end.follow;
    slice_cut(lease->id, '/', &item->item.topic, &job_id);
    item->item.topic_weight = BATCH_END_WEIGHT;
    item->item.bytes = lease->id.size + item->end.record.size + item->end.attempt.size + BATCH_ITEM_OVERHEAD;
    if (batch == SHARD_BATCH_PULL_BURY)
        item->item.bytes += BATCH_BURY_WEIGHT;
    for (size_t i = 0; i < item->end.follow.count; i++)
        item->item.bytes += item->end.follow.jobs[i].record.size + BATCH_ITEM_OVERHEAD;
    batch_add(item->batch, &item->item);
}

static void add_lease(const struct pull_item *item, struct script_call *call)
{
    script_call_text(call, item->lease->id);
    script_call_text(call, slice_of(item->lease->nonce.text));
}

static void add_complete(const struct batch_item *item, struct script_call *call)
{
    add_lease((const struct pull_item *)item, call);
    script_call_text(call, ((const struct pull_item *)item)->end.attempt);
}

static void add_retry(const struct batch_item *item, struct script_call *call)
{
    const struct pull_item *entry = (const struct pull_item *)item;
    add_lease(entry, call);
    script_call_number(call, entry->number);
    script_call_text(call, entry->end.record);
    script_call_text(call, entry->end.attempt);
}

static void add_bury(const struct batch_item *item, struct script_call *call)
{
    const struct pull_item *entry = (const struct pull_item *)item;
    add_lease(entry, call);
    script_call_text(call, entry->end.record);
    script_call_text(call, entry->end.attempt);
}

static void add_release(const struct batch_item *item, struct script_call *call)
{
    add_lease((const struct pull_item *)item, call);
    script_call_number(call, SHARD_NO_WAIT);
    script_call_number(call, 0); /* time of the claim; needed only if the job is held */
    script_call_text(call, SLICE("-"));
    script_call_number(call, 0); /* no breaker */
}

static void add_extend(const struct batch_item *item, struct script_call *call)
{
    add_lease((const struct pull_item *)item, call);
    script_call_number(call, ((const struct pull_item *)item)->number);
}

static void end_pull_item(struct batch_item *item, enum status status, int64_t now_us,
                          const struct redis_reply *result)
{
    struct pull_item *entry = (struct pull_item *)item;
    int64_t code = redis_reply_integer(result);
    if (status == STATUS_OK && code == RESULT_AGAIN) {
        batch_add(entry->batch, item);
        return;
    }
    entry->fn(entry->arg, status, code, now_us);
    free(entry);
}

const struct batch_kind pull_complete_kind = {SCRIPT_COMPLETE, OWNER_CALLS_MAX, true, NULL,
                                              add_complete,    end_pull_item};
const struct batch_kind pull_retry_kind = {SCRIPT_RETRY, OWNER_CALLS_MAX, true,
                                           NULL,         add_retry,       end_pull_item};
const struct batch_kind pull_bury_kind = {SCRIPT_BURY, OWNER_CALLS_MAX, true, NULL, add_bury, end_pull_item};
const struct batch_kind pull_release_kind = {SCRIPT_RELEASE, OWNER_CALLS_MAX, true,
                                             NULL,           add_release,     end_pull_item};
const struct batch_kind pull_extend_kind = {SCRIPT_EXTEND, OWNER_CALLS_MAX, true,
                                            NULL,          add_extend,      end_pull_item};

/* ---- a worker's call ---- */

struct pull_call {
    struct batch_item item; /* item of pulled.lua */
    struct shard *shard;
    struct lease_end what;
    struct lease lease;
    struct lease_ended ended;
    store_pull_end_fn *fn;
    void *arg;
};

static void pull_call_end(struct pull_call *call, enum status status)
{
    bool has_result = status_is_done(status) || status == STATUS_STALE;
    call->fn(call->arg, status, has_result ? &call->ended : NULL);
    free(call);
}

static void on_state(void *arg, enum status status, const struct store_job *job)
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

static void pull_call_refuse(struct pull_call *call)
{
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
    pull_send(call->shard, SHARD_BATCH_PULL_RELEASE, &call->lease, 0, NULL, on_lingering_ended, call);
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
        .has_delay = call->what.has_delay,
        .delay_ms = call->what.delay_ms,
        .schedule = call->what.schedule,
        .is_confirmed = true,
    };
    pull_end(call->shard, &pulled, &facts, on_pull_call_ended, call);
}

static void add_pulled(const struct batch_item *item, struct script_call *script)
{
    const struct pull_call *call = (const struct pull_call *)item;
    script_call_text(script, call->what.id);
    script_call_text(script, slice_of(call->lease.nonce.text));
}

static void on_pulled(struct batch_item *item, enum status status, int64_t now_us,
                      const struct redis_reply *result)
{
    struct pull_call *call = (struct pull_call *)item;
    call->ended.now_ms = now_us / 1000;
    if (status != STATUS_OK)
        pull_call_end(call, status);
    else if (redis_reply_integer(result) == RESULT_AGAIN)
        batch_add(&call->shard->batches[SHARD_BATCH_PULLED], item);
    else if (redis_reply_size(result) == 0)
        pull_call_end_lingering(call);
    else
        end_pulled(call, result);
}

const struct batch_kind pulled_kind = {SCRIPT_PULLED, OWNER_CALLS_MAX, false, NULL, add_pulled, on_pulled};

static void pull_call_read(struct pull_call *call)
{
    batch_add(&call->shard->batches[SHARD_BATCH_PULLED], &call->item);
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

void store_pull_end(struct store *store, const struct lease_end *what, store_pull_end_fn *fn, void *arg)
{
    struct pull_call *call = NEW(struct pull_call);
    call->item.bytes = what->id.size + BATCH_ITEM_OVERHEAD;
    call->shard = store_shard_of(store, what->id);
    call->what = *what;
    call->lease.id = what->id;
    call->fn = fn;
    call->arg = arg;
    if (!read_token(what->token, &call->lease.nonce)) {
        pull_call_refuse(call);
        return;
    }
    switch (what->kind) {
    case LEASE_END_COMPLETE:
        pull_send(call->shard, SHARD_BATCH_PULL_COMPLETE, &call->lease, 0, NULL, on_pull_completed, call);
        break;
    case LEASE_END_RETRY:
    case LEASE_END_BURY:
        pull_call_read(call);
        break;
    case LEASE_END_EXTEND:
        pull_send(call->shard, SHARD_BATCH_PULL_EXTEND, &call->lease, what->lease_ms, NULL, on_pull_changed,
                  call);
        break;
    case LEASE_END_RELEASE:
        pull_send(call->shard, SHARD_BATCH_PULL_RELEASE, &call->lease, 0, NULL, on_pull_changed, call);
        break;
    }
}
