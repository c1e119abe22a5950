/* janitor.h - audits the numbers of jobs and repairs what is wrong, with a warning. Also starts the sweeper.
 *
 * Each job's id is in exactly one place, so jobs = waiting + leased, and each kept job has its time. One
 * script checks both. If a number is wrong, the janitor walks all places in bounded steps until each id is
 * where it belongs; a job without a place becomes due, because a late delivery is better than none.
 *
 * The audit compares numbers and costs the same for any number of jobs and topics. Faults that numbers do not
 * show, such as a bucket that lost an id, are found by the patrol: the same walk, one step a second. */
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
