/* workflow.h - workflows: lists of elements that grow, and the jobs that belong to them.
 *
 * A workflow belongs to an owner topic, and its id is owner/workflowId. The elements of a workflow are JSON
 * texts of the dialect (the HTTP API); the texts called "of the caller" are the dialect's, too. All structs
 * borrow their slices. */
#ifndef DUEPOST_JOB_WORKFLOW_H
#define DUEPOST_JOB_WORKFLOW_H

#include "job/job.h"
#include "job/job_id.h"

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
    struct job_when when;
    struct slice record;  /* see job_write */
    struct slice element; /* empty for ANSWER */
    struct slice hook;    /* appended: name of the event of the webhook that this step creates; empty: none */
    /* Name of the step, see scripts/lib/workflows.lua; empty: none. A workflow has each step once: if a
     * client repeats a request, the step's first job stays, and this entry is not stored. */
    struct slice step;
};

/* The texts of workflows are sealed for their owner topic (text/sealed.h), because a continued workflow gets
 * the elements of another one. */
enum { WORKFLOW_SEAL_MAX = JOB_TOPIC_MAX + 16 };

/* Writes the owner of the sealed texts of a workflow: owner/workflowId, or the owner alone. */
static inline struct slice workflow_seal_owner(struct slice id, char text[WORKFLOW_SEAL_MAX])
{
    struct buffer owner = buffer_of(text, WORKFLOW_SEAL_MAX);
    struct slice topic, ignored;
    slice_cut(id, '/', &topic, &ignored);
    buffer_append(&owner, SLICE("workflow "));
    buffer_append(&owner, topic);
    return buffer_slice(&owner);
}

enum workflow_state { WORKFLOW_ACTIVE, WORKFLOW_SUCCEEDED, WORKFLOW_FAILED, WORKFLOW_CANCELLED };

struct workflow_begin {
    struct slice id, settings; /* settings is a text of the caller, stored with the workflow */
    /* The parent is the workflow that gets an element when this workflow ends; empty: none. The two
     * entries below are this element for a workflow that fails and for one that is cancelled. */
    struct slice parent;      /* owner/workflowId/time, see workflow_place_parse */
    struct slice parent_step; /* name of the parent's step that waits for this workflow; empty: unknown */
    struct workflow_entry if_failed, if_cancelled;
    bool replaces; /* if a workflow with this id is active, it starts again */
    /* The failed workflow that this one continues; empty: none. A failed workflow can be continued once,
     * because this removes the dead job that failed it. The new workflow begins with copies of the first
     * elements of the failed workflow: kept is the number of these elements, and kept_bytes the size of
     * their texts. */
    struct slice from; /* owner/workflowId/time, see workflow_place_parse */
    size_t kept, kept_bytes;
    struct workflow_entry first;
};

struct workflow_wait {
    struct slice id, event, text;   /* text is a text of the caller, see workflow_waiters */
    struct workflow_entry deadline; /* job that is delivered when it is due, unless an event comes earlier */
    /* The first kept event for this wait as it is stored, which may be sealed, if the caller has read it;
     * empty: none */
    struct slice kept;
    struct workflow_entry with_kept; /* if kept is set: job that is delivered at once, instead of deadline */
};

struct workflow_waiter {
    struct slice job, text; /* text is empty if the wait cannot be read */
};

enum { WORKFLOW_WAITERS_MAX = 100 };

struct workflow_waiters_query {
    struct slice owner, event;
    struct slice id;   /* owner/workflowId; empty: all workflows of the owner */
    struct slice from; /* next of the previous page; empty: begins with the first job */
    size_t max;        /* 1 to WORKFLOW_WAITERS_MAX */
};

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

/* ---- Reading ---- */

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
    struct slice settings, result;
    struct slice
        parent; /* id of the parent: the workflow that gets an element when this workflow ends; empty: none */
    int64_t parent_made_ms;
    struct slice failed_by, first_job; /* ids of jobs; failed_by is empty unless the workflow has failed */
    int64_t bytes;                     /* size of all elements */
    bool has_hook;                     /* the workflow has the webhook of the query */
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

/* The position at which a list continues. At the beginning and at the end, shard and place are 0 and empty.
 */
struct workflow_cursor {
    size_t shard;
    struct slice place;         /* owner/workflowId/made_ms */
    char room[2 * JOB_KEY_MAX]; /* for the text of place, if the owner of the cursor keeps it here */
};

struct workflow_list {
    struct slice owner, prefix; /* prefix: beginning of the workflowIds; empty: all */
    bool has_state;
    enum workflow_state state;
    size_t max; /* workflow_list (store/workflow.h) returns up to WORKFLOW_PAGE_MAX */
    struct workflow_cursor from;
};

enum { WORKFLOW_PAGE_MAX = 100 };

#endif
