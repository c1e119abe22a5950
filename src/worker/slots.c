#include "worker/slots.h"

#include <assert.h>

#include "base/memory.h"

/* Returns the number of slots reserved for each shard. */
static size_t kept(const struct slots *slots)
{
    return slots->shards == 1 ? slots->max : slots->max / 2 / slots->shards;
}

static size_t beyond(size_t used, size_t limit)
{
    return used > limit ? used - limit : 0;
}

void slots_init(struct slots *slots, size_t max, size_t shards)
{
    *slots = (struct slots){.max = max, .shards = shards, .used = NEW_ARRAY(size_t, shards)};
}

void slots_fini(struct slots *slots)
{
    free(slots->used);
}

void slots_resize(struct slots *slots, size_t max)
{
    slots->max = max;
    slots->overdrawn = 0;
    for (size_t i = 0; i < slots->shards; i++)
        slots->overdrawn += beyond(slots->used[i], kept(slots));
}

size_t slots_free(const struct slots *slots, size_t shard, size_t sharers)
{
    size_t common = slots->max - kept(slots) * slots->shards;
    size_t share = (beyond(common, slots->overdrawn) + sharers - 1) / sharers;
    return beyond(kept(slots), slots->used[shard]) + share;
}

static void set_used(struct slots *slots, size_t shard, size_t count)
{
    slots->overdrawn -= beyond(slots->used[shard], kept(slots));
    slots->used[shard] = count;
    slots->overdrawn += beyond(count, kept(slots));
}

void slots_take(struct slots *slots, size_t shard, size_t count)
{
    set_used(slots, shard, slots->used[shard] + count);
}

void slots_give(struct slots *slots, size_t shard, size_t count)
{
    assert(count <= slots->used[shard]);
    set_used(slots, shard, slots->used[shard] - count);
}
