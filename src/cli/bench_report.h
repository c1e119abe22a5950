/* bench_report.h - the figures of duepost bench, as text and as JSON. */
#ifndef DUEPOST_CLI_BENCH_REPORT_H
#define DUEPOST_CLI_BENCH_REPORT_H

#include "cli/bench_receiver.h"

/* A number of jobs, and the time that they took. Processor times are per job; a negative time is unknown. */
struct bench_figure {
    size_t jobs, repeats;
    double seconds, duepost_us, redis_us;
};

struct bench_report {
    const char *server, *topic;
    size_t batch, parallel, per_second;
    struct bench_figure accept, deliver;
    struct bench_lateness lateness;
    int64_t offset_ms; /* time by which the server's clock is ahead */
};

void bench_report_write(const struct bench_report *, bool is_json, struct buffer *);

#endif
