/* job_state.h - the states of a job, and a job in its current state. */
#ifndef DUEPOST_JOB_JOB_STATE_H
#define DUEPOST_JOB_JOB_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* A job in the state dead, or in a state after it in this list, has left the pool (the HASH "jobs" in Redis)
 * and is kept elsewhere for some time. */
enum job_state {
    JOB_STATE_DELAYED,
    JOB_STATE_READY,
    JOB_STATE_LEASED,
    JOB_STATE_DEAD,
    JOB_STATE_DELIVERED,
    JOB_STATE_CANCELLED,
};

/* Returns the API's word for the state: "delayed", "ready", ... */
const char *job_state_word(enum job_state);

/* A job and its current state. Borrows its slices. */
struct stored_job {
    enum job_state state;
    struct slice id;
    struct slice record;
    int64_t at_ms;         /* delayed, ready: due time; leased: end of the lease; else: end of the job */
    int64_t losses;        /* number of consecutive consumers that were lost while they had the job */
    struct slice settings; /* current settings of the job's topic, see topic_settings.h; empty: none */
    int64_t now_ms;        /* time of reading */
    /* until_ms and last_lines are set for a job that has left the pool; else they are 0 and empty. */
    int64_t until_ms;        /* time at which the job is removed; 0: there is no limit */
    struct slice last_lines; /* line of its last attempt, if known: see attempt_line.h */
    /* A job in the history, which is no longer in Redis; settings, losses, now_ms and until_ms are unknown.
     */
    bool is_of_history;
    struct slice lines;    /* lines of its attempts */
    bool is_body_left_out; /* the job had a body that the history does not keep */
};

#endif
