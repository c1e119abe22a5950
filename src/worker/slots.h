/* slots.h - how many attempts each shard may have at once.
 *
 * Half of the slots are kept for the shards, in equal parts, and the other half is for whoever comes first: a
 * shard whose Redis hangs, and whose attempts therefore end late, leaves room for all others. A single shard
 * has them all. Pure. */
#ifndef DUEPOST_WORKER_SLOTS_H
#define DUEPOST_WORKER_SLOTS_H

#include <stddef.h>

struct slots {
    size_t max, shards;
    size_t *used;     /* by each shard */
    size_t overdrawn; /* sum of what they use beyond what is kept for them */
};

void slots_init(struct slots *, size_t max, size_t shards);
void slots_fini(struct slots *);

/* A new max; what is used may be over it for a while. */
void slots_resize(struct slots *, size_t max);

/* So many the shard may take now, when sharers shards (with it) want some. */
size_t slots_free(const struct slots *, size_t shard, size_t sharers);

/* More than are free may be taken: where what runs already has to be counted. */
void slots_take(struct slots *, size_t shard, size_t count);
void slots_give(struct slots *, size_t shard, size_t count);

#endif
