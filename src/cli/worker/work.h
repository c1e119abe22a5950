/* work.h - parts that the files of the command work share: a leased job, and the process that handles it. */
#ifndef DUEPOST_CLI_WORKER_WORK_H
#define DUEPOST_CLI_WORKER_WORK_H

#include <sys/types.h>

#include "base/buffer.h"
#include "base/status.h"
#include "cli/remote.h"
#include "job/text/json.h"

/* ---- process.c ---- */

enum { COMMAND_LINE_MAX = 256 }; /* maximum number of bytes that are kept of the last line */

struct command_process {
    pid_t pid;                   /* 0: not running */
    int errors;                  /* descriptor that reads the command's standard error; -1: closed */
    int status;                  /* status from waitpid, once the process has ended */
    char line[COMMAND_LINE_MAX]; /* the current line of standard error, if it is not empty */
    char last[COMMAND_LINE_MAX]; /* the last line before the current one that is not empty */
    size_t line_size, last_size;
};

/* Starts argv with these variables. The caller frees the process with command_process_fini in any case.
 * INVALID: the command does not exist, or this user may not run it. FAILED: the host has no room now for a
 * process or a descriptor. */
enum status command_process_start(struct command_process *, char *const *argv, char *const *environment,
                                  struct slice input, struct problem *) MUST_USE;

/* Reads what the command has written to its standard error, and copies it to that of this process. */
void command_process_read(struct command_process *);

/* Returns whether the command has ended since it was started. Reads the rest of its standard error. */
bool command_process_has_ended(struct command_process *);

/* If the command has not ended, sends a signal to all processes of the command's group. */
void command_process_signal(const struct command_process *, int signal);

/* Returns the last line of standard error, which may be any bytes. The result is empty if the command wrote
 * no line. */
struct slice command_process_last_line(const struct command_process *);

/* Kills the command if it has not ended. */
void command_process_fini(struct command_process *);

/* ---- job.c ---- */

enum { LEASED_JOBS_MAX = 100 }; /* maximum number of jobs in one answer */

struct leased_job {
    char *id, *token; /* jobId; the lease token */
    long attempt;
    struct buffer body;
    char **environment; /* ends with a NULL */
    size_t variables;
};

/* Opens the list of jobs in an answer to a lease. Returns false if the text is not such an answer. The cursor
 * borrows answer. */
bool leased_jobs_open(struct slice answer, struct json_cursor *);

/* Reads the next job. NOT_FOUND: there are no more jobs. INVALID: the item is not a leased job. If OK, the
 * caller frees the job with leased_job_fini. */
enum status leased_job_next(struct json_cursor *, struct leased_job *) MUST_USE;

void leased_job_fini(struct leased_job *);

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

/* Returns whether an error may pass: the server is unreachable (0), or cannot take the request now. */
bool work_may_pass(long status);

/* Returns the time of the next try: now_us, plus a partly random wait, which grows with the number of
 * failures up to 12.8 s. */
int64_t work_backoff_us(int64_t now_us, int failures);

/* Prints a line to standard error. */
void work_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
