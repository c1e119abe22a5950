/* bench_usage.h - the processor time of duepost and of Redis, from the server's /metrics. */
#ifndef DUEPOST_CLI_BENCH_USAGE_H
#define DUEPOST_CLI_BENCH_USAGE_H

#include <stdbool.h>

#include "cli/remote.h"

/* Processor times that duepost and Redis have used since each was started; a negative time is unknown. */
struct bench_usage {
    double duepost_s, redis_s;
};

/* Reads the times. The server reads the time of Redis in the background. If last is not NULL, waits for a few
 * seconds at most until the time of Redis differs from that in last. An unreachable server, or a token
 * without the right to read the metrics, leaves the times unknown. */
void bench_usage_read(struct remote *, const struct bench_usage *last, struct bench_usage *now);

/* Returns the microseconds between two times, divided by count, or -1 if one of them is unknown. */
double bench_usage_each_us(double from_s, double to_s, size_t count);

#endif
