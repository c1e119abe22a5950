/* lists_private.h - functions that lists, bulk actions and the history share; no other files include this
 * header. */
#ifndef DUEPOST_APP_LISTS_PRIVATE_H
#define DUEPOST_APP_LISTS_PRIVATE_H

#include "app/lists.h"
#include "history/history.h"
#include "store/store.h"

/* Converts a list for the store. The result is valid as long as the list's data, including the cursor. */
struct store_list lists_of_store(const struct app_list *);

/* Converts a list for the history. The result leaves out jobs that ended after began_ms, when the list began,
 * so that every list ends. */
struct history_list lists_of_history(const struct app_list *, int64_t began_ms);

/* Do the same as app_list and app_count, for jobs of the history. */
void lists_page_history(struct app *, const struct app_list *, app_job_fn *each, app_verdict_fn *, void *arg);
void lists_count_history(struct app *, const struct app_list *, app_verdict_fn *, void *arg);

#endif
