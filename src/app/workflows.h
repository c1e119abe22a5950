/* workflows.h - use cases for workflows. A workflow is a growing list of elements, together with its jobs.
 *
 * A workflow belongs to an owner topic, and its id is owner/workflowId. The workflow's jobs are in sibling
 * topics of the owner. An element is a JSON text of the dialect. See job/workflow.h. */
#ifndef DUEPOST_APP_WORKFLOWS_H
#define DUEPOST_APP_WORKFLOWS_H

#include "app/app.h"
#include "base/buffer.h"
#include "job/workflow.h"

/* Reads a workflow. With the verdicts NOT_FOUND and UNAVAILABLE, the callback gets NULL instead of a
 * workflow. */
typedef void app_workflow_fn(void *arg, const struct app_verdict *, const struct workflow *);
void app_workflow_find(struct app *, const struct workflow_query *, app_workflow_fn *, void *arg);

/* Reads the last workflow with this id, with the texts of its elements or without. */
void app_workflow_read(struct app *, struct slice id, bool with_elements, app_workflow_fn *, void *arg);

/* Writes the cursor of a list that continues after a workflow. */
void app_workflow_cursor_write(const struct app *, struct slice id, int64_t made_ms, struct buffer *text);

/* Reads a cursor from a page; its place points into its room. Returns false if the text is not a cursor. */
bool app_workflow_cursor_parse(const struct app *, struct slice text, struct workflow_cursor *);

/* Calls each() for every workflow of a page, and then fn. max is 1 to APP_PAGE_MAX. The latest workflows come
 * first; with several shards, the workflows of one shard come after those of another. In a list, workflows
 * have neither elements nor jobs, and settings or a result of more than 8 KiB are left empty. A page may have
 * fewer workflows than max although more pages follow. */
typedef void app_workflow_each_fn(void *arg, const struct workflow *);
void app_workflow_list(struct app *, const struct workflow_list *, app_workflow_each_fn *, app_verdict_fn *,
                       void *arg);

/* Checks whether a job can be accepted now. Returns false after a callback with NOT_REACHED, INVALID or
 * UNAVAILABLE. */
bool app_workflow_admit(struct app *, const struct app_caller *, const struct job *, app_verdict_fn *,
                        void *arg);

/* ---- changes ---- */

/* With OK, made_ms is the time at which the workflow was created. REPEATED means that a workflow with this
 * id is already active, or that the parent's step has already started a workflow; first_job is then its first
 * job. The other possible verdicts are NOT_FOUND (the
 * failed workflow cannot be continued, or has already been continued), EXISTS, FULL, UNAVAILABLE and UNKNOWN.
 */
typedef void app_workflow_begun_fn(void *arg, const struct app_verdict *, int64_t made_ms,
                                   struct slice first_job);
void app_workflow_begin(struct app *, const struct workflow_begin *, app_workflow_begun_fn *, void *arg);

/* firsts: for each entry the first job of its step (topic/jobId), if the workflow had the step already, or an
 * empty text; NULL: the workflow had none of the steps. */
typedef void app_workflow_appended_fn(void *arg, const struct app_verdict *, const struct slice *firsts);

/* Appends all entries to a workflow, or none. An entry whose step the workflow has is not appended again.
 * Borrows the entries until the callback. Ends with OK, NOT_FOUND (no workflow with this id is active),
 * EXISTS (a job has one of the ids), FULL, UNAVAILABLE or UNKNOWN. */
void app_workflow_append(struct app *, struct slice id, const struct workflow_entry *entries, size_t count,
                         app_workflow_appended_fn *, void *arg);

/* Ends an active workflow and drops its jobs; attempts under way continue. for_parent is the entry that the
 * parent workflow gets if this workflow has succeeded; NULL: there is no parent. If the workflow was
 * cancelled, the parent gets the entry if_cancelled. Borrows all arguments until the callback. Ends with
 * OK, NOT_REACHED, NOT_FOUND (no workflow with this id is active), FULL, UNAVAILABLE or UNKNOWN. */
struct app_workflow_end {
    struct slice id;
    bool is_cancelled;
    struct slice result; /* result of a workflow that has succeeded */
    const struct workflow_entry *for_parent;
};
void app_workflow_end(struct app *, const struct app_caller *, const struct app_workflow_end *,
                      app_verdict_fn *, void *arg);

/* ---- waits ---- */

/* Begins to wait for an event. Ends with OK, STALE (another event is the first kept event: the callback
 * gets it in kept, and nothing has changed), NOT_FOUND (no workflow with this id is active), EXISTS, FULL,
 * UNAVAILABLE or UNKNOWN. */
typedef void app_workflow_waiting_fn(void *arg, const struct app_verdict *, struct slice kept);
void app_workflow_wait(struct app *, const struct workflow_wait *, app_workflow_waiting_fn *, void *arg);

/* Reads a page of the jobs that wait for an event, in the order in which they began to wait. next is where
 * the next page begins; empty: there are no more. A page may have fewer waiters than
 * max although more pages follow. Ends with OK or UNAVAILABLE. */
typedef void app_workflow_waiters_fn(void *arg, const struct app_verdict *, const struct workflow_waiter *,
                                     size_t count, struct slice next);
void app_workflow_waiters(struct app *, const struct workflow_waiters_query *, app_workflow_waiters_fn *,
                          void *arg);

/* Ends waits with an event. was_waiting[i] is false if the waiter of notices[i] had stopped waiting before.
 * Ends with OK, STALE (another job waits; nothing has changed), NOT_FOUND (no workflow with this id is
 * active), FULL, UNAVAILABLE or UNKNOWN. */
typedef void app_workflow_notified_fn(void *arg, const struct app_verdict *, const bool *was_waiting);
void app_workflow_notify(struct app *, const struct workflow_notify *, app_workflow_notified_fn *, void *arg);

#endif
