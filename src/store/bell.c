/* bell.c - waits for the doorbell, a list in Redis to which scripts add an entry when jobs may be claimed. */
#include <stdio.h>

#include "base/memory.h"
#include "base/test_point.h"
#include "store/shard_private.h"

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
