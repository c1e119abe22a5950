/* janitor.h - audits the books and repairs them, loudly; and has swept out what was kept for long enough.
 *
 * Each job's id is in exactly one place, so in one script jobs = waiting + leased, and each kept job has
 * its time. When that does not come out, the janitor walks all places in bounded steps until each id is where
 * it belongs: late beats lost.
 *
 * The audit compares numbers and costs the same for any number of jobs and topics. What numbers do not show,
 * such as a bucket that lost an id behind their back, the patrol finds: the same walk, one step a second. */
#ifndef DUEPOST_WORKER_JANITOR_H
#define DUEPOST_WORKER_JANITOR_H

#include "store/shard.h"

struct janitor;

/* Borrows all. */
struct janitor *janitor_new(struct loop *, struct shard *, struct metrics *);

/* Once a second, by the owner of the carry lock. */
void janitor_tick(struct janitor *);

void janitor_free(struct janitor *);

#endif
