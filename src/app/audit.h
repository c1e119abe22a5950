/* audit.h - log lines that record who changed what: each cancel, run and change of a job, each page of a bulk
 * action, each change of a topic's settings, each removal from the history, and each breaker that is closed
 * on request.
 *
 * A line is written when Redis has confirmed the change (outcome=done), or when the outcome of the change is
 * unknown (outcome=unknown). Refused requests have no line. A line has the name of the client's token, and
 * the address from which the client connects. */
#ifndef DUEPOST_APP_AUDIT_H
#define DUEPOST_APP_AUDIT_H

#include "app/app.h"

/* Logs an event such as "job_cancelled". kind is "job", "topic", "workflow" or "receiver"; name is the name
 * of that object.
 */
void audit(const struct app_caller *, const char *event, const char *kind, struct slice name, enum status);

/* Logs one job of a bulk action, at level debug. */
void audit_one_of_many(const struct app_caller *, const char *event, struct slice id, enum status);

/* Logs a page of a bulk action: the filter, as the client wrote it, and the counts. */
void audit_bulk(const struct app_caller *, const char *event, struct slice filter,
                const struct app_bulk_counts *);

/* Logs a page of a removal from the history: its filter, as the client wrote it, and the number of jobs. -1:
 * the outcome is unknown. If no job was removed, logs nothing. */
void audit_removal(const struct app_caller *, struct slice filter, int64_t removed);

#endif
