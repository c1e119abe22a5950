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
    struct slice text; /* text of the element; empty unless texts were requested */
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
    size_t position;   /* position of the job's element in the workflow, from 1; 0: the job has no element */
};

/* A workflow; the struct is valid until the callback returns. */
struct app_workflow {
    struct slice id; /* owner/workflowId */
    enum app_workflow_state state;
    bool is_active;
    int64_t made_ms, ended_ms; /* ended_ms is 0 while the workflow is active */
    int64_t previous_ms;       /* when the previous workflow with this id was created; 0: none, or unknown */
    struct slice settings, result;
    struct slice
        parent; /* id of the parent: the workflow that gets an element when this workflow ends; empty: none */
    int64_t parent_made_ms;
    struct slice failed_by, first_job; /* ids of jobs; failed_by is empty unless the workflow has failed */
    bool has_hook;                     /* the webhook of the query is one of this workflow */
    int64_t bytes;                     /* size of all elements together */
    size_t open_count, element_count;
    const struct app_workflow_element *elements; /* NULL unless elements or jobs were requested */
    const struct app_workflow_open *open;        /* NULL unless jobs were requested */
};

struct app_workflow_query {
    struct slice id;
    int64_t made_ms; /* when the workflow was created; 0: reads the latest workflow with this id */
    bool with_jobs;
    size_t texts_max;  /* maximum size of all texts together; if they are larger, only the first text is read;
                          0: no texts are read */
    struct slice hook; /* name of the event of a webhook, for has_hook; may be empty */
};

/* Reads a workflow. With the verdicts NOT_FOUND and UNAVAILABLE, the callback gets NULL instead of a
 * workflow. */
typedef void app_workflow_fn(void *arg, const struct app_verdict *, const struct app_workflow *);
void app_workflow_find(struct app *, const struct app_workflow_query *, app_workflow_fn *, void *arg);

/* Reads the last workflow with this id, with the texts of its elements or without. */
void app_workflow_read(struct app *, struct slice id, bool with_elements, app_workflow_fn *, void *arg);

/* Position in a list of workflows: the list continues after the workflow that place names. place points into
 * room. All zeros mean the beginning. */
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

/* Calls each() for every workflow of a page, and then fn. The latest workflows come first; with several
 * shards, the workflows of one shard come after those of another. In a list, workflows have neither
 * elements nor jobs, and settings or a result of more than 8 KiB are left empty. A page may have fewer
 * workflows than max although more pages follow. */
typedef void app_workflow_each_fn(void *arg, const struct app_workflow *);
void app_workflow_list(struct app *, const struct app_workflow_list *, app_workflow_each_fn *,
                       app_verdict_fn *, void *arg);

#endif
