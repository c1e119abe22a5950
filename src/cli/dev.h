/* dev.h - the command dev: a server with a private Redis and a receiver, for trying out duepost. The server
 * is a process of its own, which runs this same program. */
#ifndef DUEPOST_CLI_DEV_H
#define DUEPOST_CLI_DEV_H

#include "cli/call.h"

bool dev_run(struct call *);

#endif
