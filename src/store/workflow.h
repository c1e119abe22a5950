/* workflow.h - workflows: lists of elements that grow, and the jobs that belong to them.
 *
 * A workflow belongs to an owner topic; all its data is in one shard. Its id is owner/workflowId. The
 * elements of a workflow are JSON texts of the caller. Each change is one script: an element and its job are
 * stored together, or not at all. An id can be used again when its workflow has ended. Ended workflows are
 * kept for a week, at most 10,000 in a shard. scripts/lib/workflows.lua has the maximum numbers of elements
 * and of open jobs.
 *
 * The rules of store.h about calls and callbacks apply here, too: a call borrows its slices until the
 * callback. */
#ifndef DUEPOST_STORE_WORKFLOW_H
#define DUEPOST_STORE_WORKFLOW_H

#include "job/workflow.h"
#include "store/shard.h"

/* ---- Changes ---- */

/* made_ms is the time at which the workflow was created. If is_new is false, a workflow with this id is
 * already active, or the parent's step has already started a workflow; first_job is its first job. */
struct workflow_begun {
    bool is_new;
    int64_t made_ms;
    struct slice first_job;
};

/* The status is OK, NOT_FOUND (the failed workflow cannot be continued, or has already been continued),
 * EXISTS (a job has the id of the first job), FULL, UNAVAILABLE or UNKNOWN. */
typedef void workflow_begun_fn(void *arg, enum status, const struct workflow_begun *);
void workflow_begin(struct store *, const struct workflow_begin *, workflow_begun_fn *, void *arg);

/* The status is OK, NOT_FOUND (no workflow with this id is active), EXISTS (a job has one of the ids), FULL,
 * UNAVAILABLE or UNKNOWN. made_ms is 0 unless the status is OK. */
typedef void workflow_fn(void *arg, enum status, int64_t made_ms);

/* The status is as for workflow_fn. firsts: for each entry the first job of its step, or an empty text if the
 * entry was appended; NULL: all entries were appended. */
typedef void workflow_appended_fn(void *arg, enum status, const struct slice *firsts);

/* Appends all entries whose steps the workflow does not have, or none. Borrows the entries until the
 * callback. */
void workflow_append(struct store *, struct slice id, const struct workflow_entry *, size_t count,
                     workflow_appended_fn *, void *arg);

/* Ends a workflow, and removes its jobs. Attempts under way continue. for_parent is the entry that the parent
 * gets if the state is SUCCEEDED; NULL: none. After CANCELLED, the parent gets the entry if_cancelled. */
void workflow_end(struct store *, struct slice id, enum workflow_state, struct slice result,
                  const struct workflow_entry *for_parent, workflow_fn *, void *arg);

/* ---- Waits ---- */

/* has_taken: the workflow has taken the kept event and does not wait. kept: the first kept event, if it is
 * not the one that the caller has read; nothing has changed then. */
struct workflow_waiting {
    bool has_taken;
    struct slice kept;
};

/* The status is OK, STALE (kept is set), NOT_FOUND (no workflow with this id is active), EXISTS (a job has
 * the id), FULL, UNAVAILABLE or UNKNOWN. */
typedef void workflow_waiting_fn(void *arg, enum status, const struct workflow_waiting *);
void workflow_wait(struct store *, const struct workflow_wait *, workflow_waiting_fn *, void *arg);

/* next is where the next page begins; empty: there are no more jobs. The status is OK or UNAVAILABLE. */
typedef void workflow_waiters_fn(void *arg, enum status, const struct workflow_waiter *, size_t count,
                                 struct slice next);

/* Reads a page of the jobs that wait for an event, in the order in which they began to wait. */
void workflow_waiters(struct store *, const struct workflow_waiters_query *, workflow_waiters_fn *,
                      void *arg);

struct workflow_notified {
    const bool *was_waiting; /* for each notice: whether its job was still waiting */
    size_t count;
    bool is_kept;
};

/* The status is OK, NOT_FOUND (no workflow with this id is active), STALE (the workflow waits with another
 * job; nothing has changed), FULL (too many events are kept for the workflow), UNAVAILABLE or UNKNOWN. */
typedef void workflow_notified_fn(void *arg, enum status, const struct workflow_notified *);
void workflow_notify(struct store *, const struct workflow_notify *, workflow_notified_fn *, void *arg);

/* ---- Reading ---- */

/* The status is OK, NOT_FOUND, UNAVAILABLE or NO_MEMORY. Borrows the id until the callback. */
typedef void workflow_read_fn(void *arg, enum status, const struct workflow *);
void workflow_read(struct store *, const struct workflow_query *, workflow_read_fn *, void *arg);

/* The status is OK or UNAVAILABLE. */
typedef void workflow_list_fn(void *arg, enum status, const struct workflow *, size_t count,
                              struct workflow_cursor next);

/* Lists workflows, the latest first; with several shards, shard by shard. The result has no elements and
 * no jobs of the workflows; settings and results of more than 8 KiB are empty. A page may have few
 * workflows, or none, although more pages follow. Borrows all arguments until the callback. */
void workflow_list(struct store *, const struct workflow_list *, workflow_list_fn *, void *arg);

/* ---- the elements for the request of a job ---- */

enum workflow_input_kind {
    INPUT_OWN,  /* the body of the job */
    INPUT_LIST, /* the body is the list of elements, up to and with the job's own */
    INPUT_LONG, /* like LIST, but the elements are too long for one delivery */
    INPUT_DONE, /* an earlier delivery of the job has done its work, so the job is not delivered again */
    INPUT_OVER, /* the workflow has ended, so the job is not delivered */
    INPUT_UNREADABLE, /* the data of a wait for an event cannot be read, so the job is not delivered */
};

/* Valid until the callback returns. */
struct workflow_input {
    enum workflow_input_kind kind;
    int64_t made_ms; /* time at which the workflow was created; 0 unless the job is delivered */
    /* A JSON array. LIST: the elements; OWN and LONG: only the first element; otherwise empty. */
    struct slice elements;
};

/* The status is OK, UNAVAILABLE, UNKNOWN or NO_MEMORY. */
typedef void workflow_input_fn(void *arg, enum status, const struct workflow_input *);

/* Reads the elements for the request of a leased job. If the job is a workflow's wait for an event
 * (workflow_wait) whose deadline has come, this call also ends the wait and appends its element to the
 * workflow. A repeated call changes nothing. Borrows the id until the callback. */
void shard_arrive(struct shard *, struct slice id, workflow_input_fn *, void *arg);

#endif
