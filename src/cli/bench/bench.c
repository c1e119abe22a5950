/* bench.c - the command bench: measures how fast a running server accepts and delivers jobs, and how late it
 * delivers them. All jobs are in one topic, which the command creates and removes. The jobs are sent to a
 * receiver in the process of the command. */
#include "cli/bench/bench.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "base/system.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/remote.h"
#include "job/target/url.h"

/* ---- processor times ---- */

/* Processor times that duepost and Redis have used since each was started; a negative time is unknown. */
struct bench_usage {
    double duepost_s, redis_s;
};

enum { TEXT_MAX = 16 * 1024 * 1024, TRIES_MAX = 30 };
#define STEP_NS 200000000L

/* Returns the value of a metric without labels, or -1. */
static double metric_value(struct slice text, struct slice name)
{
    for (struct slice line; text.size;) {
        slice_cut(text, '\n', &line, &text);
        if (slice_starts_with(line, name) && line.size > name.size && line.data[name.size] == ' ')
            return strtod(line.data + name.size, NULL);
    }
    return -1;
}

static void read_once(struct remote *remote, struct bench_usage *usage)
{
    struct buffer text;
    struct problem problem;
    *usage = (struct bench_usage){-1, -1};
    buffer_init(&text, TEXT_MAX);
    if (remote_ask(remote, "GET", "/metrics", NULL, &text, &problem) == STATUS_OK) {
        buffer_append_byte(&text, '\0');
        usage->duepost_s = metric_value(buffer_slice(&text), SLICE("process_cpu_seconds_total"));
        usage->redis_s = metric_value(buffer_slice(&text), SLICE("duepost_redis_cpu_seconds_total"));
    }
    buffer_fini(&text);
}

/* Reads the times. The server reads the time of Redis in the background. If last is not NULL, waits for a few
 * seconds at most until the time of Redis differs from that in last. An unreachable server, or a token
 * without the right to read the metrics, leaves the times unknown. */
static void bench_usage_read(struct remote *remote, const struct bench_usage *last, struct bench_usage *now)
{
    read_once(remote, now);
    for (int i = 0; last && last->redis_s >= 0 && now->redis_s == last->redis_s && i < TRIES_MAX; i++) {
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
        read_once(remote, now);
    }
}

/* Returns the microseconds between two times, divided by count, or -1 if one of them is unknown. */
static double bench_usage_each_us(double from_s, double to_s, size_t count)
{
    return from_s < 0 || to_s < from_s || count == 0 ? -1 : (to_s - from_s) * 1e6 / (double)count;
}

/* ---- the report ---- */

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

static double per_second(const struct bench_figure *figure)
{
    return figure->seconds > 0 ? (double)figure->jobs / figure->seconds : 0;
}

/* ---- text ---- */

static void write_processor(struct buffer *text, const char *name, const struct bench_figure *figure)
{
    buffer_printf(text, "%s", name);
    if (figure->duepost_us >= 0)
        buffer_printf(text, "duepost %.1f us a job", figure->duepost_us);
    if (figure->redis_us >= 0)
        buffer_printf(text, "%sRedis %.1f us a job", figure->duepost_us >= 0 ? ", " : "", figure->redis_us);
    if (figure->duepost_us < 0 && figure->redis_us < 0)
        buffer_printf(text, "unknown: the server's /metrics cannot be read, or come from several processes");
    buffer_append_byte(text, '\n');
}

static void write_text(const struct bench_report *report, struct buffer *text)
{
    const struct bench_figure *accept = &report->accept, *deliver = &report->deliver;
    const struct bench_lateness *late = &report->lateness;
    buffer_printf(text,
                  "accept    %zu jobs in %.2f s: %.0f jobs/s (%zu in a request, %zu requests at once)\n",
                  accept->jobs, accept->seconds, per_second(accept), report->batch, report->parallel);
    write_processor(text, "  CPU     ", accept);
    buffer_printf(text, "deliver   %zu jobs in %.2f s: %.0f jobs/s, %zu more than once\n", deliver->jobs,
                  deliver->seconds, per_second(deliver), deliver->repeats);
    write_processor(text, "  CPU     ", deliver);
    buffer_printf(text, "lateness  p50 %.1f ms, p99 %.1f ms, max %.1f ms; %zu early (%zu jobs, %zu/s)\n",
                  late->p50_ms, late->p99_ms, late->max_ms, late->early, late->jobs, report->per_second);
    if (report->offset_ms)
        buffer_printf(text,
                      "The server's clock is about %" PRId64 " ms %s this host's clock; the lateness is "
                      "corrected by that.\n",
                      report->offset_ms < 0 ? -report->offset_ms : report->offset_ms,
                      report->offset_ms < 0 ? "behind" : "ahead of");
}

/* ---- JSON ---- */

static void add_decimal(struct json_writer *json, const char *name, double value)
{
    json_put_name(json, name);
    buffer_printf(json_put(json), "%.3f", value);
}

static void add_figure(struct json_writer *json, const char *name, const struct bench_figure *figure)
{
    json_add_object(json, name);
    json_add_number(json, "jobs", (int64_t)figure->jobs);
    add_decimal(json, "seconds", figure->seconds);
    add_decimal(json, "jobsPerSecond", per_second(figure));
    json_add_number(json, "repeats", (int64_t)figure->repeats);
    if (figure->duepost_us >= 0)
        add_decimal(json, "duepostMicroseconds", figure->duepost_us);
    if (figure->redis_us >= 0)
        add_decimal(json, "redisMicroseconds", figure->redis_us);
    json_end_object(json);
}

static void write_json(const struct bench_report *report, struct buffer *text)
{
    struct json_writer json = json_writer_to(text);
    const struct bench_lateness *late = &report->lateness;
    json_put_object(&json);
    json_add_text(&json, "server", slice_of(report->server));
    json_add_text(&json, "topic", slice_of(report->topic));
    json_add_number(&json, "batch", (int64_t)report->batch);
    json_add_number(&json, "parallel", (int64_t)report->parallel);
    add_figure(&json, "accept", &report->accept);
    add_figure(&json, "deliver", &report->deliver);
    json_add_object(&json, "lateness");
    json_add_number(&json, "jobs", (int64_t)late->jobs);
    json_add_number(&json, "perSecond", (int64_t)report->per_second);
    json_add_number(&json, "early", (int64_t)late->early);
    add_decimal(&json, "p50Milliseconds", late->p50_ms);
    add_decimal(&json, "p99Milliseconds", late->p99_ms);
    add_decimal(&json, "maxMilliseconds", late->max_ms);
    json_add_number(&json, "clockOffsetMilliseconds", report->offset_ms);
    json_end_object(&json);
    json_end_object(&json);
    buffer_append_byte(text, '\n');
}

enum {
    JOBS_MAX = 10 * 1000 * 1000,
    BATCH_MAX = 10000,
    PARALLEL_MAX = 100,
    PER_SECOND_MAX = 100000,
    LATENESS_S = 5, /* length, in seconds, of the series that measures the lateness */
    LEAD_MS = 1000, /* minimum time from the first request of a series to the due time of its first job */
};

/* ---- the measurement ---- */

static double seconds_between(int64_t from_us, int64_t to_us)
{
    return to_us > from_us ? (double)(to_us - from_us) / 1e6 : 0;
}

static void set_usage(struct bench_figure *figure, const struct bench_usage *from,
                      const struct bench_usage *to)
{
    figure->duepost_us = bench_usage_each_us(from->duepost_s, to->duepost_s, figure->jobs);
    figure->redis_us = bench_usage_each_us(from->redis_s, to->redis_s, figure->jobs);
}

/* Schedules the jobs while their topic is paused, then resumes the topic. */
static bool measure_speed(struct bench *bench, struct bench_report *report)
{
    struct bench_usage first, begun, accepted, delivered;
    struct remote *remote = bench->call->remote;
    if (!bench_send_to_topic(bench, "PATCH", "{\"paused\":true}", bench->problem))
        return false;
    bench_usage_read(remote, NULL, &first);
    bench_usage_read(remote, &first, &begun);
    bench_begin_progress(bench, "accept ", bench->jobs);
    int64_t from_us = clock_steady_us();
    if (!bench_schedule(bench, SERIES_SPEED, bench->jobs))
        return false;
    report->accept.jobs = bench->jobs;
    report->accept.seconds = seconds_between(from_us, clock_steady_us());
    bench_usage_read(remote, &begun, &accepted);
    set_usage(&report->accept, &begun, &accepted);

    bench_begin_progress(bench, "deliver", bench->jobs);
    from_us = clock_steady_us();
    if (!bench_send_to_topic(bench, "PATCH", "{\"paused\":false}", bench->problem) || !bench_await(bench, 0))
        return false;
    struct bench_received received = bench_receiver_count(bench->receiver);
    report->deliver.jobs = received.jobs;
    report->deliver.repeats = received.repeats;
    report->deliver.seconds = seconds_between(from_us, received.last_us);
    bench_usage_read(remote, &accepted, &delivered);
    set_usage(&report->deliver, &accepted, &delivered);
    return true;
}

static bool measure_lateness(struct bench *bench, struct bench_report *report)
{
    size_t most = bench->per_second * LATENESS_S;
    size_t count = bench->jobs < most ? bench->jobs : most;
    bench_begin_progress(bench, "lateness", count);
    bench->first_due_ms = clock_wall_ms() + bench->offset_ms + LEAD_MS + (int64_t)(count / 20);
    int64_t until_ms = bench->first_due_ms - bench->offset_ms + (int64_t)(count * 1000 / bench->per_second);
    if (!bench_schedule(bench, SERIES_LATENESS, count))
        return false;
    bench_begin_progress(bench, "lateness", count);
    if (!bench_await(bench, until_ms))
        return false;
    report->lateness = bench_receiver_lateness(bench->receiver, bench->offset_ms);
    report->offset_ms = bench->offset_ms;
    return true;
}

/* Measures the lateness first, because after many deliveries the server would still be busy with its
 * history. */
static void measure(struct bench *bench)
{
    struct remote_options options = remote_options(bench->call->remote);
    struct bench_report report = {.server = options.server,
                                  .topic = bench->topic,
                                  .batch = bench->batch,
                                  .parallel = bench->parallel,
                                  .per_second = bench->per_second};
    bool is_done = bench_probe(bench) && measure_lateness(bench, &report) && measure_speed(bench, &report);
    progress_end(&bench->progress);
    bench_clean_up(bench);
    if (is_done) {
        progress_end(&bench->progress);
        buffer_clear(&bench->text);
        if (bench->call->arguments.is_json)
            write_json(&report, &bench->text);
        else
            write_text(&report, &bench->text);
        fputs(buffer_text(&bench->text), stdout);
    }
}

/* ---- options ---- */

static bool read_number(struct call *call, enum argument argument, const char *name, uint64_t max,
                        size_t *number)
{
    const char *value = call->arguments.values[argument];
    uint64_t read;
    if (!value)
        return true;
    if (!slice_to_number(slice_of(value), max, &read) || read == 0) {
        problem_set(&call->problem, "%s is %s: expected 1 to %" PRIu64, name, value, max);
        return false;
    }
    *number = (size_t)read;
    return true;
}

static bool read_options(struct bench *bench)
{
    struct call *call = bench->call;
    const char *const *values = call->arguments.values;
    const char *listen = values[ARGUMENT_RECEIVER_LISTEN], *given_url = values[ARGUMENT_RECEIVER_URL];
    const char *prefix = values[ARGUMENT_TOPIC], *detail;
    struct url url;
    uint64_t random;
    if (!read_number(call, ARGUMENT_JOBS, "--jobs", JOBS_MAX, &bench->jobs) ||
        !read_number(call, ARGUMENT_BATCH, "--batch", BATCH_MAX, &bench->batch) ||
        !read_number(call, ARGUMENT_PARALLEL, "--parallel", PARALLEL_MAX, &bench->parallel) ||
        !read_number(call, ARGUMENT_PER_SECOND, "--per-second", PER_SECOND_MAX, &bench->per_second))
        return false;
    if (listen && !local_receiver_read_place(listen, &bench->listen.place)) {
        problem_set(bench->problem,
                    "--receiver-listen is %s: expected an address and a port, such as 0.0.0.0:9000", listen);
        return false;
    }
    if (given_url && url_parse(slice_of(given_url), &url, &detail) != STATUS_OK) {
        problem_set(bench->problem, "--receiver-url is %.300s: it %s", given_url, detail);
        return false;
    }
    random_fill(&random, sizeof random);
    snprintf(bench->listen.key, sizeof bench->listen.key, "%016" PRIx64, random);
    int size =
        snprintf(bench->topic, sizeof bench->topic, "%s-%.8s", prefix ? prefix : "bench", bench->listen.key);
    if (size < (int)sizeof bench->topic && group_name_is_valid(slice_of(bench->topic)))
        return true; /* unlike topic_is_valid, refuses the ~ of sibling topics (orders~callbacks) */
    problem_set(bench->problem, "--topic is %.200s: it is not the beginning of a topic's name", prefix);
    return false;
}

/* ---- the question ---- */

/* Asks on the terminal, with the text on stderr. Only y and yes permit. */
static bool ask_user(const char *server, size_t jobs)
{
    char answer[8] = "";
    fprintf(stderr, "%s is not on this host. Send it %zu job%s? [y/N] ", server, jobs, jobs == 1 ? "" : "s");
    if (!fgets(answer, sizeof answer, stdin))
        return false;
    answer[strcspn(answer, "\r\n")] = '\0';
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

/* Returns whether bench may load the server. A server on another host may be in use by others. */
static bool is_permitted(struct bench *bench)
{
    struct call *call = bench->call;
    const char *server = remote_options(call->remote).server;
    if (call->arguments.is_agreed || remote_is_local(call->remote))
        return true;
    if (!isatty(STDIN_FILENO))
        problem_set(bench->problem,
                    "%.300s is not on this host, and bench would send it %zu jobs; --yes permits this",
                    server, bench->jobs);
    else if (!ask_user(server, bench->jobs))
        problem_set(bench->problem, "nothing was sent");
    return !bench_has_failed(bench);
}

/* ---- the command ---- */

bool bench_run(struct call *call)
{
    struct bench bench = {.call = call,
                          .problem = &call->problem,
                          .signal_fd = -1,
                          .jobs = 100000,
                          .batch = 100,
                          .parallel = 8,
                          .per_second = 200,
                          .listen.place.host = "127.0.0.1"};
    if (!read_options(&bench) || !is_permitted(&bench))
        return false;
    bench.signal_fd = terminal_signals(0, bench.problem);
    if (bench.signal_fd < 0)
        return false;
    buffer_init(&bench.url, JOB_URL_MAX);
    buffer_init(&bench.text, BENCH_REQUEST_MAX);
    bench.receiver = bench_receiver_start(&bench.listen, bench.problem);
    if (bench.receiver) {
        if (call->arguments.values[ARGUMENT_RECEIVER_URL])
            buffer_printf(&bench.url, "%s", call->arguments.values[ARGUMENT_RECEIVER_URL]);
        else
            bench_receiver_write_url(bench.receiver, &bench.url);
        bench.calls = remote_calls_new(call->remote);
        measure(&bench);
        remote_calls_free(bench.calls);
    }
    bench_receiver_stop(bench.receiver);
    buffer_fini(&bench.url);
    buffer_fini(&bench.text);
    close(bench.signal_fd);
    return !bench_has_failed(&bench);
}
