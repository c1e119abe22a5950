/* workflows.h - use cases for workflows. A workflow is a growing list of elements, together with its jobs.
 *
 * A workflow belongs to an owner topic, and its id is owner/workflowId. The workflow's jobs are in sibling
 * topics of the owner. An element is a JSON text of the dialect. See store/workflow.h. */
#ifndef DUEPOST_APP_WORKFLOWS_H
#define DUEPOST_APP_WORKFLOWS_H

#include "app/workflow_entry.h"
#include "app/workflow_reads.h"

/* Checks whether a job can be accepted now. Returns false after a callback with NOT_REACHED, INVALID or
 * UNAVAILABLE. */
bool app_workflow_admit(struct app *, const struct app_caller *, const struct job *, app_verdict_fn *,
                        void *arg);

/* ---- changes ---- */

/* The call borrows all members until the callback. */
struct app_workflow_begin {
    struct slice id, settings;
    struct slice parent;      /* owner/workflowId/time; empty: none */
    struct slice parent_step; /* name of the parent's step that waits for this workflow; empty: unknown */
    /* The entries that the parent gets when this workflow fails or is cancelled; NULL without a parent. */
    const struct app_workflow_entry *if_failed, *if_cancelled;
    bool replaces; /* if a workflow with this id is active, the new workflow replaces it */
    /* The failed workflow that this one continues: owner/workflowId/time; empty: none. A failed workflow
     * can be continued once. The dead job because of which it failed is removed. The new workflow begins
     * with the first elements of the failed one: kept is their number, and kept_bytes is the size of their
     * texts. */
    struct slice from;
    size_t kept, kept_bytes;
    const struct app_workflow_entry *first;
};

/* With DONE, made_ms is the time at which the workflow was created. REPEATED means that a workflow with this
 * id is already active, or that the parent's step has already started a workflow; first_job is then its first
 * job. The other possible verdicts are NOT_FOUND (the
 * failed workflow cannot be continued, or has already been continued), EXISTS, FULL, UNAVAILABLE and UNKNOWN.
 */
typedef void app_workflow_begun_fn(void *arg, const struct app_verdict *, int64_t made_ms,
                                   struct slice first_job);
void app_workflow_begin(struct app *, const struct app_workflow_begin *, app_workflow_begun_fn *, void *arg);

/* firsts: for each entry the first job of its step (topic/jobId), if the workflow had the step already, or an
 * empty text; NULL: the workflow had none of the steps. */
typedef void app_workflow_appended_fn(void *arg, const struct app_verdict *, const struct slice *firsts);

/* Appends all entries to a workflow, or none. An entry whose step the workflow has is not appended again.
 * Borrows the entries until the callback. Ends with DONE, NOT_FOUND (no workflow with this id is active),
 * EXISTS (a job has one of the ids), FULL, UNAVAILABLE or UNKNOWN. */
void app_workflow_append(struct app *, struct slice id, const struct app_workflow_entry *const *entries,
                         size_t count, app_workflow_appended_fn *, void *arg);

/* Ends an active workflow and drops its jobs; attempts under way continue. for_parent is the entry that the
 * parent workflow gets if this workflow has succeeded; NULL: there is no parent. If the workflow was
 * cancelled, the parent gets the entry if_cancelled. Borrows all arguments until the callback. Ends with
 * DONE, NOT_REACHED, NOT_FOUND (no workflow with this id is active), FULL, UNAVAILABLE or UNKNOWN. */
struct app_workflow_end {
    struct slice id;
    bool is_cancelled;
    struct slice result; /* result of a workflow that has succeeded */
    const struct app_workflow_entry *for_parent;
};
void app_workflow_end(struct app *, const struct app_caller *, const struct app_workflow_end *,
                      app_verdict_fn *, void *arg);

/* ---- waits ---- */

/* The call borrows all members until the callback. */
struct app_workflow_wait {
    struct slice id, event;
    struct slice text; /* any text of the dialect (the HTTP API); app_workflow_waiters returns it */
    const struct app_workflow_entry
        *deadline;     /* the waiting job, which is delivered when it is due, unless an event comes earlier */
    struct slice kept; /* the first of the kept events for this wait, if the caller has read it; else empty */
    /* If kept is set: the job that is delivered at once instead of the job "deadline"; else NULL */
    const struct app_workflow_entry *with_kept;
};

/* Begins to wait for an event. Ends with DONE, MISMATCH (another event is the first kept event: the callback
 * gets it in kept, and nothing has changed), NOT_FOUND (no workflow with this id is active), EXISTS, FULL,
 * UNAVAILABLE or UNKNOWN. */
typedef void app_workflow_waiting_fn(void *arg, const struct app_verdict *, struct slice kept);
void app_workflow_wait(struct app *, const struct app_workflow_wait *, app_workflow_waiting_fn *, void *arg);

struct app_workflow_waiter {
    struct slice job, text; /* text is empty if the wait cannot be read */
};

enum { APP_WORKFLOW_WAITERS_MAX = 100 }; /* maximum number of waiters in one call */

struct app_workflow_waiters_query {
    struct slice owner, event;
    struct slice id;   /* only the jobs of this workflow; empty: of all workflows of the owner */
    struct slice from; /* next of the previous page; empty: the first page */
};

/* Reads a page of the jobs that wait for an event, in the order in which they began to wait. next is where
 * the next page begins; empty: there are no more. A page may have fewer waiters than
 * APP_WORKFLOW_WAITERS_MAX although more pages follow. Ends with DONE or UNAVAILABLE. */
typedef void app_workflow_waiters_fn(void *arg, const struct app_verdict *,
                                     const struct app_workflow_waiter *, size_t count, struct slice next);
void app_workflow_waiters(struct app *, const struct app_workflow_waiters_query *, app_workflow_waiters_fn *,
                          void *arg);

/* The call borrows all members until the callback. */
struct app_workflow_notify {
    struct slice owner, event;
    struct slice id, data; /* id: only this workflow gets the event, which is kept if the workflow does not
                              wait for it; empty: all workflows get it */
    const struct slice *waiters; /* ids of the jobs that wait */
    const struct app_workflow_entry *const
        *entries; /* entries that are delivered to the waiters, in the same order */
    size_t count;
};

/* Ends waits with an event. was_waiting[i] is false if waiters[i] had stopped waiting before. Ends with DONE,
 * MISMATCH (another job waits; nothing has changed), NOT_FOUND (no workflow with this id is active), FULL,
 * UNAVAILABLE or UNKNOWN. */
typedef void app_workflow_notified_fn(void *arg, const struct app_verdict *, const bool *was_waiting);
void app_workflow_notify(struct app *, const struct app_workflow_notify *, app_workflow_notified_fn *,
                         void *arg);

#endif
