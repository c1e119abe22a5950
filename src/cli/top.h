/* top.h - duepost top: the overview of the server in a terminal, drawn again each second. */
#ifndef DUEPOST_CLI_TOP_H
#define DUEPOST_CLI_TOP_H

#include "cli/call.h"

/* Prints the overview once with --once, with --json, or if standard output is not a terminal. Otherwise draws
 * it until q or a signal comes. Returns false after an error. */
bool top_run(struct call *);

#endif
