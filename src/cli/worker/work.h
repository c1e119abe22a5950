/* work.h - parts that the files of the commands work and listen share: a leased job, and the process or the
 * request that handles it. */
#ifndef DUEPOST_CLI_WORKER_WORK_H
#define DUEPOST_CLI_WORKER_WORK_H

#include <sys/types.h>

#include "base/buffer.h"
#include "base/status.h"
#include "cli/call.h"
#include "cli/remote.h"
#include "job/delivery/signature.h"
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

/* ---- post.c ---- */

/* How duepost listen POSTs jobs. The struct borrows the data of its pointers. */
struct post_settings {
    const char *url;
    struct signing_keys keys; /* none: the requests are not signed */
    struct slice end_url;     /* url under which an attempt can be ended later */
    bool are_results_kept;    /* the topic has the setting results */
    long timeout_ms;
};

/* How the lease of a job ends after its request. */
struct post_end {
    const char *action;   /* complete, retry, bury or extend */
    int64_t delay_ms;     /* retry: wait before the next attempt; -1: the next one of the retry schedule */
    int64_t lease_ms;     /* extend: how long the receiver may take until it ends the attempt itself */
    struct buffer error;  /* retry, bury */
    struct buffer result; /* complete: JSON; empty: none */
};

void post_end_init(struct post_end *);

void post_end_fini(struct post_end *);

/* Sends the job whose JSON is text as a delivery would. Returns NULL if the text is not a job. */
struct remote_call *post_start(const struct post_settings *, struct remote_calls *, struct slice text,
                               remote_call_fn *, void *arg);

/* Decides how the lease ends, as the daemon decides about a delivery. The call is in its callback, which got
 * status and body. */
void post_judge(const struct post_settings *, const struct remote_call *, long status, struct slice body,
                struct post_end *);

/* ---- job.c ---- */

enum { LEASED_JOBS_MAX = 100 }; /* maximum number of jobs in one answer */

struct leased_job {
    char *id, *token; /* jobId; the lease token */
    long attempt;
    char *text; /* the job as JSON, for a request; NULL: body and environment are those of a command */
    struct buffer body;
    char **environment; /* ends with a NULL */
    size_t variables;
};

/* Opens the list of jobs in an answer to a lease. Returns false if the text is not such an answer. The cursor
 * borrows answer. */
bool leased_jobs_open(struct slice answer, struct json_cursor *);

/* Reads the next job, for a request or for a command. NOT_FOUND: there are no more jobs. INVALID: the item is
 * not a leased job. If OK, the caller frees the job with leased_job_fini. */
enum status leased_job_next(struct json_cursor *, bool for_request, struct leased_job *) MUST_USE;

void leased_job_fini(struct leased_job *);

/* The settings that all jobs of a worker share. The struct borrows the data of its pointers. */
struct work_settings {
    const char *name; /* name of the command: work or listen */
    const char *topic;
    const char *key;            /* takes only jobs of this key; NULL: of any */
    char *const *command;       /* work */
    struct post_settings *post; /* listen; NULL: jobs are given to the command */
    struct remote_calls *calls;
    size_t parallel;
    bool is_once, until_empty, is_json;
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
    struct remote_call *post; /* RUNNING: the request to the receiver; NULL: none */
    int64_t posted_us;
    long post_status; /* 0: no answer came */
    int64_t post_ms;  /* duration of the request to the receiver */
    char post_error[COMMAND_LINE_MAX + 1];
    struct remote_call *call; /* the request under way; NULL: none */
    int64_t call_us;          /* time at which the request was sent */
    int64_t until_us; /* RUNNING: time at which the lease counts as lost; ENDING: time after which the outcome
                         is no longer sent */
    int64_t next_us;  /* time at which the lease is extended, or the outcome is sent again */
    int64_t timeout_us; /* time at which the command is killed; INT64_MAX: never */
    int64_t kill_us; /* time at which the command is killed after SIGTERM; INT64_MAX: no SIGTERM was sent */
    bool is_timed_out, is_stopping;
    const char *action;    /* ENDING: complete, retry, bury, extend or release */
    struct buffer request; /* ENDING: the body of the request */
    int failures;          /* ENDING: number of requests that failed */
};

void work_job_init(struct work_job *, const struct work_settings *);

void work_job_fini(struct work_job *); /* kills the command */

/* Takes a job, and runs the command or sends the request for it. The lease began between asked_us and now_us.
 * If the command cannot be run, returns INVALID or FAILED as command_process_start does, and the job is
 * released. */
enum status work_job_begin(struct work_job *, struct leased_job *, int64_t asked_us, int64_t now_us,
                           struct problem *);

/* Does everything that is due now for the job. Returns the time by which the caller must call this function
 * again. */
int64_t work_job_step(struct work_job *, int64_t now_us);

/* Sends SIGTERM to the command, or kills it if at_once is true. A request may end within the time of grace.
 */
void work_job_stop(struct work_job *, int64_t now_us, bool at_once);

/* Returns whether an error may pass: the server is unreachable (0), or cannot take the request now. */
bool work_may_pass(long status);

/* Returns the time of the next try: now_us, plus a partly random wait, which grows with the number of
 * failures up to 12.8 s. */
int64_t work_backoff_us(int64_t now_us, int failures);

/* Prints a line to standard error. */
void work_print(const struct work_settings *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- work.c ---- */

/* Sets the defaults, and reads topic, --parallel, --lease, --grace, --timeout, --key, --once and
 * --until-empty. Returns false after an error; the problem of the call then says why. */
bool work_settings_read(struct work_settings *, struct call *, const char *usage);

/* Takes jobs until a signal of this descriptor (terminal_signals) or an error ends the worker. Returns false
 * after an error. */
bool work_take_jobs(struct work_settings *, struct call *, int signal_fd);

#endif
