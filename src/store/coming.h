/* coming.h - counts waiting jobs by due time: how many are overdue, and how many become due in each span of
 * time.
 *
 * A walk counts the jobs of all shards once, in steps. In each step, every shard that still has topics to
 * count gets one call, which takes Redis about 2 ms. In a shard with more than COMING_TOPICS_MAX topics,
 * the walk counts only a sample of the topics. The steps of a walk may use the stores of different
 * reactors. */
#ifndef DUEPOST_STORE_COMING_H
#define DUEPOST_STORE_COMING_H

#include "job/listing.h"
#include "store/store.h"

enum {
    COMING_TOPICS_MAX = 1024, /* maximum number of topics of one shard that a walk examines */
};

struct coming_walk;

struct coming_walk *coming_walk_new(void);
void coming_walk_free(struct coming_walk *); /* must not be called during a step, except in the step's
                                                callback; NULL is ignored */

/* Called after a step. coming is NULL until the walk is complete. After a complete walk, or if the status is
 * not OK, the next step begins a new walk. */
typedef void coming_fn(void *arg, enum status, const struct coming *coming);

/* Does the next step of the walk. Borrows the walk and the store until the callback. */
void coming_walk_step(struct coming_walk *, struct store *, coming_fn *, void *arg);

#endif
