/* bench.h - the command bench: measures how fast a running server accepts and delivers jobs, and how late.
 *
 * All jobs are of one topic, which the command makes and removes, and lead to a receiver in this process. */
#ifndef DUEPOST_CLI_BENCH_H
#define DUEPOST_CLI_BENCH_H

#include "cli/call.h"

bool bench_run(struct call *);

#endif
