/* job_state.h - the states of a job. */
#ifndef DUEPOST_JOB_JOB_STATE_H
#define DUEPOST_JOB_JOB_STATE_H

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

#endif
