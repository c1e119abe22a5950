/* workflow_reads.h - reads and lists workflows; see workflows.h. */
#ifndef DUEPOST_APP_WORKFLOW_READS_H
#define DUEPOST_APP_WORKFLOW_READS_H

#include "app/workflow_entry.h"

enum app_workflow_state {
    APP_WORKFLOW_ACTIVE,
    APP_WORKFLOW_SUCCEEDED,
    APP_WORKFLOW_FAILED,
    APP_WORKFLOW_CANCELLED,
};

struct app_workflow_element {
    bool is_call;
    struct slice text; /* empty unless it was requested */
    /* Set if jobs were requested: the element's job (topic/jobId), the time at which the element was
     * appended, and the size of its text. Empty and 0: unknown. */
    struct slice job;
    int64_t at_ms;
    size_t bytes;
};

/* A job that has not ended. */
struct app_workflow_open {
    struct slice job; /* topic/jobId */
    enum app_workflow_role role;
    bool is_wait;      /* the job is a step that waits for an event, and has no element yet */
    struct slice wait; /* text of the dialect, see app_workflow_wait */
    size_t position;   /* number of the job's element, from 1; 0: it has no element */
};

/* Valid until the callback returns. */
struct app_workflow {
    struct slice id; /* owner/workflowId */
    enum app_workflow_state state;
    bool is_active;
    int64_t made_ms, ended_ms; /* ended_ms is 0 while the workflow is active */
    int64_t previous_ms;       /* when the previous workflow with this id was created; 0: none, or unknown */
    struct slice settings, result;
    struct slice parent; /* id of the workflow that gets an element at its end; empty: none */
    int64_t parent_made_ms;
    struct slice failed_by, first_job; /* ids of jobs; failed_by is empty unless the workflow has failed */
    int64_t bytes;                     /* size of all elements */
    size_t open_count, element_count;
    const struct app_workflow_element *elements; /* NULL unless elements or jobs were requested */
    const struct app_workflow_open *open;        /* NULL unless jobs were requested */
};

struct app_workflow_query {
    struct slice id;
    int64_t made_ms; /* 0: the latest workflow with this id */
    bool with_jobs;
    size_t texts_max; /* bytes; if the elements are larger together, only the first text is read; 0: none */
};

/* Reads a workflow. workflow is NULL unless the verdict is DONE; otherwise the verdict is NOT_FOUND or
 * UNAVAILABLE. */
typedef void app_workflow_fn(void *arg, const struct app_verdict *, const struct app_workflow *);
void app_workflow_find(struct app *, const struct app_workflow_query *, app_workflow_fn *, void *arg);

/* Reads the last workflow with this id, with the texts of its elements or without. */
void app_workflow_read(struct app *, struct slice id, bool with_elements, app_workflow_fn *, void *arg);

/* Position in a list of workflows: after the workflow place, which is a text in room. All zeros mean the
 * beginning. */
struct app_workflow_cursor {
    size_t shard;
    struct slice place;
    char room[2 * JOB_KEY_MAX];
};

/* Writes the cursor of a list that continues after a workflow. */
void app_workflow_cursor_write(const struct app *, struct slice id, int64_t made_ms, struct buffer *text);

/* Reads a cursor from a page. Returns false if the text is not a cursor. */
bool app_workflow_cursor_parse(const struct app *, struct slice text, struct app_workflow_cursor *);

struct app_workflow_list {
    struct slice owner, prefix; /* prefix: beginning of the workflowIds; empty: all */
    bool has_state;
    enum app_workflow_state state;
    size_t max; /* 1 to APP_PAGE_MAX */
    struct app_workflow_cursor from;
};

/* Calls each() for every workflow of a page, the latest first (with several shards, shard by shard), and then
 * fn. Settings and results of more than 8 KiB are empty, and there are neither elements nor jobs. A page may
 * have fewer workflows than max although there are more pages. */
typedef void app_workflow_each_fn(void *arg, const struct app_workflow *);
void app_workflow_list(struct app *, const struct app_workflow_list *, app_workflow_each_fn *,
                       app_verdict_fn *, void *arg);

#endif
