/* lease.c - what a consumer does: claim, renew, and the ends of a lease. */
#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/test_point.h"
#include "store/reply.h"
#include "store/shard_private.h"

enum {
    LEASE_CALLS_MAX = 4,     /* of one kind under way at once */
    CLAIM_SHARE = 16,        /* jobs of one topic in a row */
    FIRST_CLAIMED = 4,       /* where the jobs begin in a claim's reply */
    CLAIMED_PARTS = 3,       /* id, due, record */
    ABANDON_LOOK_MAX = 5000, /* leases */
};

/* ---- claim ---- */

void shard_claim(struct shard *shard, size_t max, shard_claim_fn *fn, void *arg)
{
    assert(!shard->claim.is_wanted && max > 0 && max <= STORE_CLAIM_MAX);
    shard->claim = (struct claim){.is_wanted = true, .max = max, .shard = shard, .fn = fn, .arg = arg};
}

/* To the jobs of this topic. */
static void give_settings(struct shard_claimed *jobs, size_t count, struct slice topic, struct slice settings)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].id.size > topic.size && jobs[i].id.data[topic.size] == '/' &&
            slice_starts_with(jobs[i].id, topic))
            jobs[i].settings = settings;
}

static void on_claimed(void *arg, enum status status, const struct redis_reply *reply)
{
    struct claim *claim = arg;
    struct shard_claimed jobs[STORE_CLAIM_MAX];
    size_t count = 0;
    if (status == STATUS_OK)
        count = (size_t)redis_reply_integer(redis_reply_at(reply, 3));
    assert(count <= claim->max);
    for (size_t i = 0; i < count; i++) {
        size_t at = FIRST_CLAIMED + i * CLAIMED_PARTS;
        jobs[i].id = redis_reply_text(redis_reply_at(reply, at));
        jobs[i].due_ms = redis_reply_integer(redis_reply_at(reply, at + 1));
        jobs[i].record = redis_reply_text(redis_reply_at(reply, at + 2));
        jobs[i].settings = SLICE("");
    }
    for (size_t at = FIRST_CLAIMED + count * CLAIMED_PARTS; at + 1 < redis_reply_size(reply); at += 2)
        give_settings(jobs, count, redis_reply_text(redis_reply_at(reply, at)),
                      redis_reply_text(redis_reply_at(reply, at + 1)));
    struct shard_claim claimed = {
        .nonce = &claim->nonce,
        .now_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000,
        .jobs = jobs,
        .count = count,
        .more = (size_t)redis_reply_integer(redis_reply_at(reply, 1)),
        .receivers = redis_reply_integer(redis_reply_at(reply, 2)),
    };
    if (status == STATUS_UNKNOWN)
        claim->shard->lost_claim = claim->nonce;
    claim->fn(claim->arg, status, &claimed);
    free(claim);
}

struct abandonment {
    struct shard *shard;
    struct nonce nonce;
};

/* Unless another claim was lost meanwhile, it is tried again before the next one. */
static void on_abandoned(void *arg, enum status status, const struct redis_reply *reply)
{
    struct abandonment *abandonment = arg;
    struct shard *shard = abandonment->shard;
    if (status != STATUS_OK && !shard->lost_claim.text[0])
        shard->lost_claim = abandonment->nonce;
    if (redis_reply_integer(redis_reply_at(reply, 1)) > 0)
        log_info("claim_abandoned", LOG_NUMBER("shard", shard->number),
                 LOG_NUMBER("jobs", redis_reply_integer(redis_reply_at(reply, 1))));
    free(abandonment);
}

/* What the lost claim may have leased is nobody's: it goes back before the next claim, which may get it. If
 * Redis runs that claim later still, or we die before this, the leases end, and recovery finds them. */
static void abandon_lost_claim(struct shard *shard)
{
    if (!shard->lost_claim.text[0])
        return;
    struct abandonment *abandonment = NEW(struct abandonment);
    struct script_call *call = shard_call(shard, SCRIPT_ABANDON);
    *abandonment = (struct abandonment){shard, shard->lost_claim};
    shard->lost_claim.text[0] = '\0';
    script_call_text(call, slice_of(abandonment->nonce.text));
    script_call_number(call, ABANDON_LOOK_MAX);
    script_call_send(call, shard->worker, on_abandoned, abandonment);
}

void claim_flush(struct shard *shard)
{
    if (!shard->claim.is_wanted)
        return;
    abandon_lost_claim(shard);
    struct claim *claim = NEW(struct claim);
    struct script_call *call = shard_call(shard, SCRIPT_CLAIM);
    *claim = shard->claim;
    metrics_count(shard->options->metrics, METRICS_COUNTER_CLAIMS, 1);
    shard->claim.is_wanted = false;
    snprintf(claim->nonce.text, sizeof claim->nonce.text, "%s%llx", shard->nonce_prefix,
             (unsigned long long)++shard->claims);
    script_call_number(call, (int64_t)claim->max);
    script_call_text(call, slice_of(claim->nonce.text));
    script_call_number(call, STORE_LEASE_MS);
    script_call_number(call, CLAIM_SHARE);
    script_call_number(call, BATCH_BYTES_MAX);
    script_call_send(call, shard->worker, on_claimed, claim);
}

/* ---- renewals and ends: five kinds of item that differ in their arguments only ---- */

struct lease_item {
    struct batch_item item;
    const struct lease *lease;
    int64_t wait_ms;      /* retry, release */
    int64_t claimed_ms;   /* release */
    struct slice record;  /* retry, bury */
    struct slice attempt; /* complete, retry, bury */
    struct shard *shard;  /* complete */
    shard_done_fn *fn;
    void *arg;
};

static struct lease_item *lease_item_new(const struct lease *lease, struct slice record, struct slice attempt,
                                         shard_done_fn *fn, void *arg)
{
    struct lease_item *item = NEW(struct lease_item);
    item->item.bytes = lease->id.size + record.size + attempt.size + BATCH_ITEM_OVERHEAD;
    item->lease = lease;
    item->record = record;
    item->attempt = attempt;
    item->fn = fn;
    item->arg = arg;
    return item;
}

static void add_lease(const struct batch_item *item, struct script_call *call)
{
    const struct lease_item *entry = (const struct lease_item *)item;
    script_call_text(call, entry->lease->id);
    script_call_text(call, slice_of(entry->lease->nonce.text));
}

static void add_complete(const struct batch_item *item, struct script_call *call)
{
    add_lease(item, call);
    script_call_text(call, ((const struct lease_item *)item)->attempt);
}

static void add_retry(const struct batch_item *item, struct script_call *call)
{
    const struct lease_item *entry = (const struct lease_item *)item;
    add_lease(item, call);
    script_call_number(call, entry->wait_ms);
    script_call_text(call, entry->record);
    script_call_text(call, entry->attempt);
}

static void add_release(const struct batch_item *item, struct script_call *call)
{
    const struct lease_item *entry = (const struct lease_item *)item;
    add_lease(item, call);
    script_call_number(call, entry->wait_ms);
    script_call_number(call, entry->claimed_ms);
}

static void add_bury(const struct batch_item *item, struct script_call *call)
{
    const struct lease_item *entry = (const struct lease_item *)item;
    add_lease(item, call);
    script_call_text(call, entry->record);
    script_call_text(call, entry->attempt);
}

static void add_lease_ms(const struct shard *shard, struct script_call *call)
{
    (void)shard;
    script_call_number(call, STORE_LEASE_MS);
}

static void end_lease_item(struct batch_item *item, enum status status, int64_t now_us,
                           const struct redis_reply *result)
{
    struct lease_item *entry = (struct lease_item *)item;
    (void)now_us;
    if (status == STATUS_OK && redis_reply_integer(result) != 1)
        status = STATUS_STALE;
    entry->fn(entry->arg, status);
    free(entry);
}

/* Where jobs are kept, one call moves a bounded number of bytes. */
static void end_complete(struct batch_item *item, enum status status, int64_t now_us,
                         const struct redis_reply *result)
{
    const struct lease_item *entry = (const struct lease_item *)item;
    if (status == STATUS_OK && redis_reply_integer(result) == REPLY_AGAIN)
        batch_add(&entry->shard->batches[SHARD_BATCH_COMPLETE], item);
    else
        end_lease_item(item, status, now_us, result);
}

const struct batch_kind complete_kind = {SCRIPT_COMPLETE, LEASE_CALLS_MAX, false, NULL,
                                         add_complete,    end_complete};
const struct batch_kind retry_kind = {SCRIPT_RETRY, LEASE_CALLS_MAX, false, NULL, add_retry, end_lease_item};
const struct batch_kind bury_kind = {SCRIPT_BURY, LEASE_CALLS_MAX, false, NULL, add_bury, end_lease_item};
const struct batch_kind release_kind = {SCRIPT_RELEASE, LEASE_CALLS_MAX, false,
                                        NULL,           add_release,     end_lease_item};
const struct batch_kind renew_kind = {SCRIPT_RENEW, LEASE_CALLS_MAX, false,
                                      add_lease_ms, add_lease,       end_lease_item};

static const struct slice nothing;

void shard_complete(struct shard *shard, const struct lease *lease, struct slice attempt, shard_done_fn *fn,
                    void *arg)
{
    struct lease_item *item = lease_item_new(lease, nothing, attempt, fn, arg);
    item->shard = shard;
    batch_add(&shard->batches[SHARD_BATCH_COMPLETE], &item->item);
}

void shard_retry(struct shard *shard, const struct lease *lease, int64_t wait_ms, struct slice record,
                 struct slice attempt, shard_done_fn *fn, void *arg)
{
    struct lease_item *item = lease_item_new(lease, record, attempt, fn, arg);
    item->wait_ms = wait_ms;
    batch_add(&shard->batches[SHARD_BATCH_RETRY], &item->item);
}

void shard_bury(struct shard *shard, const struct lease *lease, struct slice record, struct slice attempt,
                shard_done_fn *fn, void *arg)
{
    batch_add(&shard->batches[SHARD_BATCH_BURY], &lease_item_new(lease, record, attempt, fn, arg)->item);
}

void shard_release(struct shard *shard, const struct lease *lease, int64_t wait_ms, int64_t claimed_ms,
                   shard_done_fn *fn, void *arg)
{
    struct lease_item *item = lease_item_new(lease, nothing, nothing, fn, arg);
    item->wait_ms = wait_ms;
    item->claimed_ms = claimed_ms;
    batch_add(&shard->batches[SHARD_BATCH_RELEASE], &item->item);
}

void shard_renew(struct shard *shard, const struct lease *lease, shard_done_fn *fn, void *arg)
{
    batch_add(&shard->batches[SHARD_BATCH_RENEW], &lease_item_new(lease, nothing, nothing, fn, arg)->item);
}

/* ---- the doorbell ---- */

struct bell_wait {
    struct redis_link *link;
    shard_done_fn *fn;
    void *arg;
};

static void on_bell(void *arg, const struct redis_reply *reply)
{
    struct bell_wait *wait = arg;
    TEST_POINT("after", "wait_bell");
    bool failed = !reply || redis_reply_kind(reply) == REDIS_KIND_ERROR;
    script_leave_link(wait->link, reply);
    wait->fn(wait->arg, failed ? STATUS_UNAVAILABLE : STATUS_OK);
    free(wait);
}

void shard_wait_bell(struct shard *shard, shard_done_fn *fn, void *arg)
{
    struct bell_wait *wait = NEW(struct bell_wait);
    struct slice argv[] = {SLICE("BLPOP"), buffer_slice(&shard->ready_key), SLICE("1")};
    wait->link = shard->bell;
    wait->fn = fn;
    wait->arg = arg;
    TEST_POINT("before", "wait_bell");
    metrics_count(shard->options->metrics, METRICS_COUNTER_COMMANDS, 1);
    redis_send(shard->bell, 3, argv, on_bell, wait);
}
