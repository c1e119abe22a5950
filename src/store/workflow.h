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

#include "store/store.h"

/* The role of a job in its workflow decides which body the job has and what happens if the job dies. */
enum workflow_role {
    WORKFLOW_STEP, /* the body is the list of elements up to the job's own; the job's death fails the workflow
                    */
    WORKFLOW_CALL, /* the job has its own body; its element can be read, but is not delivered with steps; the
                      job's death does not end the workflow */
    WORKFLOW_ANSWER, /* the job has its own body and no element; the job's death fails the workflow */
};

/* An element and its job. The job's topic is a sibling of the owner. */
struct workflow_entry {
    enum workflow_role role;
    struct slice job; /* topic/jobId; no job of the pool may have this id */
    struct store_when when;
    struct slice record;  /* see job_write */
    struct slice element; /* empty for ANSWER */
    struct slice hook;    /* appended: name of the event of the webhook that this step creates; empty: none */
    /* Name of the step, see scripts/lib/workflows.lua; empty: none. A workflow has each step once: if a
     * client repeats a request, the step's first job stays, and this entry is not stored. */
    struct slice step;
};

enum workflow_state { WORKFLOW_ACTIVE, WORKFLOW_SUCCEEDED, WORKFLOW_FAILED, WORKFLOW_CANCELLED };

/* ---- Changes ---- */

struct workflow_begin {
    struct slice id, settings; /* settings is a text of the caller, stored with the workflow */
    /* The parent is the workflow that gets an element when this workflow ends; empty: none. The two
     * entries below are this element for a workflow that fails and for one that is cancelled. */
    struct slice parent;      /* owner/workflowId/time, see workflow_place */
    struct slice parent_step; /* name of the parent's step that waits for this workflow; empty: unknown */
    struct workflow_entry if_failed, if_cancelled;
    bool replaces; /* if a workflow with this id is active, it starts again */
    /* The failed workflow that this one continues; empty: none. A failed workflow can be continued once,
     * because this removes the dead job that failed it. The new workflow begins with copies of the first
     * elements of the failed workflow: kept is the number of these elements, and kept_bytes the size of
     * their texts. */
    struct slice from; /* owner/workflowId/time, see workflow_place */
    size_t kept, kept_bytes;
    struct workflow_entry first;
};

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

struct workflow_wait {
    struct slice id, event, text;   /* text is a text of the caller, see workflow_waiters */
    struct workflow_entry deadline; /* job that is delivered when it is due, unless an event comes earlier */
    struct slice kept; /* the first kept event for this wait, if the caller has read it; empty: none */
    struct workflow_entry with_kept; /* if kept is set: job that is delivered at once, instead of deadline */
};

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

struct workflow_waiter {
    struct slice job, text; /* text is empty if the wait cannot be read */
};

struct workflow_waiters_query {
    struct slice owner, event;
    struct slice id;   /* owner/workflowId; empty: all workflows of the owner */
    struct slice from; /* next of the previous page; empty: begins with the first job */
    size_t max;        /* maximum number of jobs */
};

/* next is where the next page begins; empty: there are no more jobs. The status is OK or UNAVAILABLE. */
typedef void workflow_waiters_fn(void *arg, enum status, const struct workflow_waiter *, size_t count,
                                 struct slice next);

/* Reads a page of the jobs that wait for an event, in the order in which they began to wait. */
void workflow_waiters(struct store *, const struct workflow_waiters_query *, workflow_waiters_fn *,
                      void *arg);

/* A job that waits for an event, and the job that is delivered instead. */
struct workflow_notice {
    struct slice waiter;
    struct workflow_entry entry;
};

struct workflow_notify {
    struct slice owner, event;
    struct slice id, data; /* id: the event is for this workflow only, and is kept if the workflow does not
                              wait; empty: for all workflows */
    const struct workflow_notice *notices;
    size_t count;
};

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

/* Slices are valid until the callback returns. */
struct workflow_element {
    bool is_call;
    struct slice text; /* empty unless it was requested */
    /* Set if jobs were requested: the element's job, the time at which the element was appended, and the size
     * of its text. */
    struct slice job;
    int64_t at_ms;
    size_t bytes;
};

/* A job that has not ended. */
struct workflow_open {
    struct slice job;
    enum workflow_role role;
    bool is_wait;      /* the job is a step that waits for an event, and has no element yet */
    struct slice wait; /* text of the caller, see workflow_wait */
    size_t position;   /* number of the job's element, from 1; 0: it has no element */
};

struct workflow {
    struct slice id; /* owner/workflowId */
    enum workflow_state state;
    int64_t made_ms, ended_ms; /* ended_ms is 0 while the workflow is active */
    int64_t previous_ms;       /* when the previous workflow with this id was created; 0: none, or unknown */
    struct slice settings, result, parent, failed_by, first_job;
    int64_t bytes; /* size of all elements */
    bool has_hook; /* the workflow has the webhook of the query */
    size_t open_count, element_count;
    const struct workflow_element *elements; /* NULL unless elements or jobs were requested */
    const struct workflow_open *open;        /* NULL unless jobs were requested */
};

struct workflow_query {
    struct slice id;
    int64_t made_ms; /* 0: the latest workflow with this id */
    bool with_jobs;
    /* Maximum size of all elements, bytes; if the elements are larger, only the text of the first element
     * is read; 0: no text is read. */
    size_t texts_max;
    struct slice hook; /* name of the event of a webhook, for has_hook; may be empty */
};

/* The status is OK, NOT_FOUND, UNAVAILABLE or NO_MEMORY. Borrows the id until the callback. */
typedef void workflow_read_fn(void *arg, enum status, const struct workflow *);
void workflow_read(struct store *, const struct workflow_query *, workflow_read_fn *, void *arg);

/* The position at which a list continues. At the beginning and at the end, all members are 0. */
struct workflow_cursor {
    size_t shard;
    struct slice place; /* owner/workflowId/made_ms */
};

struct workflow_list {
    struct slice owner, prefix; /* prefix: beginning of the workflowIds; empty: all */
    bool has_state;
    enum workflow_state state;
    size_t max; /* up to WORKFLOW_PAGE_MAX */
    struct workflow_cursor from;
};

enum { WORKFLOW_PAGE_MAX = 100 };

/* The status is OK or UNAVAILABLE. */
typedef void workflow_list_fn(void *arg, enum status, const struct workflow *, size_t count,
                              struct workflow_cursor next);

/* Lists workflows, the latest first; with several shards, shard by shard. The result has no elements and
 * no jobs of the workflows; settings and results of more than 8 KiB are empty. A page may have few
 * workflows, or none, although more pages follow. Borrows all arguments until the callback. */
void workflow_list(struct store *, const struct workflow_list *, workflow_list_fn *, void *arg);

/* Splits a place (the text owner/workflowId/time, which names one workflow) into its parts. Returns false
 * if the text is not a place. */
bool workflow_place_parse(struct slice place, struct slice *id, int64_t *made_ms);

#endif
