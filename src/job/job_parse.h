/* job_parse.h - functions of job_parse for job_patch.c, recurring.c and topic_settings.c. */
#ifndef DUEPOST_JOB_JOB_PARSE_H
#define DUEPOST_JOB_JOB_PARSE_H

#include "job/job_members.h"

/* Checks that text is a valid JSON object within the limits of a job. If INVALID, one fault was added to
 * errors. NO_MEMORY means that there is no memory to check the text. */
enum status job_parse_document(struct slice text, struct job_errors *) MUST_USE;

/* Does the same as job_parse_named, for a job that was accepted earlier: the limits of its due time and
 * expiry, which are relative to now, are not checked. If errors already has faults, the result is INVALID. */
enum status job_parse_changed(struct slice id, struct slice text, int64_t now_ms, struct job *,
                              struct job_errors *) MUST_USE;

/* Parses the job of a schedule: a job without an id, for this topic. Adds faults to errors. */
enum status job_parse_template(struct slice topic, struct slice text, int64_t now_ms, struct job *,
                               struct job_errors *) MUST_USE;

#endif
