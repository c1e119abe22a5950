/* slots.h - decides how many attempts each shard may have in flight.
 *
 * Half of the slots are reserved for the shards, in equal parts. The other half is shared by all shards: the
 * shard that asks first gets these slots. If the Redis of one shard hangs, the shard's attempts end late and
 * keep their slots. The slots reserved for the other shards stay usable. A single shard has all slots. The
 * functions are pure. */
#ifndef DUEPOST_WORKER_SLOTS_H
#define DUEPOST_WORKER_SLOTS_H

#include <stddef.h>

struct slots {
    size_t max, shards;
    size_t *used;     /* number of slots used by each shard */
    size_t overdrawn; /* slots of the shared half that are in use */
};

void slots_init(struct slots *, size_t max, size_t shards);
void slots_fini(struct slots *);

/* Changes the total number of slots to max. If max is smaller than before, more slots than max may be in use
 * for a while. */
void slots_resize(struct slots *, size_t max);

/* Returns how many slots the shard may take now. sharers: number of shards that want slots, including this
 * shard. */
size_t slots_free(const struct slots *, size_t shard, size_t sharers);

/* Takes slots, even more than are free, because attempts that already run must be counted. */
void slots_take(struct slots *, size_t shard, size_t count);
void slots_give(struct slots *, size_t shard, size_t count);

#endif
