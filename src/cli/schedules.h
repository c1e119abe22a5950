/* schedules.h - commands about schedules: list, set, show, pause, resume, run, delete. */
#ifndef DUEPOST_CLI_SCHEDULES_H
#define DUEPOST_CLI_SCHEDULES_H

#include "cli/call.h"

/* Without words, lists schedules. Otherwise the words are a verb and TOPIC/ID. */
bool schedules_command(struct call *);

#endif
