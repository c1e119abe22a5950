/* list.c - walks through the jobs of one state. */
#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "store/shard_private.h"

enum {
    LOOK_MAX = 10000, /* entries that one call looks at */
    FIRST_JOB = 3,    /* where the jobs begin in a reply */
    JOB_PARTS = 4,    /* id, time, record, lost consumers */
};

struct walk {
    const struct store *store;
    struct store_list list; /* from.shard: the one that is asked */
    char score[40];
    store_list_fn *fn;
    void *arg;
};

static void ask(struct walk *);

static bool has_next_shard(const struct walk *walk)
{
    return walk->list.topic.size == 0 && walk->list.from.shard + 1 < store_shards(walk->store);
}

static struct store_cursor read_cursor(const struct walk *walk, const struct redis_reply *reply)
{
    struct store_cursor next = {.shard = walk->list.from.shard,
                                .id = redis_reply_text(redis_reply_at(reply, 2))};
    char score[40];
    if (next.id.size == 0)
        return (struct store_cursor){.shard = has_next_shard(walk) ? next.shard + 1 : 0};
    snprintf(score, sizeof score, "%.*s", SLICE_ARG(redis_reply_text(redis_reply_at(reply, 1))));
    next.score = strtod(score, NULL);
    return next;
}

static void on_page(void *arg, enum status status, const struct redis_reply *reply)
{
    struct walk *walk = arg;
    struct store_cursor next = {.score = 0};
    struct store_job *jobs = NULL;
    size_t count = 0;
    if (status == STATUS_OK) {
        next = read_cursor(walk, reply);
        count = redis_reply_size(reply) > FIRST_JOB ? (redis_reply_size(reply) - FIRST_JOB) / JOB_PARTS : 0;
        jobs = NEW_ARRAY(struct store_job, count);
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = FIRST_JOB + i * JOB_PARTS;
        jobs[i].state = walk->list.state;
        jobs[i].id = redis_reply_text(redis_reply_at(reply, at));
        jobs[i].at_ms = redis_reply_integer(redis_reply_at(reply, at + 1));
        jobs[i].record = redis_reply_text(redis_reply_at(reply, at + 2));
        jobs[i].losses = redis_reply_integer(redis_reply_at(reply, at + 3));
    }
    /* Nobody wants to turn an empty page only because it is another shard that has the jobs. */
    if (status == STATUS_OK && count == 0 && next.shard > walk->list.from.shard) {
        walk->list.from = next;
        ask(walk);
    } else {
        walk->fn(walk->arg, status, jobs, count, next);
        free(walk);
    }
    free(jobs);
}

static void ask(struct walk *walk)
{
    const struct store_list *list = &walk->list;
    struct shard *shard = store_shard(walk->store, list->from.shard);
    struct script_call *call = shard_call(shard, SCRIPT_LIST);
    walk->score[0] = '\0';
    if (list->from.id.size)
        snprintf(walk->score, sizeof walk->score, "%.17g", list->from.score);
    script_call_text(call, slice_of(job_state_word(list->state)));
    script_call_text(call, list->topic);
    script_call_number(call, (int64_t)list->max);
    script_call_text(call, slice_of(walk->score));
    script_call_text(call, list->from.id);
    script_call_number(call, LOOK_MAX);
    script_call_number(call, BATCH_BYTES_MAX);
    script_call_send(call, shard->reads, on_page, walk);
}

void store_list(struct store *store, const struct store_list *list, store_list_fn *fn, void *arg)
{
    struct walk *walk = NEW(struct walk);
    walk->store = store;
    walk->list = *list;
    walk->fn = fn;
    walk->arg = arg;
    if (list->topic.size)
        walk->list.from.shard = store_shard_of(store, list->topic)->number;
    assert(walk->list.from.shard < store_shards(store));
    ask(walk);
}
