/* consumer.h - claims due jobs of ready topics and POSTs them.
 *
 * A consumer with free slots waits at the doorbell and then claims, whether the bell rang or not. A busy one
 * claims as its slots become free. All claimed jobs start in the same turn: none waits in this process. A
 * slot is free again when Redis has taken the ending of its attempt, or has failed to.
 *
 * The consumer has a lane for each shard. The lanes share its slots (slots.h), so that a slow or absent shard
 * does not hold up the others. */
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

/* Borrows everything in options. Claims as soon as the store is connected. */
struct consumer *consumer_new(struct loop *, const struct consumer_options *);

/* Replaces these options; borrows the new ones instead. Running attempts end by the new ones. */
void consumer_reload(struct consumer *, const struct attempt_policy *, size_t max_in_flight);

/* Claims in this shard at the end of this turn. */
void consumer_poke(struct consumer *, size_t shard);

/* Stops claiming. on_drained follows when all attempts are recorded. */
void consumer_drain(struct consumer *, loop_fn *on_drained, void *arg);

/* Cuts running attempts and gives their leases back; on_drained follows. */
void consumer_cut(struct consumer *);

/* Drops attempts that are still there. NULL is fine. */
void consumer_free(struct consumer *);

#endif
