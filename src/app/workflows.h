/* workflows.h - use cases for workflows: lists of elements that grow, and the jobs that belong to them.
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
    struct slice parent; /* owner/workflowId/time; empty: none */
    /* The entries that the parent gets when this workflow fails or is cancelled; NULL without a parent. */
    const struct app_workflow_entry *if_failed, *if_cancelled;
    bool replaces; /* if a workflow with this id is active, it starts again */
    /* The failed workflow that this one continues: owner/workflowId/time; empty: none. A failed workflow can
     * be continued once. The dead job that failed it is removed. The new workflow begins with elements of the
     * failed one: the first ones, of the number kept. Their texts have kept_bytes. */
    struct slice from;
    size_t kept, kept_bytes;
    const struct app_workflow_entry *first;
};

/* With DONE, made_ms is the time at which the workflow was created. With REPEATED, a workflow with this id is
 * active, and first_job is its first job. The other possible verdicts are NOT_FOUND (the failed workflow
 * cannot be continued, or has already been continued), EXISTS, FULL, UNAVAILABLE and UNKNOWN. */
typedef void app_workflow_begun_fn(void *arg, const struct app_verdict *, int64_t made_ms,
                                   struct slice first_job);
void app_workflow_begin(struct app *, const struct app_workflow_begin *, app_workflow_begun_fn *, void *arg);

/* Appends all entries, or none. Borrows the entries until the callback. Ends with DONE, NOT_FOUND (no
 * workflow with this id is active), EXISTS (a job has one of the ids), FULL, UNAVAILABLE or UNKNOWN. */
void app_workflow_append(struct app *, struct slice id, const struct app_workflow_entry *const *entries,
                         size_t count, app_verdict_fn *, void *arg);

/* Ends an active workflow and drops its jobs; attempts under way continue. for_parent is the entry that the
 * parent gets if the workflow has succeeded; NULL: none. If the workflow was cancelled, the parent gets the
 * entry if_cancelled. Borrows all arguments until the callback. Ends with DONE, NOT_REACHED, NOT_FOUND (no
 * workflow with this id is active), FULL, UNAVAILABLE or UNKNOWN. */
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
    struct slice text; /* text of the dialect, see app_workflow_waiters */
    const struct app_workflow_entry
        *deadline;     /* job that is delivered when it is due, unless an event comes earlier */
    struct slice kept; /* the first kept event for this wait, if the caller has read it; else empty */
    /* job that is delivered at once, instead of the job "deadline", if kept is set; else NULL */
    const struct app_workflow_entry *with_kept;
};

/* Begins to wait for an event. Ends with DONE, MISMATCH (kept is the first event that is kept; nothing has
 * changed), NOT_FOUND (no workflow with this id is active), EXISTS, FULL, UNAVAILABLE or UNKNOWN. */
typedef void app_workflow_waiting_fn(void *arg, const struct app_verdict *, struct slice kept);
void app_workflow_wait(struct app *, const struct app_workflow_wait *, app_workflow_waiting_fn *, void *arg);

struct app_workflow_waiter {
    struct slice job, text;
};

enum { APP_WORKFLOW_WAITERS_MAX = 100 }; /* maximum number of waiters in one call */

/* Reads the first jobs that wait for an event: jobs of one workflow, or of all workflows if id is empty. Ends
 * with DONE or UNAVAILABLE. */
typedef void app_workflow_waiters_fn(void *arg, const struct app_verdict *,
                                     const struct app_workflow_waiter *, size_t count);
void app_workflow_waiters(struct app *, struct slice owner, struct slice event, struct slice id,
                          app_workflow_waiters_fn *, void *arg);

/* The call borrows all members until the callback. */
struct app_workflow_notify {
    struct slice owner, event;
    struct slice id, data; /* id: the event is for this workflow only, and is kept if the workflow does not
                              wait; empty: for all workflows */
    const struct slice *waiters; /* ids of the jobs that wait */
    const struct app_workflow_entry *const
        *entries; /* entries that are delivered to the waiters, in the same order */
    size_t count;
};

/* Ends waits with an event. was_waiting[i] is false if the wait of waiters[i] had ended. Ends with DONE,
 * MISMATCH (another job waits; nothing has changed), NOT_FOUND (no workflow with this id is active), FULL,
 * UNAVAILABLE or UNKNOWN. */
typedef void app_workflow_notified_fn(void *arg, const struct app_verdict *, const bool *was_waiting);
void app_workflow_notify(struct app *, const struct app_workflow_notify *, app_workflow_notified_fn *,
                         void *arg);

#endif
