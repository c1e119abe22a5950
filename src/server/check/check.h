/* check.h - duepost check: checks the options, this host and Redis, and reports problems in one screen.
 */
#ifndef DUEPOST_SERVER_CHECK_CHECK_H
#define DUEPOST_SERVER_CHECK_CHECK_H

#include "server/options/options.h"

/* Takes the options of the server, --json, and --server URL, which also asks the server at this URL whether
 * the proxy before it changes paths, and --source URL, the database of an outbox (default: that of --outbox).
 * Changes nothing. Returns the exit code: 1 if a line says FAIL, because duepost could not start or would
 * break a guarantee, else 0. The first argument after "check" is input->argv[1]. */
int check_run(struct options_input *);

#endif
