/* arrival.h - reads a workflow's elements (results of its steps) for the request of one of its jobs; see
 * workflow.h. */
#ifndef DUEPOST_STORE_ARRIVAL_H
#define DUEPOST_STORE_ARRIVAL_H

#include "store/shard.h"

enum arrival_kind {
    ARRIVAL_OWN,  /* the body of the job */
    ARRIVAL_LIST, /* the body is the list of elements, up to and with the job's own */
    ARRIVAL_LONG, /* like LIST, but the elements are too long for one delivery */
    ARRIVAL_DONE, /* an earlier delivery of the job has done its work, so the job is not delivered again */
    ARRIVAL_OVER, /* the workflow has ended, so the job is not delivered */
    ARRIVAL_UNREADABLE, /* the data of a wait for an event cannot be read, so the job is not delivered */
};

/* Valid until the callback returns. */
struct arrival {
    enum arrival_kind kind;
    int64_t made_ms; /* time at which the workflow was created; 0 unless the job is delivered */
    /* A JSON array. LIST: the elements; OWN and LONG: only the first element; otherwise empty. */
    struct slice elements;
};

/* The status is OK, UNAVAILABLE, UNKNOWN or NO_MEMORY. */
typedef void arrival_fn(void *arg, enum status, const struct arrival *);

/* Reads the elements for the request of a leased job. If the job is a workflow's wait for an event
 * (workflow_wait) whose deadline has come, this call also ends the wait and appends its element to the
 * workflow. A repeated call changes nothing. Borrows the id until the callback. */
void shard_arrive(struct shard *, struct slice id, arrival_fn *, void *arg);

#endif
