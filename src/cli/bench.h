/* bench.h - the command bench: measures how fast a running server accepts and delivers jobs, and how late it
 * delivers them. All jobs are in one topic, which the command creates and removes. The jobs are sent to a
 * receiver in the process of the command. */
#ifndef DUEPOST_CLI_BENCH_H
#define DUEPOST_CLI_BENCH_H

#include "cli/call.h"

bool bench_run(struct call *);

#endif
