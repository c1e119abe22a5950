/* janitor.h - audits the stored counts of jobs, repairs faults, and logs each repair. The janitor also starts
 * the sweeper.
 *
 * Two rules must hold. First, the id of each job is in exactly one structure (its place), so the number of
 * jobs is the number of waiting and leased jobs. Second, each kept job (a job that has ended) has a time of
 * removal, and each text of the outbox is in one of the outbox's lists. One script checks the counts of both
 * rules. If a count is wrong, the janitor walks through all places in bounded steps until each id is in
 * exactly one place. A job without a place becomes due, because a late delivery is better than none.
 *
 * The audit compares counts only, so its cost does not depend on the number of jobs and topics. Some faults
 * do not change a count, for example if a bucket has lost an id. The patrol finds these faults: it is the
 * same walk, but with only one step in four seconds. In between, it examines 1,000 topics at a time for one
 * that has waiting jobs and is in neither calendar (due and turns), because nothing would deliver these jobs.
 */
#ifndef DUEPOST_WORKER_JANITOR_H
#define DUEPOST_WORKER_JANITOR_H

#include "store/shard.h"

struct janitor;

/* Borrows all arguments. */
struct janitor *janitor_new(struct loop *, struct shard *, struct metrics *);

/* Starts an audit or a step of the patrol, in turn. The owner of the carry lock calls it once a second. */
void janitor_tick(struct janitor *);

/* Starts a sweep, unless one is under way. NULL is ignored. */
void janitor_sweep(struct janitor *);

void janitor_free(struct janitor *);

#endif
