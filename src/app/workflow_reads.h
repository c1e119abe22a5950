/* workflow_reads.h - reads and lists workflows; see workflows.h. */
#ifndef DUEPOST_APP_WORKFLOW_READS_H
#define DUEPOST_APP_WORKFLOW_READS_H

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

#endif
