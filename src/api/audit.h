/* audit.h - lines in the log that tell who changed what: for every cancel, redrive, run and change of a job,
 * every change of a topic's settings, and every breaker that is closed by hand.
 *
 * A line is written when Redis has confirmed the change (outcome=done), or when its outcome stays unknown
 * (outcome=unknown), but not for what was refused. who is the name of the token, from the address of the
 * connection. */
#ifndef DUEPOST_API_AUDIT_H
#define DUEPOST_API_AUDIT_H

#include "api/exchange.h"

/* What happened to the job, the settings of the topic, the receiver of the path; the event is such as
 * "job_cancelled". */
void audit_job(const struct exchange *, const char *event, enum status);
void audit_topic(const struct exchange *, const char *event, enum status);
void audit_receiver(const struct exchange *, const char *event, enum status);

/* To a job that a filter has found. key: topic/jobId. */
void audit_one_of_many(const struct exchange *, const char *event, struct slice key, enum status);

/* A page of a filter, behind the lines of its jobs: so many are done, and of so many it is unknown. */
void audit_jobs(const struct exchange *, const char *event, size_t done, size_t unknown);

#endif
