/* bench_receiver.h - the receiver of duepost bench: an HTTP server in a thread of this process, which answers
 * each job at once and notes the time of its arrival.
 *
 * Jobs have numbers within their series. The body of a job names its series, its number and its due time. */
#ifndef DUEPOST_CLI_BENCH_RECEIVER_H
#define DUEPOST_CLI_BENCH_RECEIVER_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "cli/local_receiver.h"

struct bench_receiver;

enum { BENCH_KEY_SIZE = 17 }; /* 64 bits in hex digits, and a NUL */

struct bench_receiver_options {
    struct local_receiver_place place;
    char key[BENCH_KEY_SIZE]; /* key of this run of bench; the receiver refuses requests without it */
};

/* Starts the receiver. The caller must block signals first, so that the receiver's thread does not get them.
 * Returns NULL after an error; problem then says why. */
struct bench_receiver *bench_receiver_start(const struct bench_receiver_options *, struct problem *);
void bench_receiver_stop(struct bench_receiver *); /* NULL is ignored */

void bench_receiver_write_url(const struct bench_receiver *, struct buffer *url);

/* Begins a series of count jobs. Jobs of the previous series that come late are not counted. */
void bench_receiver_begin(struct bench_receiver *, uint32_t series, size_t count);

/* Writes the body of a job. If due_ms is 0, the job's lateness is not measured. */
void bench_receiver_write_body(struct buffer *, const char *key, uint32_t series, size_t number,
                               int64_t due_ms);

/* How many jobs of the series have come so far. */
struct bench_received {
    size_t jobs, repeats;
    int64_t last_us; /* time at which the last new job came, by CLOCK_MONOTONIC */
};

struct bench_received bench_receiver_count(struct bench_receiver *);

/* The lateness of the jobs that have a due time, measured by this host's clock. */
struct bench_lateness {
    size_t jobs, early;
    double p50_ms, p99_ms, max_ms;
};

/* Returns the lateness. offset_ms is the time by which the server's clock, which decides when jobs are due,
 * is ahead of this host's clock. */
struct bench_lateness bench_receiver_lateness(struct bench_receiver *, int64_t offset_ms);

/* Returns the number of the first job of the series that has not come, or the size of the series if all jobs
 * have come. */
size_t bench_receiver_missing(struct bench_receiver *);

#endif
