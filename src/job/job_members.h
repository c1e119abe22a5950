/* job_members.h - the table of a job's members, and the texts that job_parse and job_patch read by it. */
#ifndef DUEPOST_JOB_JOB_MEMBERS_H
#define DUEPOST_JOB_JOB_MEMBERS_H

#include "job/members.h"

/* Rows are enum job_member. */
extern const struct members job_members;

#define JOB_EXPIRES_TOO_SOON "must be later than the job is due"

/* The context for the table's checks. */
struct job_rules {
    int64_t now_ms;
    struct slice topic, job_id; /* required values; empty: any */
    bool is_changed;            /* accepted before: due time and expiry do not count from now */
};

#endif
