/* workflow_entry.h - an element of a workflow and its job, as they are stored; see workflows.h. */
#ifndef DUEPOST_APP_WORKFLOW_ENTRY_H
#define DUEPOST_APP_WORKFLOW_ENTRY_H

#include "app/app.h"
#include "base/buffer.h"

/* The role of a job in its workflow decides its body and the effect of its death. */
enum app_workflow_role {
    APP_WORKFLOW_STEP, /* the body is the list of the workflow's elements up to the job's own element; if the
                          job dies, the workflow fails */
    APP_WORKFLOW_CALL, /* the job has its own body; its element is not in the bodies of steps; if the job
                          dies, the workflow continues */
    APP_WORKFLOW_ANSWER, /* the job has its own body and no element; if the job dies, the workflow fails */
};

enum {
    APP_WORKFLOW_EVENT_MAX = 2048, /* maximum size of the name of an event, which is a part of a path */
    APP_WORKFLOW_STEP_SIZE = 16,
};

/* An element and its job, as they are stored. */
struct app_workflow_entry {
    enum app_workflow_role role;
    struct buffer stored; /* owned: id and record of the job */
    size_t id_size;
    bool is_absolute; /* at_ms is a time, and not a delay */
    int64_t at_ms;
    struct buffer element; /* owned; the caller writes the element into this buffer */
    struct buffer hook;    /* owned; name of the event of the webhook that this step creates; empty: none */
    char step[APP_WORKFLOW_STEP_SIZE]; /* name of the step, see struct workflow_entry; empty: none */
};

void app_workflow_entry_init(struct app_workflow_entry *, enum app_workflow_role);
void app_workflow_entry_fini(struct app_workflow_entry *);

/* Writes the job, which must have a jobId. Returns false if there is no memory for it, or for the element. */
bool app_workflow_entry_write(struct app_workflow_entry *, const struct job *);

#endif
