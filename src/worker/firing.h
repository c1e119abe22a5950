/* firing.h - fires the schedules of a shard: creates the job of each occurrence when its time has come.
 *
 * Each process may fire at any time. fire.lua creates the job of each occurrence only once, and creates no
 * job if the definition has been changed or deleted. So the lock of the carry worker is not needed for
 * correctness. The lock avoids needless work: its owner fires at once. A standby fires only if the number of
 * overdue schedules does not fall within FIRING_PATIENCE_MS.
 *
 * If many schedules are due at the same time, they fire in bounded steps, which leave a quarter of Redis's
 * time for other work. */
#ifndef DUEPOST_WORKER_FIRING_H
#define DUEPOST_WORKER_FIRING_H

#include "job/delivery/delivery_form.h"
#include "store/recurring.h"

struct firing;

enum {
    FIRING_PATIENCE_MS = 300,
    FIRING_HOLD_MS = 5000, /* wait between two tries to fire a schedule that is held */
};

/* Borrows all arguments. */
struct firing *firing_new(struct loop *, struct store *, struct shard *, const struct delivery_forms *,
                          struct metrics *);

/* Notes results of the carry worker's last call: the earliest time at which a schedule fires (-1: no schedule
 * fires), Redis's time, and whether this process owns the lock. */
void firing_note(struct firing *, int64_t next_ms, int64_t redis_now_us, bool is_owner);

/* Stops firing. */
void firing_stop(struct firing *);

/* Call it after the store was freed. NULL is ignored. */
void firing_free(struct firing *);

#endif
