/* command_process.h - a command that runs for one job: a process group with the job's body as standard input.
 *
 * The command's standard input is a file in memory that has the whole body from the beginning, so the command
 * never reads only a part of the body. Its standard output is that of this process. Its standard error is
 * copied to that of this process, and the last line is kept. The command is killed when this process dies. */
#ifndef DUEPOST_CLI_COMMAND_PROCESS_H
#define DUEPOST_CLI_COMMAND_PROCESS_H

#include <sys/types.h>

#include "base/slice.h"
#include "base/status.h"

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

#endif
