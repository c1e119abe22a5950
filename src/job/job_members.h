/* job_members.h - the table of a job's members, which job_parse and job_patch use. */
#ifndef DUEPOST_JOB_JOB_MEMBERS_H
#define DUEPOST_JOB_JOB_MEMBERS_H

#include "job/text/members.h"

/* The table of a job's members. The index of a row is an enum job_member. */
extern const struct members job_members;

/* Reads the members of a record or of a definition into a job that job_init has set, and opens those that are
 * sealed for this owner. Returns false if no version of duepost wrote the text; the caller then calls
 * job_fini. If limits are given, the clients' own JSON is checked. *has_broken_json: this JSON is not valid.
 */
bool job_members_read(struct slice owner, struct slice text, const struct json_limits *limits,
                      struct job *job, bool *has_broken_json) MUST_USE;

/* The context for the table's checks. */
struct job_rules {
    int64_t now_ms;
    struct slice topic, job_id; /* values that topic and jobId must have; empty: any value */
    bool is_posted;             /* a job that POST /jobs schedules: it may have throttle or debounce */
    bool is_changed; /* the job was accepted earlier: its due time and its expiry are not compared */
};

#endif
