/* server.h - the process: embedded Redis, reactors, signals, drain. */
#ifndef DUEPOST_SERVER_SERVER_H
#define DUEPOST_SERVER_SERVER_H

#include "server/options_load.h"

/* Serves until SIGTERM or SIGINT. Returns the exit code: 0 after a clean stop, 1 when it cannot run; the log
 * has the reason. Signals must be as at the start of the process, and no other thread may run. */
int server_run(struct options *, const struct options_input *);

#endif
