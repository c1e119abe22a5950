#include "cli/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/random.h"
#include "base/timestamp.h"
#include "cli/bench_report.h"
#include "cli/bench_usage.h"
#include "cli/progress.h"
#include "cli/remote_calls.h"
#include "job/job_id.h"
#include "job/url.h"

enum {
    JOBS_MAX = 10 * 1000 * 1000,
    BATCH_MAX = 10000,
    PARALLEL_MAX = 100,
    PER_SECOND_MAX = 100000,
    LATENESS_S = 5,       /* length of the series for the lateness */
    LEAD_MS = 1000,       /* from its scheduling to its first due time, at least */
    STALL_MS = 10 * 1000, /* without a delivery: gives up */
    STEP_MS = 20,
    TIMEOUT_MS = 60 * 1000,
    BATCH_BYTES = 16 * 1024 * 1024, /* that a request may have */
    TEXT_MAX = 64 * 1024,
    HOST_SIZE = 64,
    CLEANING_ROUNDS = 20,
};

/* The jobs of a series go to the receiver under its number. */
enum { SERIES_PROBE, SERIES_SPEED, SERIES_LATENESS };

struct bench {
    struct call *call;
    struct problem *problem; /* why the command fails; empty: it does not */
    struct bench_receiver *receiver;
    struct remote_calls *calls;
    struct progress progress;
    int signal_fd, signals;

    size_t jobs, batch, parallel, per_second;
    struct bench_receiver_options listen;
    char host[HOST_SIZE];
    char topic[JOB_TOPIC_NAME_MAX + 1];
    struct buffer url, text;
    int64_t offset_ms; /* how much the server's clock is ahead */

    bool has_jobs;   /* the server has accepted some */
    uint32_t series; /* that is being scheduled */
    size_t count, next, accepted, in_flight;
    int64_t first_due_ms;
};

static bool has_failed(const struct bench *bench)
{
    return bench->problem->text[0];
}

/* ---- signals ---- */

static bool open_signals(struct bench *bench)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    bench->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (bench->signal_fd < 0)
        problem_set(bench->problem, "signalfd: %s", strerror(errno));
    return bench->signal_fd >= 0;
}

static void read_signals(struct bench *bench)
{
    struct signalfd_siginfo info;
    while (read(bench->signal_fd, &info, sizeof info) == sizeof info) {
        bench->signals++;
        if (!has_failed(bench))
            problem_set(bench->problem, "stopped by a signal");
    }
}

/* Waits a little, sends and receives, and draws the bar. */
static void bench_step(struct bench *bench, size_t done)
{
    remote_calls_wait(bench->calls, &bench->signal_fd, 1, STEP_MS);
    remote_calls_step(bench->calls);
    read_signals(bench);
    progress_show(&bench->progress, (long long)done);
}

static void begin_progress(struct bench *bench, const char *what, size_t total)
{
    progress_begin(&bench->progress);
    bench->progress.is_shown = isatty(STDERR_FILENO);
    bench->progress.what = what;
    bench->progress.total = (long long)total;
}

/* ---- scheduling a series ---- */

static void write_job(struct bench *bench, struct json_writer *json, size_t number)
{
    int64_t due_ms = bench->series == SERIES_LATENESS
                         ? bench->first_due_ms + (int64_t)(number * 1000 / bench->per_second)
                         : 0;
    json_put_object(json);
    json_add_text(json, "topic", slice_of(bench->topic));
    json_put_name(json, "jobId");
    buffer_printf(json_put(json), "\"%" PRIu32 "-%zu\"", bench->series, number);
    json_add_text(json, "url", buffer_slice(&bench->url));
    if (due_ms)
        json_add_time(json, "dueAt", due_ms);
    json_put_name(json, "body");
    bench_receiver_write_body(json_put(json), bench->listen.key, bench->series, number, due_ms);
    json_end_object(json);
}

static void write_batch(struct bench *bench, size_t size)
{
    struct json_writer json = json_writer_to(&bench->text);
    buffer_clear(&bench->text);
    if (bench->batch == 1) {
        write_job(bench, &json, bench->next++);
        return;
    }
    json_put_array(&json);
    for (size_t i = 0; i < size; i++)
        write_job(bench, &json, bench->next++);
    json_end_array(&json);
}

/* Counts the accepted jobs of an answer. */
static void read_results(struct bench *bench, struct slice answer)
{
    json_t *json = json_loadb(answer.data ? answer.data : "", answer.size, 0, NULL);
    json_t *results = json_object_get(json, "results"), *result;
    size_t i;
    json_array_foreach(results, i, result)
    {
        const char *detail = call_text(json_array_get(json_object_get(result, "errors"), 0), "detail");
        if (call_number(result, "status") == 201)
            bench->accepted++;
        else if (!has_failed(bench))
            problem_set(bench->problem, "a job was not accepted: %lld %s", call_number(result, "status"),
                        detail                        ? detail
                        : call_text(result, "detail") ? call_text(result, "detail")
                                                      : "");
    }
    if (!results && !has_failed(bench))
        problem_set(bench->problem, "the answer has no results; is it a duepost server?");
    json_decref(json);
}

static void on_answer(void *arg, long status, struct slice answer)
{
    struct bench *bench = arg;
    bench->in_flight--;
    if (status == 207)
        read_results(bench, answer);
    else if (status == 201)
        bench->accepted++;
    else if (status == 0 && !has_failed(bench))
        problem_set(bench->problem, "%.*s; check the server (--server URL or DUEPOST_SERVER)",
                    SLICE_ARG(answer));
    else if (!has_failed(bench))
        remote_explain(status, answer, bench->problem);
}

static void send_batches(struct bench *bench)
{
    while (bench->in_flight < bench->parallel && bench->next < bench->count && !has_failed(bench)) {
        size_t left = bench->count - bench->next;
        write_batch(bench, left < bench->batch ? left : bench->batch);
        if (bench->text.failed) {
            problem_set(bench->problem, "--batch is %zu: such a request is over %d bytes; use less",
                        bench->batch, BATCH_BYTES);
            return;
        }
        struct remote_request request = {
            .target = "/jobs", .body = buffer_slice(&bench->text), .timeout_ms = TIMEOUT_MS};
        bench->in_flight++;
        remote_call_start(bench->calls, &request, on_answer, bench);
    }
}

/* Schedules the jobs of a series. Requests that are under way are waited for even if the command fails: the
 * jobs that they bring must be cancelled. */
static bool schedule_series(struct bench *bench, uint32_t series, size_t count)
{
    bench->series = series;
    bench->count = count;
    bench->next = bench->accepted = 0;
    bench_receiver_begin(bench->receiver, series, count);
    do {
        send_batches(bench);
        bench_step(bench, bench->accepted);
    } while (bench->in_flight || (bench->next < count && !has_failed(bench)));
    return !has_failed(bench);
}

/* ---- waiting for deliveries ---- */

/* Asks why a job has not come. */
static void explain_stall(struct bench *bench)
{
    char target[2 * JOB_TOPIC_NAME_MAX];
    struct problem problem;
    snprintf(target, sizeof target, "/jobs/%s/%" PRIu32 "-%zu/why", bench->topic, bench->series,
             bench_receiver_missing(bench->receiver));
    json_t *answer = remote_ask_json(bench->call->remote, "GET", target, NULL, &problem);
    const char *why = call_text(answer, "detail");
    problem_set(bench->problem,
                "no job has come for %d s: %.300s; --receiver-url must be a URL at which the server reaches "
                "this command",
                STALL_MS / 1000,
                why      ? why
                : answer ? "the server says that it was delivered"
                         : problem.text);
    json_decref(answer);
}

/* Waits for all jobs of the series. until_ms: when the last one is due, by this host's clock. */
static bool await_series(struct bench *bench, int64_t until_ms)
{
    struct bench_received received = bench_receiver_count(bench->receiver);
    int64_t moved_ms = clock_wall_ms();
    while (received.jobs < bench->count && !has_failed(bench)) {
        size_t before = received.jobs;
        bench_step(bench, before);
        received = bench_receiver_count(bench->receiver);
        int64_t now_ms = clock_wall_ms();
        if (received.jobs > before || now_ms < until_ms)
            moved_ms = now_ms;
        if (now_ms - moved_ms > STALL_MS)
            explain_stall(bench);
    }
    return !has_failed(bench);
}

/* ---- the topic ---- */

static bool send_to_topic(struct bench *bench, const char *method, const char *body, struct problem *problem)
{
    char target[2 * JOB_TOPIC_NAME_MAX];
    struct buffer answer;
    buffer_init(&answer, TEXT_MAX);
    snprintf(target, sizeof target, "/topics/%s", bench->topic);
    bool is_done = remote_ask(bench->call->remote, method, target, body, &answer, problem) == STATUS_OK;
    buffer_fini(&answer);
    return is_done;
}

/* Sends one job, which shows whether the server permits the receiver, and what its clock says. The clocks
 * count as equal if the server's time is within the request. */
static bool probe_server(struct bench *bench)
{
    struct json_writer json = json_writer_to(&bench->text);
    bench->series = SERIES_PROBE;
    buffer_clear(&bench->text);
    write_job(bench, &json, 0);
    int64_t sent_ms = clock_wall_ms(), server_ms = 0;
    json_t *answer =
        remote_ask_json(bench->call->remote, "POST", "/jobs", buffer_text(&bench->text), bench->problem);
    int64_t came_ms = clock_wall_ms();
    if (!answer) {
        struct problem why = *bench->problem;
        if (strncmp(why.text, "400: url", strlen("400: url")) == 0)
            problem_set(bench->problem, "%.300s; or set --receiver-url to a URL that it may send to",
                        why.text);
        return false;
    }
    bench->has_jobs = true;
    if (timestamp_parse(slice_of(call_text(answer, "dueAt")), &server_ms) &&
        (server_ms < sent_ms - 1 || server_ms > came_ms + 1))
        bench->offset_ms = server_ms - (sent_ms + came_ms) / 2;
    json_decref(answer);
    return true;
}

/* Cancels the jobs of one state. Returns how many there were, or -1 after an error. */
static long long cancel_state(struct bench *bench, const char *state, struct problem *problem)
{
    struct buffer target;
    long long matched = 0;
    json_t *page = NULL;
    buffer_init(&target, CALL_TARGET_MAX);
    do {
        buffer_clear(&target);
        buffer_printf(&target, "/jobs?topic=%s&state=%s&all=true", bench->topic, state);
        if (page) {
            buffer_printf(&target, "&cursor=");
            call_add_encoded(&target, call_text(page, "cursor"));
        }
        json_decref(page);
        page = remote_ask_json(bench->call->remote, "DELETE", buffer_text(&target), NULL, problem);
        matched += call_number(page, "matched");
        read_signals(bench);
        progress_show(&bench->progress, matched);
    } while (page && call_text(page, "cursor") && bench->signals < 2);
    matched = page ? matched : -1;
    json_decref(page);
    buffer_fini(&target);
    return matched;
}

/* Cancels all jobs of the topic. A job may change its state meanwhile, so this is repeated until there are no
 * jobs. */
static bool cancel_jobs(struct bench *bench, struct problem *problem)
{
    static const char *const states[] = {"delayed", "ready", "leased", "dead"};
    long long found = 1;
    begin_progress(bench, "cancel", 0);
    for (int round = 0; found > 0 && round < CLEANING_ROUNDS && bench->signals < 2; round++) {
        found = 0;
        for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
            long long matched = cancel_state(bench, states[i], problem);
            if (matched < 0)
                return false;
            found += matched;
        }
    }
    progress_end(&bench->progress);
    return found == 0;
}

static void clean_up(struct bench *bench)
{
    struct problem problem = {"jobs come back or a second signal came"};
    if (cancel_jobs(bench, &problem) && send_to_topic(bench, "DELETE", NULL, &problem))
        return;
    progress_end(&bench->progress);
    if (!bench->has_jobs)
        return;
    fprintf(stderr,
            "duepost bench: topic %s is not removed: %s; remove it with: duepost cancel --topic %s --state "
            "delayed --all; the same for --state ready and dead\n",
            bench->topic, problem.text, bench->topic);
    if (!has_failed(bench))
        problem_set(bench->problem, "the topic is not removed");
}

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

/* Schedules the jobs while their topic is paused, then resumes it. */
static bool measure_speed(struct bench *bench, struct bench_report *report)
{
    struct bench_usage first, begun, accepted, delivered;
    struct remote *remote = bench->call->remote;
    if (!send_to_topic(bench, "PATCH", "{\"paused\":true}", bench->problem))
        return false;
    bench_usage_read(remote, NULL, &first);
    bench_usage_read(remote, &first, &begun);
    begin_progress(bench, "accept ", bench->jobs);
    int64_t from_us = clock_steady_us();
    if (!schedule_series(bench, SERIES_SPEED, bench->jobs))
        return false;
    report->accept.jobs = bench->jobs;
    report->accept.seconds = seconds_between(from_us, clock_steady_us());
    bench_usage_read(remote, &begun, &accepted);
    set_usage(&report->accept, &begun, &accepted);

    begin_progress(bench, "deliver", bench->jobs);
    from_us = clock_steady_us();
    if (!send_to_topic(bench, "PATCH", "{\"paused\":false}", bench->problem) || !await_series(bench, 0))
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
    begin_progress(bench, "lateness", count);
    bench->first_due_ms = clock_wall_ms() + bench->offset_ms + LEAD_MS + (int64_t)(count / 20);
    int64_t until_ms = bench->first_due_ms - bench->offset_ms + (int64_t)(count * 1000 / bench->per_second);
    if (!schedule_series(bench, SERIES_LATENESS, count))
        return false;
    begin_progress(bench, "lateness", count);
    if (!await_series(bench, until_ms))
        return false;
    report->lateness = bench_receiver_lateness(bench->receiver, bench->offset_ms);
    report->offset_ms = bench->offset_ms;
    return true;
}

static void print_report(struct bench *bench, const struct bench_report *report)
{
    progress_end(&bench->progress);
    buffer_clear(&bench->text);
    bench_report_write(report, bench->call->arguments.is_json, &bench->text);
    fputs(buffer_text(&bench->text), stdout);
}

/* Measures the lateness first: after many deliveries, the server would still be busy with its history. */
static void measure(struct bench *bench)
{
    struct remote_options options = remote_options(bench->call->remote);
    struct bench_report report = {.server = options.server,
                                  .topic = bench->topic,
                                  .batch = bench->batch,
                                  .parallel = bench->parallel,
                                  .per_second = bench->per_second};
    bool is_done = probe_server(bench) && measure_lateness(bench, &report) && measure_speed(bench, &report);
    progress_end(&bench->progress);
    clean_up(bench);
    if (is_done)
        print_report(bench, &report);
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

static bool read_listen(struct bench *bench, const char *value)
{
    const char *colon = value ? strrchr(value, ':') : NULL;
    struct slice host = slice_from(value, colon ? (size_t)(colon - value) : 0);
    uint64_t port;
    if (!value)
        return true;
    if (host.size >= 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
        host = slice_from(host.data + 1, host.size - 2);
    if (!colon || host.size == 0 || host.size >= sizeof bench->host ||
        !slice_to_number(slice_of(colon + 1), UINT16_MAX, &port)) {
        problem_set(bench->problem,
                    "--receiver-listen is %s: expected an address and a port, such as 0.0.0.0:9000", value);
        return false;
    }
    snprintf(bench->host, sizeof bench->host, "%.*s", SLICE_ARG(host));
    bench->listen.port = (uint16_t)port;
    return true;
}

static bool check_url(struct bench *bench, const char *value)
{
    struct url url;
    const char *detail;
    if (!value || url_parse(slice_of(value), &url, &detail) == STATUS_OK)
        return true;
    problem_set(bench->problem, "--receiver-url is %.300s: it %s", value, detail);
    return false;
}

static bool make_topic(struct bench *bench, const char *prefix)
{
    uint64_t random;
    random_fill(&random, sizeof random);
    snprintf(bench->listen.key, sizeof bench->listen.key, "%016" PRIx64, random);
    int size =
        snprintf(bench->topic, sizeof bench->topic, "%s-%.8s", prefix ? prefix : "bench", bench->listen.key);
    if (size < (int)sizeof bench->topic && group_name_is_valid(slice_of(bench->topic)))
        return true; /* a group's name is like a topic's, but never that of a sibling topic */
    problem_set(bench->problem, "--topic is %.200s: it is not the beginning of a topic's name", prefix);
    return false;
}

static bool read_options(struct bench *bench)
{
    struct call *call = bench->call;
    const char *const *values = call->arguments.values;
    return read_number(call, ARGUMENT_JOBS, "--jobs", JOBS_MAX, &bench->jobs) &&
           read_number(call, ARGUMENT_BATCH, "--batch", BATCH_MAX, &bench->batch) &&
           read_number(call, ARGUMENT_PARALLEL, "--parallel", PARALLEL_MAX, &bench->parallel) &&
           read_number(call, ARGUMENT_PER_SECOND, "--per-second", PER_SECOND_MAX, &bench->per_second) &&
           read_listen(bench, values[ARGUMENT_RECEIVER_LISTEN]) &&
           check_url(bench, values[ARGUMENT_RECEIVER_URL]) && make_topic(bench, values[ARGUMENT_TOPIC]);
}

/* ---- the command ---- */

static void set_url(struct bench *bench, const char *given)
{
    bool is_v6 = strchr(bench->host, ':');
    if (given)
        buffer_printf(&bench->url, "%s", given);
    else
        buffer_printf(&bench->url, is_v6 ? "http://[%s]:%u/" : "http://%s:%u/", bench->host,
                      bench_receiver_port(bench->receiver));
}

bool bench_run(struct call *call)
{
    struct bench bench = {.call = call,
                          .problem = &call->problem,
                          .signal_fd = -1,
                          .jobs = 100000,
                          .batch = 100,
                          .parallel = 8,
                          .per_second = 200,
                          .host = "127.0.0.1"};
    bench.listen.host = bench.host;
    if (!read_options(&bench) || !open_signals(&bench))
        return false;
    buffer_init(&bench.url, JOB_URL_MAX);
    buffer_init(&bench.text, BATCH_BYTES);
    bench.receiver = bench_receiver_start(&bench.listen, bench.problem);
    if (bench.receiver) {
        set_url(&bench, call->arguments.values[ARGUMENT_RECEIVER_URL]);
        bench.calls = remote_calls_new(call->remote);
        measure(&bench);
        remote_calls_free(bench.calls);
    }
    bench_receiver_stop(bench.receiver);
    buffer_fini(&bench.url);
    buffer_fini(&bench.text);
    close(bench.signal_fd);
    return !has_failed(&bench);
}
