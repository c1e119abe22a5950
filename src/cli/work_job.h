/* work_job.h - one job of `duepost work`: from its lease until its end is recorded.
 *
 *     free ──▶ running ──▶ ending ──▶ free
 *
 * running: the command runs, and the lease is extended whenever a third of it has passed. If the lease is
 * lost, the
 *          command is killed, because another worker may get the job, and nothing is recorded.
 * ending:  the outcome is sent to the server. Until the server answers, the worker repeats the request, with
 * growing waits, for at most the length of a lease and a minute.
 *
 * The outcome of a command: exit status 0 completes the job and 100 buries it. Any other result is a failed
 * attempt. While the worker stops, the job is released instead, and no attempt is counted. */
#ifndef DUEPOST_CLI_WORK_JOB_H
#define DUEPOST_CLI_WORK_JOB_H

#include "cli/command_process.h"
#include "cli/leased_job.h"
#include "cli/remote_calls.h"

/* The settings that all jobs of a worker share. The struct borrows the data of its pointers. */
struct work_settings {
    const char *topic;
    char *const *command;
    struct remote_calls *calls;
    int64_t lease_us;
    int64_t timeout_us; /* timeout of a command; 0: none */
    int64_t grace_us;   /* time from SIGTERM to SIGKILL when the worker stops */
};

enum work_job_state { WORK_JOB_FREE, WORK_JOB_RUNNING, WORK_JOB_ENDING };

struct work_job {
    const struct work_settings *settings;
    enum work_job_state state;
    struct leased_job job;
    struct command_process process;
    struct remote_call *call; /* the request under way; NULL: none */
    int64_t call_us;          /* time at which the request was sent */
    int64_t until_us; /* RUNNING: time at which the lease counts as lost; ENDING: time after which the outcome
                         is no longer sent */
    int64_t next_us;  /* time at which the lease is extended, or the outcome is sent again */
    int64_t timeout_us; /* time at which the command is killed; INT64_MAX: never */
    int64_t kill_us; /* time at which the command is killed after SIGTERM; INT64_MAX: no SIGTERM was sent */
    bool is_timed_out, is_stopping;
    const char *action;    /* ENDING: complete, retry, bury or release */
    struct buffer request; /* ENDING: the body of the request */
    int failures;          /* ENDING: number of requests that failed */
};

void work_job_init(struct work_job *, const struct work_settings *);
void work_job_fini(struct work_job *); /* kills the command */

/* Takes a job and runs the command for it. The lease began between asked_us and now_us. If the command cannot
 * be run, returns INVALID or FAILED as command_process_start does, and the job is released. */
enum status work_job_begin(struct work_job *, struct leased_job *, int64_t asked_us, int64_t now_us,
                           struct problem *);

/* Does everything that is due now for the job. Returns the time by which the caller must call this function
 * again. */
int64_t work_job_step(struct work_job *, int64_t now_us);

/* Sends SIGTERM to the command, or kills it if at_once is true. */
void work_job_stop(struct work_job *, int64_t now_us, bool at_once);

/* Returns the time of the next try: now_us, plus a partly random wait, which grows with the number of
 * failures up to 12.8 s. */
int64_t work_backoff_us(int64_t now_us, int failures);

/* Prints a line to standard error. */
void work_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
