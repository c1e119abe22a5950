/* bench_private.h - declarations that the files of the command bench share; no other files include this
 * header. */
#ifndef DUEPOST_CLI_BENCH_PRIVATE_H
#define DUEPOST_CLI_BENCH_PRIVATE_H

#include "base/json_writer.h"
#include "cli/bench.h"
#include "cli/bench_receiver.h"
#include "cli/progress.h"
#include "cli/remote_calls.h"
#include "job/job_id.h"

enum {
    BENCH_REQUEST_MAX = 16 * 1024 * 1024, /* maximum size of a request in bytes */
};

/* The kinds of series: groups of jobs that bench schedules one after the other. Each job's body has the
 * number of its series. */
enum { SERIES_PROBE, SERIES_SPEED, SERIES_LATENESS };

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

/* ---- bench.c ---- */

bool bench_has_failed(const struct bench *);

/* Counts the signals that this process has received. At the first signal, the command fails. */
void bench_read_signals(struct bench *);

void bench_begin_progress(struct bench *, const char *what, size_t total);

/* Waits a little, handles requests and answers, and draws the progress bar. */
void bench_step(struct bench *, size_t done);

/* ---- bench_series.c ---- */

void bench_write_job(struct bench *, struct json_writer *, size_t number);

/* Schedules the jobs of a series. Waits for requests under way even if the command fails, because the jobs
 * that they schedule must be cancelled. Returns false if the command fails. */
bool bench_schedule(struct bench *, uint32_t series, size_t count);

/* Waits for all jobs of the series. until_ms is the due time of the last job, by this host's clock. Returns
 * false if the command fails. */
bool bench_await(struct bench *, int64_t until_ms);

/* ---- bench_topic.c ---- */

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
