/* consumer.h - claims due jobs of ready topics and POSTs them.
 *
 * A slot is the right to run one attempt. A consumer with free slots waits at the doorbell, with a blocking
 * command of Redis. The consumer claims when the bell rings or the wait times out. A busy consumer claims as
 * its slots become free. All claimed jobs start in the same turn, so no job waits in this process. A slot
 * becomes free when Redis has stored the ending of its attempt, or when storing the ending failed.
 *
 * The consumer has a lane for each shard. The lanes share the consumer's slots, so that a slow or
 * unreachable shard does not delay the other shards. */
#ifndef DUEPOST_WORKER_CONSUMER_H
#define DUEPOST_WORKER_CONSUMER_H

#include <stddef.h>

#include "io/http/client.h"
#include "store/store.h"
#include "worker/attempt.h"

struct consumer;

struct consumer_options {
    struct store *store;
    struct identities *identities;
    struct attempt_policy policy;
    size_t max_in_flight;
    size_t max_bytes; /* nothing is claimed while attempts hold as many bytes of large records or more */
    struct metrics *metrics;
};

/* Creates a consumer, which claims as soon as the store is connected. Borrows everything in options. */
struct consumer *consumer_new(struct loop *, const struct consumer_options *);

/* Replaces these two options, and borrows the new policy. Attempts under way use it when they end. */
void consumer_reload(struct consumer *, const struct attempt_policy *, size_t max_in_flight);

/* The result of a claim that also carried due topics (carry_worker.h). Valid if the status is OK. */
struct consumer_carried {
    int64_t now_us;      /* when the script ran, by Redis's clock */
    int64_t sent_us;     /* CLOCK_BOOTTIME before the claim was sent */
    int64_t next_due_ms; /* earliest due time; -1: no job waits */
};

typedef void consumer_carried_fn(void *arg, enum status, const struct consumer_carried *);

/* Lets the consumer claim in this shard at the end of this turn, or as soon as it can. The carry worker
 * calls this function when topics are due. If the consumer can claim in this turn, returns true: the claim
 * then also carries the due topics, so that a due job needs only one call, and fn gets the result.
 * Otherwise returns false, and the carry worker must carry with a call of its own. is_alone: no other
 * process has a carry worker. */
bool consumer_carry(struct consumer *, size_t shard, bool is_alone, consumer_carried_fn *fn, void *arg);

/* Lets the consumer claim in this shard at the end of this turn, or as soon as it can. */
void consumer_claim(struct consumer *, size_t shard);

/* Stops claiming. Calls on_drained when the endings of all attempts are recorded. */
void consumer_drain(struct consumer *, loop_fn *on_drained, void *arg);

/* Cuts running attempts and releases their leases. on_drained is called after that. */
void consumer_cut(struct consumer *);

/* Frees the consumer and its remaining attempts. NULL is ignored. */
void consumer_free(struct consumer *);

/* ---- slots ----
 *
 * Decides how many attempts each shard may have in flight.
 *
 * Half of the slots are reserved for the shards, in equal parts. The other half is shared by all shards: the
 * shard that asks first gets these slots. If the Redis of one shard hangs, the shard's attempts end late and
 * keep their slots. The slots reserved for the other shards stay usable. A single shard has all slots. The
 * functions are pure. */

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
