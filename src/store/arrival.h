/* arrival.h - what a job of a workflow is delivered with; see workflow.h. */
#ifndef DUEPOST_STORE_ARRIVAL_H
#define DUEPOST_STORE_ARRIVAL_H

#include "store/shard.h"

enum arrival_kind {
    ARRIVAL_OWN,  /* the body of the job */
    ARRIVAL_LIST, /* the elements up to its own */
    ARRIVAL_LONG, /* the same, but they are too long for one delivery */
    ARRIVAL_OVER, /* the job is not delivered, because its workflow has ended */
};

/* Borrowed until the callback returns. */
struct arrival {
    enum arrival_kind kind;
    int64_t made_ms; /* when the workflow was created; 0 with OVER */
    /* A JSON array: LIST the elements; OWN and LONG only the first one; OVER empty. */
    struct slice elements;
};

/* The status is OK, UNAVAILABLE, UNKNOWN or NO_MEMORY. */
typedef void arrival_fn(void *arg, enum status, const struct arrival *);

/* Asks what a leased job is delivered with. The deadline of a wait appends its element now. Asking again
 * changes nothing. The id is borrowed until the callback. */
void shard_arrive(struct shard *, struct slice id, arrival_fn *, void *arg);

#endif
