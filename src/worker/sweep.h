/* sweep.h - sweeps: a pace runs the steps of a sweep one after another, within a share of Redis's time; and
 * the sweeps for which no other file cares.
 *
 * A sweep is a long piece of work in Redis that is done in bounded steps, for example removing jobs. Each
 * step is one script call. If a step was full, the next step follows after a pause. The length of the pause
 * gives the sweep its share of Redis's time. The share is a tenth while the sweep is not late. The share
 * rises linearly to a half, which is reached when the sweep is PACE_LATE_MS late. For a sweep that creates
 * due jobs, the share is three quarters. The cost of a step is measured as the time from the call to its
 * reply, so it also includes the time on the network. */
#ifndef DUEPOST_WORKER_SWEEP_H
#define DUEPOST_WORKER_SWEEP_H

#include "io/loop.h"
#include "store/shard.h"

enum { PACE_LATE_MS = 2000 };

struct pace;

/* Creates a pace that runs step. step sends one call; when the reply has come, the owner calls either
 * pace_continue or pace_end, once. Borrows arg. */
struct pace *pace_new(struct loop *, loop_fn *step, void *arg);

/* Runs a step now, unless a step or a pause is under way. */
void pace_run(struct pace *);

/* Starts the next step after the pause. Call it if the step was full or the sweep has not reached its end.
 * late_ms: how late the remaining work is; 0 if unknown. */
void pace_continue(struct pace *, int64_t late_ms);

/* Like pace_continue, for a sweep that creates due jobs. Its share of Redis's time is three quarters. */
void pace_continue_due(struct pace *);

/* Ends the sweep after its last step or after a failure. pace_run then begins a new sweep. */
void pace_end(struct pace *);

/* Returns the pause after a step that took took_us, in microseconds. */
int64_t pace_pause_us(int64_t took_us, int64_t late_ms);

void pace_free(struct pace *); /* NULL is ignored */

/* ---- idempotency keys ----
 *
 * Removes expired idempotency keys, in bounded steps, until none is left. */

struct forgetter;

/* Borrows the loop and the shard. */
struct forgetter *forgetter_new(struct loop *, struct shard *);

/* Starts removing keys, unless it is already running. */
void forgetter_run(struct forgetter *);

void forgetter_free(struct forgetter *); /* NULL is ignored */

/* ---- ended jobs ----
 *
 * Removes ended jobs that were kept for their retention time, in bounded steps (sweep.h).
 * Delivered, cancelled and dead jobs are removed when the retention of their topic is over. Dead jobs are
 * also removed when they exceed the limits on dead jobs. After a step of Redis's clock, only the limit on
 * their number removes jobs for some minutes (store/scripts/lib/clock_steps.lua).
 *
 * Measured with 1,000,000 kept jobs: if their retention ends within one hour, each job is removed less
 * than 2 s late. If their retention ends in the same second, they are removed within 10 s if they have one
 * topic, and within 35 s if each has its own topic, because each topic has its own index and name. */

struct sweeper;

/* Borrows the shard and the metrics. */
struct sweeper *sweeper_new(struct loop *, struct shard *, struct metrics *);

/* Starts a sweep, unless a sweep is under way. */
void sweeper_run(struct sweeper *);

void sweeper_free(struct sweeper *);

/* ---- counts of due jobs ----
 *
 * Counts the due jobs of a shard in steps. Used when too many topics have due jobs for one call.
 *
 * Jobs become due as time passes, without any change in Redis, so no script can keep a count of due jobs up
 * to date. A survey counts the due jobs of a bounded number of topics in each step, and stores the result
 * in Redis for all processes. */

struct surveyor;

/* Borrows the loop and the shard. */
struct surveyor *surveyor_new(struct loop *, struct shard *);

/* Starts a survey, unless a survey is running. */
void surveyor_run(struct surveyor *);

void surveyor_free(struct surveyor *); /* NULL is ignored */

/* ---- patterns ----
 *
 * Makes changed settings of patterns take effect in a shard.
 *
 * A pattern has settings for the topics whose names match it. When these settings change, each topic gets the
 * change when it is next served or read. But a topic that was held by the earlier settings may have to be
 * served now, and a topic that was served may have to be held. So the pattern keeper walks through all topics
 * and offers each of them to be served again. It works in bounded steps (sweep.h): at least 50,000 topics a
 * second. Redis keeps the position of this walk, so another process continues it after a crash.
 *
 * Each shard has a copy of the patterns. If a process dies while it writes a change, some shards keep an
 * earlier version. In the shard to which changes are written first, the pattern keeper compares the versions
 * of all shards, and copies the patterns with the highest version to the other shards. */

struct pattern_keeper;

/* Borrows the store and the shard. */
struct pattern_keeper *pattern_keeper_new(struct loop *, struct store *, struct shard *);

/* Called each second by the owner of the carry lock. has_walk: a walk is not at its end. NULL is ignored. */
void pattern_keeper_tick(struct pattern_keeper *, bool has_walk);

/* Notes that Redis's clock has stepped by this many ms. The keeper offers the topics again that a rate holds,
 * and moves the deadlines of workers' leases by the step (store/scripts/lib/clock_steps.lua). If this process
 * dies before Redis has stored the step, the leases and rates keep their times. NULL is ignored. */
void pattern_keeper_step(struct pattern_keeper *, int64_t ms);

void pattern_keeper_free(struct pattern_keeper *); /* NULL is ignored */

#endif
