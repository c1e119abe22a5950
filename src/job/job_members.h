/* job_members.h - the table of a job's members, which job_parse and job_patch use. */
#ifndef DUEPOST_JOB_JOB_MEMBERS_H
#define DUEPOST_JOB_JOB_MEMBERS_H

#include "job/text/members.h"

/* The table of a job's members. The index of a row is an enum job_member. */
extern const struct members job_members;

/* The context for the table's checks. */
struct job_rules {
    int64_t now_ms;
    struct slice topic, job_id; /* values that topic and jobId must have; empty: any value */
    bool is_posted;             /* a job that POST /jobs schedules: it may have throttle or debounce */
    bool is_changed; /* the job was accepted earlier: its due time and its expiry are not compared */
};

#endif
