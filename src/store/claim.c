/* claim.c - waits for the doorbell, claims due jobs for a consumer, and releases the jobs of a claim that got
 * no reply. The doorbell is a list in Redis to which scripts add an entry when jobs may be claimed. */
#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
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
        if (!claim_give_settings(jobs, claimed->count, topic, settings)) {
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
    claimed.next_due_ms = -1;
    if (status == STATUS_OK && claim->kind != SHARD_CLAIM_ONLY)
        claimed.next_due_ms = redis_reply_integer(redis_reply_at(reply, redis_reply_size(reply) - 1));
    if (status == STATUS_UNKNOWN)
        claim->shard->lost_claim = claim->nonce;
    claim->fn(claim->arg, status, &claimed);
    free(claim);
}

/* If abandon.lua failed, notes the lost claim again, so that abandon.lua is called again before the next
 * claim. Does nothing if another claim has been lost since then. */
static void abandon_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct shard *shard = call->shard;
    struct nonce *nonce = call->arg;
    if (status != STATUS_OK && !shard->lost_claim.text[0])
        shard->lost_claim = *nonce;
    if (redis_reply_integer(redis_reply_at(reply, 1)) > 0)
        log_info("claim_abandoned", LOG_NUMBER("shard", shard->number),
                 LOG_NUMBER("jobs", redis_reply_integer(redis_reply_at(reply, 1))));
    free(nonce);
}

/* Releases the jobs that a lost claim (a claim without a reply) may have leased, because no consumer has
 * received them. Sends abandon.lua before the next claim, which may then lease these jobs. If Redis runs
 * the lost claim only after abandon.lua, or if this process dies first, the leases run out, and
 * recover.lua returns the jobs. */
static void abandon_lost_claim(struct shard *shard)
{
    if (!shard->lost_claim.text[0])
        return;
    struct nonce *nonce = NEW(struct nonce);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_ABANDON, shard->worker, abandon_end, NULL, nonce);
    *nonce = shard->lost_claim;
    shard->lost_claim.text[0] = '\0';
    store_call_text(call, slice_of(nonce->text));
    store_call_number(call, ABANDON_LOOK_MAX);
    store_call_send(call);
}

void claim_flush(struct shard *shard)
{
    if (!shard->claim.is_wanted)
        return;
    abandon_lost_claim(shard);
    struct claim *claim = NEW(struct claim);
    struct store_call *call = store_call_alone(shard, SCRIPT_CLAIM, shard->worker, claim_end, NULL, claim);
    *claim = shard->claim;
    metrics_count(shard->options->metrics, METRICS_COUNTER_CLAIMS, 1);
    shard->claim.is_wanted = false;
    shard_next_nonce(shard, "", &claim->nonce);
    store_call_number(call, (int64_t)claim->max);
    store_call_text(call, slice_of(claim->nonce.text));
    store_call_number(call, STORE_LEASE_MS);
    store_call_number(call, SHARE);
    store_call_number(call, BATCH_BYTES_MAX);
    store_call_number(call, claim->kind);
    store_call_send(call);
}
