/* lapsed.c - lists and ends workers' leases that have run out. */
#include <stdio.h>

#include "base/memory.h"
#include "store/pull_ending.h"
#include "store/reply.h"
#include "store/shard_private.h"

enum {
    LAPSED_MAX = 100,  /* maximum number of leases in one call */
    EXPIRED_MAX = 512, /* maximum number of expired jobs in one call */
    FIRST_LAPSED = 3,  /* index of the first job in a reply */
    LAPSED_PARTS = 5,  /* id, nonce, due time, time of the lease, record */
};

/* Sets each job's settings to those of its topic. In the reply, the topics and their settings follow the
 * jobs, from position at on. */
static void give_settings(const struct redis_reply *reply, size_t at, struct shard_lapsed_job *jobs,
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

/* Returns false if lapsed.lua cannot have sent this reply. */
static bool read_lapsed(const struct redis_reply *reply, size_t max,
                        struct shard_lapsed_job jobs[EXPIRED_MAX], struct shard_lapsed *lapsed)
{
    int64_t now_us = redis_reply_integer(redis_reply_at(reply, 0));
    int64_t number = redis_reply_integer(redis_reply_at(reply, 1));
    if (now_us <= 0 || number < 0 || !reply_count(reply, 2, FIRST_LAPSED, LAPSED_PARTS, max, &lapsed->count))
        return false;
    lapsed->now_ms = now_us / 1000;
    lapsed->number = (size_t)number;
    lapsed->is_full = (size_t)number == max;
    for (size_t i = 0; i < lapsed->count; i++) {
        size_t at = FIRST_LAPSED + i * LAPSED_PARTS;
        jobs[i] = (struct shard_lapsed_job){.id = redis_reply_text(redis_reply_at(reply, at)),
                                            .due_ms = redis_reply_integer(redis_reply_at(reply, at + 2)),
                                            .leased_ms = redis_reply_integer(redis_reply_at(reply, at + 3)),
                                            .record = redis_reply_text(redis_reply_at(reply, at + 4))};
        snprintf(jobs[i].nonce.text, sizeof jobs[i].nonce.text, "%.*s",
                 SLICE_ARG(redis_reply_text(redis_reply_at(reply, at + 1))));
    }
    give_settings(reply, FIRST_LAPSED + lapsed->count * LAPSED_PARTS, jobs, lapsed->count);
    return true;
}

/* call->note: the maximum number of jobs */
static void lapsed_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct shard_lapsed_job jobs[EXPIRED_MAX];
    struct shard_lapsed lapsed = {.jobs = jobs};
    if (status == STATUS_OK && redis_reply_integer(redis_reply_at(reply, 1)) < 0)
        status = STATUS_STALE;
    if (status == STATUS_OK && !read_lapsed(reply, (size_t)call->note, jobs, &lapsed)) {
        lapsed.count = 0;
        status = reply_refuse("lapsed");
    }
    CALL_FN(call, shard_lapsed_fn)(call->arg, status, &lapsed);
}

static void list_ends(struct shard *shard, enum script_id script, size_t max, int64_t expected_ms,
                      shard_lapsed_fn *fn, void *arg)
{
    struct store_call *call = store_call_alone(shard, script, shard->worker, lapsed_end, ANY_FN(fn), arg);
    call->note = (int64_t)max;
    store_call_number(call, (int64_t)max);
    store_call_number(call, expected_ms);
    store_call_send(call);
}

void shard_list_lapsed(struct shard *shard, int64_t expected_ms, shard_lapsed_fn *fn, void *arg)
{
    list_ends(shard, SCRIPT_LAPSED, LAPSED_MAX, expected_ms, fn, arg);
}

void shard_list_expired(struct shard *shard, int64_t expected_ms, shard_lapsed_fn *fn, void *arg)
{
    list_ends(shard, SCRIPT_EXPIRE, EXPIRED_MAX, expected_ms, fn, arg);
}

struct lapsed_end {
    shard_done_fn *fn;
    void *arg;
};

static void on_lapsed_ended(void *arg, enum status status, const struct ending *ending, int64_t now_us)
{
    struct lapsed_end *end = arg;
    (void)ending, (void)now_us;
    end->fn(end->arg, status);
    free(end);
}

void shard_end_lapsed(struct shard *shard, const struct shard_lapsed_job *job, int64_t now_ms,
                      const struct retry_schedule *schedule, shard_done_fn *fn, void *arg)
{
    struct lapsed_end *end = NEW(struct lapsed_end);
    struct pulled pulled = {.id = job->id,
                            .record = job->record,
                            .settings = job->settings,
                            .nonce = job->nonce,
                            .due_ms = job->due_ms,
                            .leased_ms = job->leased_ms};
    struct pull_ending_facts facts = {.cause = PULL_CAUSE_LAPSED, .now_ms = now_ms, .schedule = schedule};
    *end = (struct lapsed_end){fn, arg};
    pull_end(shard, &pulled, &facts, on_lapsed_ended, end);
}
