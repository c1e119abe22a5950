/* group.h - the command about one group. */
#ifndef DUEPOST_CLI_GROUP_H
#define DUEPOST_CLI_GROUP_H

#include "cli/call.h"

/* Shows a group, removes it, or replaces it by the endpoints that the words after its name give. */
bool group_run(struct call *);

#endif
