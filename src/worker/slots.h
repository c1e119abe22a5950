/* slots.h - how many attempts each shard may have at once.
 *
 * Half of the slots are kept for the shards, in equal parts. The other half goes to the first that asks. So a
 * shard whose Redis hangs, and whose attempts therefore end late, leaves room for all others. A single shard
 * has all slots. Pure. */
#ifndef DUEPOST_WORKER_SLOTS_H
#define DUEPOST_WORKER_SLOTS_H

#include <stddef.h>

struct slots {
    size_t max, shards;
    size_t *used;     /* by each shard */
    size_t overdrawn; /* sum of the slots that they use beyond their own */
};

void slots_init(struct slots *, size_t max, size_t shards);
void slots_fini(struct slots *);

/* Sets a new max; more may be in use for a while. */
void slots_resize(struct slots *, size_t max);

/* Returns how many slots the shard may take now. sharers: shards that want some, this one included. */
size_t slots_free(const struct slots *, size_t shard, size_t sharers);

/* More than are free may be taken, to count attempts that run already. */
void slots_take(struct slots *, size_t shard, size_t count);
void slots_give(struct slots *, size_t shard, size_t count);

#endif
