/* carry_worker.h - moves topics that have due jobs to the ready list. This is called carrying.
 *
 * One process at a time owns the carry lock of a shard; the other processes are standbys. The owner carries
 * at the earliest due time, once a second, and when it begins to receive wake-ups (messages of scripts, for
 * example that a job is due earlier than all others). The owner also returns the jobs of lost leases, ends
 * workers' leases that have run out, removes expired idempotency keys and audits the stored counts. An owner
 * that stops releases the lock, and Redis then wakes the standbys.
 *
 * The owner changes its beat, a number in Redis, once a second. A standby takes over the lock when the beat
 * has not changed for CARRY_STUCK_US by the standby's own clock. The lock has no expiry time, because clocks
 * can step. Carrying twice does no harm, so carrying needs no lock: a standby carries jobs that are overdue
 * by CARRY_PATIENCE_MS. So jobs need not wait until another process has taken over the lock.
 *
 * Jobs of lost leases are returned only after a quiet time, which is as long as one lease. A quiet time is a
 * time in which no clock steps and Redis stays reachable, so that live consumers can renew their leases. The
 * quiet time begins at the last disturbance that this process noticed (a clock step, or a time without
 * Redis), and not when the process takes over the lock. A process with a private Redis starts without a quiet
 * time, because no other process can renew the leases in that Redis. */
#ifndef DUEPOST_WORKER_CARRY_WORKER_H
#define DUEPOST_WORKER_CARRY_WORKER_H

#include "job/delivery/delivery_form.h"
#include "store/shard.h"

struct archiver;
struct consumer_carried;
struct carry_worker;
struct heartbeat;
struct janitor;
struct pattern_keeper;

#define CARRY_STUCK_US INT64_C(2000000)
enum { CARRY_PATIENCE_MS = 250 };

struct carry_worker_options {
    struct store *store;
    struct shard *shard;
    const struct delivery_forms *forms; /* delivery forms, for burying jobs and for schedules with a group */
    struct metrics *metrics;
    struct janitor *janitor;
    struct pattern_keeper *pattern_keeper;
    const struct retry_schedule *schedule; /* default for jobs and topics without a retry schedule */
    struct archiver *archiver;
    /* This Redis is private, so no other process uses it, and the lock is taken at once. */
    bool is_alone;
    struct heartbeat *heartbeat;         /* NULL: none, or not the first shard */
    const struct durability *durability; /* configured by the operator; NULL: none */
    /* As in worker/alerts.h; may be NULL. */
    bool (*certificate)(void *arg, int64_t *until_ms);
    /* Called when a topic has due jobs. on_due returns true if this reactor's consumer claims in the same
     * turn of the loop: the claim then also carries the topics, and carry_worker_note_carried gets the
     * result. If on_due returns false, the carry worker sends a call of its own. */
    bool (*on_due)(void *arg);
    /* Called once a second while a claim would find due jobs. Normally the doorbell has already rung for
     * them, but its connection may be dead without a sign. */
    void (*on_turns)(void *arg);
    void *arg;
};

/* Borrows everything in options. */
struct carry_worker *carry_worker_new(struct loop *, const struct carry_worker_options *);

/* Notes the result of a claim that also carried, because on_due had returned true. */
void carry_worker_note_carried(struct carry_worker *, enum status, const struct consumer_carried *);

/* Replaces the default retry schedule. Leases that end later use the new schedule. */
void carry_worker_set_schedule(struct carry_worker *, const struct retry_schedule *);

/* Releases the lock, so that another process takes over at once. */
void carry_worker_stop(struct carry_worker *);

/* Call it after the store was freed. NULL is ignored. */
void carry_worker_free(struct carry_worker *);

#endif
