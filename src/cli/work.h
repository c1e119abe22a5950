/* work.h - duepost work TOPIC -- COMMAND: a worker that runs a command for each job of a pull topic.
 *
 * The worker requests as many jobs as it can start at once, waits for them with long polls, and runs the
 * command for each job (cli/work_job.h). If the server is unreachable, the worker repeats its requests, with
 * growing waits. After SIGTERM, SIGINT or SIGHUP the worker takes no more jobs, sends SIGTERM to the
 * commands, and releases their jobs; a second signal kills the commands. */
#ifndef DUEPOST_CLI_WORK_H
#define DUEPOST_CLI_WORK_H

#include "cli/call.h"

/* Returns false after an error: the options are wrong, the command cannot be run, or the server refuses. */
bool work_run(struct call *);

#endif
