/* ended.h - finds, in the history, jobs that have ended; only the files of app/ include it. */
#ifndef DUEPOST_APP_ENDED_H
#define DUEPOST_APP_ENDED_H

#include "app/app.h"
#include "history/history.h"

/* Converts a job of the history. The result is valid as long as the data of the history_row. */
struct stored_job ended_job(const struct history_row *);

/* Returns the end of a use case whose read of the history ended with this status. */
enum status ended_status(enum status);

/* Finds the job that ended last under this id. The verdict is OK with job and lines, NOT_FOUND, or
 * HISTORY_UNAVAILABLE. Without a history the verdict is NOT_FOUND at once. */
void ended_find(struct app *, struct slice id, app_verdict_fn *, void *arg);

#endif
