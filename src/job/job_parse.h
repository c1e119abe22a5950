/* job_parse.h - what job_patch.c and topic_settings.c have in common with job_parse. */
#ifndef DUEPOST_JOB_JOB_PARSE_H
#define DUEPOST_JOB_JOB_PARSE_H

#include "job/job_members.h"

/* Whether text is a sound JSON object within the limits of a job. INVALID: errors has one more. NO_MEMORY:
 * that cannot be told. */
enum status job_parse_document(struct slice text, struct job_errors *) MUST_USE;

/* job_parse_named for a job that was accepted before: when it is due and expires does not count from now, so
 * these are not compared. Errors that are there stay, and make it INVALID. */
enum status job_parse_changed(struct slice id, struct slice text, int64_t now_ms, struct job *,
                              struct job_errors *) MUST_USE;

#endif
