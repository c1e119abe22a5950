/* audit.h - lines in the log that tell who changed what: for every cancel, run and change of a job, every
 * page of a bulk action, every change of a topic's settings, and every breaker that is closed by hand.
 *
 * A line is written when Redis has confirmed the change (outcome=done), or when its outcome stays unknown
 * (outcome=unknown), but not for what was refused. who is the name of the token, from the address of the
 * connection. */
#ifndef DUEPOST_API_AUDIT_H
#define DUEPOST_API_AUDIT_H

#include "api/handlers.h"

/* What happened to the job, the settings of the topic, the receiver of the path; the event is such as
 * "job_cancelled". */
void audit_job(const struct exchange *, const char *event, enum status);
void audit_topic(const struct exchange *, const char *event, enum status);
void audit_receiver(const struct exchange *, const char *event, enum status);

/* One job of a bulk action, at level debug. key: topic/jobId. */
void audit_one_of_many(const struct exchange *, const char *event, struct slice key, enum status);

/* What became of the jobs of one page. matched is the sum of the others; skipped: they had changed meanwhile.
 */
struct bulk_counts {
    size_t matched, done, skipped, unknown;
};

/* A page of a bulk action: its filter and its counts. */
void audit_bulk(const struct exchange *, const char *event, const struct bulk_counts *);

#endif
