/* group.h - the command about one group. */
#ifndef DUEPOST_CLI_GROUP_H
#define DUEPOST_CLI_GROUP_H

#include "cli/call.h"

/* Shows a group, removes it, or replaces its endpoints by those in the words after its name. */
bool group_run(struct call *);

#endif
