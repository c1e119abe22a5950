/* history.h - the command that exports, plots and removes jobs that have ended. */
#ifndef DUEPOST_CLI_HISTORY_H
#define DUEPOST_CLI_HISTORY_H

#include "cli/call.h"

bool history_command(struct call *);

#endif
