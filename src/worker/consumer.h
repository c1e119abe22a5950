/* consumer.h - claims due jobs of ready topics and POSTs them.
 *
 * A consumer with free slots waits at the doorbell and then claims, whether it
 * rang or not; a busy one claims as its slots become free. It claims only what it
 * starts in the same turn, so nothing claimed waits in this process. A slot is
 * free again when the outcome is recorded, or Redis is away for that.
 *
 * It has a lane for each shard, and the lanes share its slots (slots.h): a shard that is slow
 * or away holds up no other one. */
#ifndef DUEPOST_WORKER_CONSUMER_H
#define DUEPOST_WORKER_CONSUMER_H

#include "io/http_client.h"
#include "store/store.h"
#include "worker/attempt_policy.h"

struct consumer;

struct consumer_options {
    struct store *store;
    struct http_client *client;
    struct attempt_policy policy;
    size_t max_in_flight;
    struct metrics *metrics;
};

/* Borrows everything in options. Starts to claim when the store is there. */
struct consumer *consumer_new(struct loop *, const struct consumer_options *);

/* New values for these; borrowed like those before, which are let go of. Attempts that run end by the new
 * ones. */
void consumer_reload(struct consumer *, const struct attempt_policy *, size_t max_in_flight);

/* There is work in this shard for sure: claim at the end of this turn. */
void consumer_poke(struct consumer *, size_t shard);

/* No more claims. on_drained comes when all attempts have ended and are recorded. */
void consumer_drain(struct consumer *, loop_fn *on_drained, void *arg);

/* Cuts what still runs and gives the leases back; on_drained follows. */
void consumer_cut(struct consumer *);

/* Attempts that are still there end without a word. NULL is fine. */
void consumer_free(struct consumer *);

#endif
