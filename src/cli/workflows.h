/* workflows.h - the command workflows. */
#ifndef DUEPOST_CLI_WORKFLOWS_H
#define DUEPOST_CLI_WORKFLOWS_H

#include "cli/call.h"

/* Lists workflows, or shows the one that the first word names as TOPIC/ID. */
bool workflows_command(struct call *);

#endif
