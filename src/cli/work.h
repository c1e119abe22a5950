/* work.h - duepost work TOPIC -- COMMAND: a worker that runs a command for each job of a pull topic.
 *
 * It asks for as many jobs as it can start at once, waits for them with long polls, and runs the command for
 * each (cli/work_job.h). The server may be away: the worker asks again, with growing waits. After SIGTERM,
 * SIGINT or SIGHUP it takes no more jobs, asks the commands to end, and gives their jobs back; a second
 * signal kills the commands. */
#ifndef DUEPOST_CLI_WORK_H
#define DUEPOST_CLI_WORK_H

#include "cli/call.h"

/* Returns false after an error: the options are wrong, the command cannot be run, or the server refuses. */
bool work_run(struct call *);

#endif
