/* bench.h - parts that the files of the command bench share. */
#ifndef DUEPOST_CLI_BENCH_BENCH_H
#define DUEPOST_CLI_BENCH_BENCH_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/json_writer.h"
#include "base/status.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "job/job_id.h"

enum {
    BENCH_REQUEST_MAX = 16 * 1024 * 1024, /* maximum size of a request in bytes */
};

/* The kinds of series: groups of jobs that bench schedules one after the other. Each job's body has the
 * number of its series. */
enum { SERIES_PROBE, SERIES_SPEED, SERIES_LATENESS };

/* ---- receiver.c ---- */

enum { BENCH_KEY_SIZE = 17 }; /* 64 bits in hex digits, and a NUL */

struct bench_receiver;

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

struct bench {
    struct call *call;
    struct problem *problem; /* why the command has failed; empty: it has not failed */
    struct bench_receiver *receiver;
    struct remote_calls *calls;
    struct progress progress;
    int signal_fd, signals;

    size_t jobs, batch, parallel, per_second;
    struct bench_receiver_options listen;
    char topic[JOB_TOPIC_NAME_MAX + 1];
    struct buffer url, text;
    int64_t offset_ms; /* time by which the server's clock is ahead of this host's clock */

    bool has_jobs;   /* the server has accepted jobs */
    uint32_t series; /* number of the series that is being scheduled */
    size_t count, next, accepted, in_flight;
    int64_t first_due_ms;
};

/* ---- series.c ---- */

bool bench_has_failed(const struct bench *);

/* Counts the signals that this process has received. At the first signal, the command fails. */
void bench_read_signals(struct bench *);

void bench_begin_progress(struct bench *, const char *what, size_t total);

/* Waits a little, handles requests and answers, and draws the progress bar. */
void bench_step(struct bench *, size_t done);

void bench_write_job(struct bench *, struct json_writer *, size_t number);

/* Schedules the jobs of a series. Waits for requests under way even if the command fails, because the jobs
 * that they schedule must be cancelled. Returns false if the command fails. */
bool bench_schedule(struct bench *, uint32_t series, size_t count);

/* Waits for all jobs of the series. until_ms is the due time of the last job, by this host's clock. Returns
 * false if the command fails. */
bool bench_await(struct bench *, int64_t until_ms);

/* Sends a request about the topic. body is JSON, or NULL. Returns false and sets problem if the server
 * refuses the request or does not answer. */
bool bench_send_to_topic(struct bench *, const char *method, const char *body, struct problem *);

/* Sends one job, to find out whether the server permits the receiver, and to read the server's clock. If the
 * server's time is between the start and the end of the request by this host's clock, the clocks count as
 * equal. Returns false if the command fails. */
bool bench_probe(struct bench *);

/* Cancels the jobs and removes the topic. If this fails, prints to stderr how to remove the jobs by hand. */
void bench_clean_up(struct bench *);

#endif
