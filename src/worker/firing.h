/* firing.h - fires the schedules of a shard: makes the job of each occurrence when its time has come.
 *
 * Each process may fire at any time. fire.lua makes each occurrence once, and none of a definition that was
 * changed or deleted before. So the lock of the carry worker only avoids needless work: its owner fires at
 * once. A standby fires what is overdue by FIRING_PATIENCE_MS if the number of overdue schedules does not
 * fall within this time.
 *
 * If many schedules fire at one time, they fire in bounded steps that leave half of Redis's time to others.
 */
#ifndef DUEPOST_WORKER_FIRING_H
#define DUEPOST_WORKER_FIRING_H

#include "job/form.h"
#include "store/recurring.h"

struct firing;

enum {
    FIRING_PATIENCE_MS = 300,
    FIRING_HOLD_MS = 5000, /* wait between two tries to fire a schedule that is held */
};

/* Borrows all arguments. */
struct firing *firing_new(struct loop *, struct store *, struct shard *, const struct delivery_forms *,
                          struct metrics *);

/* Reports what the carry worker has learned: the first time at which a schedule fires (-1: none), the time of
 * Redis's clock now, and whether this process owns the lock. */
void firing_note(struct firing *, int64_t next_ms, int64_t redis_now_us, bool is_owner);

/* Fires nothing any more. */
void firing_stop(struct firing *);

/* Call it after the store was freed. NULL is ignored. */
void firing_free(struct firing *);

#endif
