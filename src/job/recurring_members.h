/* recurring_members.h - the rows of the table of a definition's members, for the files recurring*.c. */
#ifndef DUEPOST_JOB_RECURRING_MEMBERS_H
#define DUEPOST_JOB_RECURRING_MEMBERS_H

#include "job/recurring.h"

/* The rows, in the order of a record. */
enum recurring_member {
    RECURRING_CREATED_AT,
    RECURRING_CRON,
    RECURRING_EVERY,
    RECURRING_TIMEZONE,
    RECURRING_START_AT,
    RECURRING_END_AT,
    RECURRING_JITTER,
    RECURRING_GRACE,
    RECURRING_MISFIRE,
    RECURRING_OVERLAP,
    RECURRING_PAUSED,
    RECURRING_DELAY,
    RECURRING_INTO,
    RECURRING_GROUP,
    RECURRING_JOB,
};

/* The context for the table's checks. */
struct recurring_rules {
    struct slice topic;
    int64_t now_ms;
    struct job *job;     /* the parsed job, if *status is OK */
    enum status *status; /* result of parsing the job */
};

/* Does the same as recurring_parse, but keeps the faults that errors already has. If there are errors, the
 * result is INVALID. */
enum status recurring_parse_changed(struct slice topic, struct slice text, int64_t now_ms, struct recurring *,
                                    struct job *, struct job_errors *) MUST_USE;

/* Adds the errors of a job, with "job." before their names. */
void recurring_add_job_errors(const struct job_errors *from, struct job_errors *to);

#endif
