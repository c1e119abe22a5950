/* claim.c - waits for the doorbell, claims due jobs for a consumer, and releases the jobs of a claim that got
 * no reply. The doorbell is a list in Redis to which scripts add an entry when jobs may be claimed. */
#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/test_point.h"
#include "store/store_private.h"

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
    char seconds[8];
    snprintf(seconds, sizeof seconds, "%d", SHARD_BELL_SECONDS);
    struct slice argv[] = {SLICE("BLPOP"), buffer_slice(&shard->ready_key), slice_of(seconds)};
    wait->link = shard->bell;
    wait->fn = fn;
    wait->arg = arg;
    TEST_POINT("before", "wait_bell");
    metrics_count(shard->options->metrics, METRICS_COUNTER_COMMANDS, 1);
    redis_send(shard->bell, 3, argv, on_bell, wait);
}

/* ---- claims without a reply ---- */

enum {
    LOST_CLAIMS_MAX = 64,    /* maximum number of claims whose jobs are released; the leases of further claims
                                run out */
    ABANDON_LOOK_MAX = 5000, /* maximum number of leases that abandon.lua examines */
    /* abandon.lua finds the leases of a claim even if Redis's clock has stepped by this time. All leases of
     * consumers end within seconds, so the time may be long for them. */
    CONSUMER_SPARE_MS = 24 * 3600 * 1000,
    WORKER_SPARE_MS = 1000,
};

/* A claim without a reply. Redis may have leased jobs for it, which no consumer or worker has received. */
struct lost_claim {
    struct list link;
    struct shard *shard;
    struct nonce nonce;
    enum lease_holder holder;
    int64_t lease_ms, sent_us;
};

void claim_note_lost(struct shard *shard, enum lease_holder holder, const struct nonce *nonce,
                     int64_t lease_ms, int64_t sent_us)
{
    if (shard->lost_claim_count == LOST_CLAIMS_MAX)
        return;
    struct lost_claim *lost = NEW(struct lost_claim);
    *lost = (struct lost_claim){
        .shard = shard, .nonce = *nonce, .holder = holder, .lease_ms = lease_ms, .sent_us = sent_us};
    list_append(&shard->lost_claims, &lost->link);
    shard->lost_claim_count++;
}

/* If abandon.lua failed, notes the lost claim again, so that abandon.lua is called again later. */
static void abandon_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct lost_claim *lost = call->arg;
    if (status != STATUS_OK) {
        list_append(&lost->shard->lost_claims, &lost->link);
        return;
    }
    lost->shard->lost_claim_count--;
    if (redis_reply_integer(redis_reply_at(reply, 1)) > 0)
        log_info("claim_abandoned", LOG_NUMBER("shard", lost->shard->number),
                 LOG_NUMBER("jobs", redis_reply_integer(redis_reply_at(reply, 1))));
    free(lost);
}

static void abandon(struct lost_claim *lost)
{
    int64_t spare_ms = lost->holder == LEASE_OF_CONSUMER ? CONSUMER_SPARE_MS : WORKER_SPARE_MS;
    int64_t age_ms = (clock_boot_us() - lost->sent_us) / 1000;
    struct store_call *call =
        store_call_alone(lost->shard, SCRIPT_ABANDON, lost->shard->worker, abandon_end, NULL, lost);
    store_call_text(call, slice_of(lost->nonce.text));
    store_call_number(call, ABANDON_LOOK_MAX);
    store_call_number(call, lost->lease_ms - age_ms - spare_ms);
    store_call_number(call, lost->lease_ms + spare_ms);
    store_call_send(call);
}

/* A later claim may lease the released jobs. If Redis runs the lost claim only after abandon.lua, or if this
 * process dies first, the leases run out. */
void claim_abandon_lost(struct shard *shard)
{
    struct list all;
    list_move(&shard->lost_claims, &all);
    for (struct list *link; (link = list_take(&all));)
        abandon(LIST_ENTRY(link, struct lost_claim, link));
}

void claim_forget_lost(struct shard *shard)
{
    for (struct list *link; (link = list_take(&shard->lost_claims));)
        free(LIST_ENTRY(link, struct lost_claim, link));
}

/* ---- claims ---- */

enum {
    SHARE =
        16, /* maximum number of jobs that a claim takes from one topic before it goes to the next topic */
    FIRST_CLAIMED = 4, /* index of the first job in a claim's reply */
    CLAIMED_PARTS = 3, /* id, due, record */
};

void shard_claim(struct shard *shard, size_t max, enum shard_claim_kind kind, shard_claim_fn *fn, void *arg)
{
    assert(!shard->claim.is_wanted && max > 0 && max <= STORE_CLAIM_MAX);
    shard->claim =
        (struct claim){.is_wanted = true, .max = max, .kind = kind, .shard = shard, .fn = fn, .arg = arg};
}

bool claim_give_settings(struct shard_claimed *jobs, size_t count, struct slice topic, struct slice settings)
{
    bool is_given = false;
    for (size_t i = 0; i < count; i++) {
        bool is_its = jobs[i].id.size > topic.size && jobs[i].id.data[topic.size] == '/' &&
                      slice_starts_with(jobs[i].id, topic);
        if (is_its)
            jobs[i].settings = settings;
        is_given |= is_its;
    }
    return is_given;
}

/* Reads when a job was due, and since when nothing holds it, which follows as text only if it was held. */
static void read_due(const struct redis_reply *reply, struct shard_claimed *job)
{
    struct slice text = redis_reply_text(reply), due, free;
    uint64_t due_ms, free_ms;
    job->due_ms = job->free_ms = redis_reply_integer(reply);
    if (slice_cut(text, ' ', &due, &free) && slice_to_number(due, INT64_MAX / 2, &due_ms) &&
        slice_to_number(free, INT64_MAX / 2, &free_ms)) {
        job->due_ms = (int64_t)due_ms;
        job->free_ms = free_ms > due_ms ? (int64_t)free_ms : job->due_ms;
    }
}

/* Parses the reply to a claim of max jobs. Does not set the nonce. Returns false if claim.lua cannot have
 * sent this reply. */
static bool claim_read(const struct redis_reply *reply, size_t max,
                       struct shard_claimed jobs[STORE_CLAIM_MAX], struct shard_claim *claimed)
{
    int64_t more = redis_reply_integer(redis_reply_at(reply, 1));
    int64_t now_us = redis_reply_integer(redis_reply_at(reply, 0));
    if (now_us <= 0 || more < 0 || !reply_count(reply, 3, FIRST_CLAIMED, CLAIMED_PARTS, max, &claimed->count))
        return false;
    claimed->now_us = now_us;
    claimed->more = (size_t)more;
    claimed->receivers = redis_reply_integer(redis_reply_at(reply, 2));
    claimed->jobs = jobs;
    for (size_t i = 0; i < claimed->count; i++) {
        size_t at = FIRST_CLAIMED + i * CLAIMED_PARTS;
        jobs[i].id = redis_reply_text(redis_reply_at(reply, at));
        read_due(redis_reply_at(reply, at + 1), &jobs[i]);
        jobs[i].record = redis_reply_text(redis_reply_at(reply, at + 2));
        jobs[i].settings = SLICE("");
    }
    for (size_t at = FIRST_CLAIMED + claimed->count * CLAIMED_PARTS; at + 1 < redis_reply_size(reply);
         at += 2) {
        struct slice topic = redis_reply_text(redis_reply_at(reply, at));
        struct slice settings = redis_reply_text(redis_reply_at(reply, at + 1));
        if (slice_equal(topic, SLICE("!")))
            claimed->has_waiters = true;
        else if (!claim_give_settings(jobs, claimed->count, topic, settings)) {
            claimed->passed = topic;
            claimed->passed_settings = settings;
        }
    }
    return true;
}

static void claim_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct claim *claim = call->arg;
    struct shard_claimed jobs[STORE_CLAIM_MAX];
    struct shard_claim claimed = {.nonce = &claim->nonce};
    if (status == STATUS_OK && !claim_read(reply, claim->max, jobs, &claimed))
        status = reply_refuse("claim");
    if (status == STATUS_OK)
        claim->shard->has_waiters = claimed.has_waiters;
    claimed.next_due_ms = -1;
    if (status == STATUS_OK && claim->kind != SHARD_CLAIM_ONLY)
        claimed.next_due_ms = redis_reply_integer(redis_reply_at(reply, redis_reply_size(reply) - 1));
    if (status == STATUS_UNKNOWN)
        claim_note_lost(claim->shard, LEASE_OF_CONSUMER, &claim->nonce, STORE_LEASE_MS, claim->sent_us);
    claim->fn(claim->arg, status, &claimed);
    free(claim);
}

bool shard_has_waiters(const struct shard *shard)
{
    return shard->has_waiters;
}

void claim_flush(struct shard *shard)
{
    if (!shard->claim.is_wanted)
        return;
    claim_abandon_lost(shard);
    struct claim *claim = NEW(struct claim);
    struct store_call *call = store_call_alone(shard, SCRIPT_CLAIM, shard->worker, claim_end, NULL, claim);
    *claim = shard->claim;
    metrics_count(shard->options->metrics, METRICS_COUNTER_CLAIMS, 1);
    shard->claim.is_wanted = false;
    claim->sent_us = clock_boot_us();
    shard_next_nonce(shard, "", &claim->nonce);
    store_call_number(call, (int64_t)claim->max);
    store_call_text(call, slice_of(claim->nonce.text));
    store_call_number(call, STORE_LEASE_MS);
    store_call_number(call, SHARE);
    store_call_number(call, BATCH_BYTES_MAX);
    store_call_number(call, claim->kind);
    store_call_send(call);
}
