/* server.h - the process: embedded Redis, reactors, signals, drain. */
#ifndef DUEPOST_SERVER_SERVER_H
#define DUEPOST_SERVER_SERVER_H

#include "server/options/options.h"

/* Serves until SIGTERM or SIGINT. Returns the exit code: 0 after a clean stop; 1 if the server cannot run,
 * and the log then has the reason. Call it before any signal handler is changed and before any thread is
 * started. */
int server_run(struct options *, const struct options_input *);

#endif
