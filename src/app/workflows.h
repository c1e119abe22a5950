/* workflows.h - use cases for workflows: lists of elements that grow, and the jobs that belong to them.
 *
 * A workflow belongs to an owner topic, and its id is owner/workflowId. Its jobs are in sibling topics of the
 * owner. An element is a JSON text of the dialect. See store/workflow.h. */
#ifndef DUEPOST_APP_WORKFLOWS_H
#define DUEPOST_APP_WORKFLOWS_H

#include "app/app.h"

/* The role of a job in its workflow: its body, and the meaning of its death. */
enum app_workflow_role {
    APP_WORKFLOW_STEP,   /* the elements up to its own; its death fails the workflow */
    APP_WORKFLOW_CALL,   /* its own body; its element is for those who read all; its death changes nothing */
    APP_WORKFLOW_ANSWER, /* its own body, without an element; its death fails the workflow */
};

/* An element and its job, as they are stored. */
struct app_workflow_entry {
    enum app_workflow_role role;
    struct buffer stored; /* owned: id and record of the job */
    size_t id_size;
    bool is_absolute; /* at_ms is a time, and not a delay */
    int64_t at_ms;
    struct buffer element; /* owned; the caller writes it */
};

void app_workflow_entry_init(struct app_workflow_entry *, enum app_workflow_role);
void app_workflow_entry_fini(struct app_workflow_entry *);

/* Writes the job, which has a jobId. Returns false if there is no memory for it, or for the element. */
bool app_workflow_entry_write(struct app_workflow_entry *, const struct job *);

/* Checks whether a job can be accepted now. Returns false after a callback with NOT_REACHED, INVALID or
 * UNAVAILABLE. */
bool app_workflow_admit(struct app *, const struct app_caller *, const struct job *, app_verdict_fn *,
                        void *arg);

/* ---- changes ---- */

/* All is borrowed until the callback. */
struct app_workflow_begin {
    struct slice id, settings;
    struct slice parent; /* owner/workflowId/time; empty: none */
    /* With a parent: what it gets when this workflow fails, or is cancelled. Else NULL. */
    const struct app_workflow_entry *if_failed, *if_cancelled;
    bool replaces; /* an active workflow with this id begins anew */
    const struct app_workflow_entry *first;
};

/* With DONE made_ms is when the workflow was made. With REPEATED there is an active one with this id, and
 * first_job is its first job. Other ends are FULL, UNAVAILABLE and UNKNOWN. */
typedef void app_workflow_begun_fn(void *arg, const struct app_verdict *, int64_t made_ms,
                                   struct slice first_job);
void app_workflow_begin(struct app *, const struct app_workflow_begin *, app_workflow_begun_fn *, void *arg);

/* Appends all entries, or none. Borrows them until the callback. Ends with DONE, NOT_FOUND (no workflow with
 * this id is active), EXISTS (a job has one of the ids), FULL, UNAVAILABLE or UNKNOWN. */
void app_workflow_append(struct app *, struct slice id, const struct app_workflow_entry *const *entries,
                         size_t count, app_verdict_fn *, void *arg);

/* Ends an active workflow and drops its jobs; attempts under way go on. for_parent: what its parent gets when
 * it has succeeded; NULL: nothing. A cancelled one gives its parent what was prepared. Borrows all until the
 * callback. Ends with DONE, NOT_REACHED, NOT_FOUND (no workflow with this id is active), FULL, UNAVAILABLE or
 * UNKNOWN. */
struct app_workflow_end {
    struct slice id;
    bool is_cancelled;
    struct slice result; /* of one that has succeeded */
    const struct app_workflow_entry *for_parent;
};
void app_workflow_end(struct app *, const struct app_caller *, const struct app_workflow_end *,
                      app_verdict_fn *, void *arg);

/* ---- reading ---- */

/* Borrowed until the callback returns. */
struct app_workflow {
    bool is_active;
    int64_t made_ms;
    struct slice settings;
    const struct slice *elements; /* if they were asked for */
    size_t element_count;
};

/* Reads the last workflow with this id. workflow is NULL unless the verdict is DONE. Other ends are NOT_FOUND
 * and UNAVAILABLE. */
typedef void app_workflow_fn(void *arg, const struct app_verdict *, const struct app_workflow *);
void app_workflow_read(struct app *, struct slice id, bool with_elements, app_workflow_fn *, void *arg);

#endif
