/* demand.c - counts the waiting jobs of each topic by due time: a walk through the topics of all shards. */
#include <string.h>

#include "base/memory.h"
#include "store/store_private.h"

enum {
    FIRST_OF_DEMAND = 3, /* index of the first topic in a reply */
    DEMAND_PARTS = 8,
};
#define DEMAND_JOBS_MAX (UINT64_C(1) << 40)

struct demand_step {
    struct store *store;
    struct demand_walk *walk;
    demand_fn *fn;
    void *arg;
};

bool demand_take_count(struct slice *counts, int64_t *cell, int64_t *jobs)
{
    struct slice word;
    uint64_t number, count;
    slice_cut(*counts, ' ', &word, counts);
    bool is_overdue = slice_equal(word, SLICE("-1"));
    if (!is_overdue && !slice_to_number(word, UINT32_MAX, &number))
        return false;
    slice_cut(*counts, ' ', &word, counts);
    if (!slice_to_number(word, DEMAND_JOBS_MAX, &count))
        return false;
    *cell = is_overdue ? -1 : (int64_t)number;
    *jobs = (int64_t)count;
    return true;
}

/* Moves the walk to where the reply says that the next step begins. */
static bool demand_move(struct demand_walk *walk, const struct store *store, const struct redis_reply *reply)
{
    struct slice after = redis_reply_text(redis_reply_at(reply, 1));
    walk->cell = redis_reply_integer(redis_reply_at(reply, 2));
    if (after.size >= sizeof walk->after || (after.size == 0 && walk->cell >= 0))
        return false;
    memcpy(walk->after, after.data, after.size);
    walk->after_size = after.size;
    if (after.size == 0)
        walk->is_over = walk->topic.size > 0 || ++walk->shard >= store_shards(store);
    return true;
}

static int64_t demand_number(const struct redis_reply *reply, size_t index)
{
    int64_t number = redis_reply_integer(redis_reply_at(reply, index));
    return number > 0 ? number : 0;
}

/* Reads the topics of a reply. Returns their number; the caller frees the array. */
static size_t demand_read(const struct redis_reply *reply, struct demand_topic **topics)
{
    struct slice settings = {NULL, 0};
    size_t size = redis_reply_size(reply), count = 0;
    *topics = NEW_ARRAY(struct demand_topic, size / DEMAND_PARTS + 1);
    for (size_t at = FIRST_OF_DEMAND; at + DEMAND_PARTS <= size; at += DEMAND_PARTS) {
        struct slice text = redis_reply_text(redis_reply_at(reply, at + 1));
        if (!slice_equal(text, SLICE("=")))
            settings = text;
        (*topics)[count++] = (struct demand_topic){
            .name = redis_reply_text(redis_reply_at(reply, at)),
            .settings = settings,
            .line_ms = demand_number(reply, at + 2),
            .rate_spent_us = demand_number(reply, at + 3),
            .rate_began_ms = demand_number(reply, at + 4),
            .rate_begun = demand_number(reply, at + 5),
            .overdue_since_ms = demand_number(reply, at + 6),
            .counts = redis_reply_text(redis_reply_at(reply, at + 7)),
        };
    }
    return count;
}

static void on_demand(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct demand_step *step = call->arg;
    struct demand_topic *topics = NULL;
    size_t count = 0;
    if (status == STATUS_OK &&
        (redis_reply_size(reply) < FIRST_OF_DEMAND || !demand_move(step->walk, step->store, reply)))
        status = reply_refuse("demand");
    if (status == STATUS_OK)
        count = demand_read(reply, &topics);
    step->fn(step->arg, status, topics, count);
    free(topics);
    free(step);
}

void demand_walk_step(struct store *store, struct demand_walk *walk, demand_fn *fn, void *arg)
{
    struct demand_step *step = NEW(struct demand_step);
    *step = (struct demand_step){store, walk, fn, arg};
    if (!walk->is_begun) {
        walk->is_begun = true;
        walk->cell = -1;
        walk->shard = walk->topic.size ? store_shard_of(store, walk->topic)->number : 0;
    }
    struct slice after = slice_from(walk->after, walk->after_size);
    struct shard *shard = store_shard(store, walk->shard);
    struct store_call *call = store_call_alone(shard, SCRIPT_DEMAND, shard->reads, on_demand, NULL, step);
    store_call_text(call, walk->topic.size ? walk->topic : after);
    store_call_text(call, walk->topic.size ? SLICE("1") : SLICE("0"));
    store_call_number(call, walk->cell);
    store_call_number(call, walk->origin_ms);
    store_call_number(call, walk->cell_ms);
    store_call_number(call, (int64_t)walk->cells);
    store_call_number(call, (int64_t)walk->cells_of_step);
    store_call_send(call);
}
