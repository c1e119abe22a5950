/* series.c - the jobs of the command bench: schedules them, waits for them, and removes them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/system.h"
#include "base/timestamp.h"
#include "cli/bench/bench.h"
#include "cli/output.h"

enum {
    STALL_MS = 10 * 1000, /* time without a delivery after which the command gives up */
    TIMEOUT_MS = 60 * 1000,
    STEP_MS = 20,
};

/* ---- a step: signals, requests and answers, the progress bar ---- */

bool bench_has_failed(const struct bench *bench)
{
    return bench->problem->text[0];
}

void bench_read_signals(struct bench *bench)
{
    struct signalfd_siginfo info;
    while (read(bench->signal_fd, &info, sizeof info) == sizeof info) {
        bench->signals++;
        if (!bench_has_failed(bench))
            problem_set(bench->problem, "stopped by a signal");
    }
}

void bench_step(struct bench *bench, size_t done)
{
    remote_calls_wait(bench->calls, &bench->signal_fd, 1, STEP_MS);
    remote_calls_step(bench->calls);
    bench_read_signals(bench);
    progress_show(&bench->progress, (long long)done);
}

void bench_begin_progress(struct bench *bench, const char *what, size_t total)
{
    progress_begin(&bench->progress);
    bench->progress.is_shown = isatty(STDERR_FILENO);
    bench->progress.what = what;
    bench->progress.total = (long long)total;
}

/* ---- scheduling ---- */

void bench_write_job(struct bench *bench, struct json_writer *json, size_t number)
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
        bench_write_job(bench, &json, bench->next++);
        return;
    }
    json_put_array(&json);
    for (size_t i = 0; i < size; i++)
        bench_write_job(bench, &json, bench->next++);
    json_end_array(&json);
}

static void on_answer(void *arg, long status, struct slice answer)
{
    struct bench *bench = arg;
    bench->in_flight--;
    if (status == 207) {
        /* the accepted jobs of the answer */
        json_t *json = json_loadb(answer.data ? answer.data : "", answer.size, 0, NULL);
        json_t *results = json_object_get(json, "results"), *result;
        size_t i;
        json_array_foreach(results, i, result)
        {
            const char *detail = call_text(json_array_get(json_object_get(result, "errors"), 0), "detail");
            if (call_number(result, "status") == 201)
                bench->accepted++;
            else if (!bench_has_failed(bench))
                problem_set(bench->problem, "a job was not accepted: %lld %s", call_number(result, "status"),
                            detail                        ? detail
                            : call_text(result, "detail") ? call_text(result, "detail")
                                                          : "");
        }
        if (!results && !bench_has_failed(bench))
            problem_set(bench->problem, "the answer has no results; is it a duepost server?");
        json_decref(json);
    } else if (status == 201) {
        bench->accepted++;
    } else if (status == 0 && !bench_has_failed(bench)) {
        problem_set(bench->problem, "%.*s; check the server (--server URL or DUEPOST_SERVER)",
                    SLICE_ARG(answer));
    } else if (!bench_has_failed(bench)) {
        remote_explain(status, answer, bench->problem);
    }
}

static void send_batches(struct bench *bench)
{
    while (bench->in_flight < bench->parallel && bench->next < bench->count && !bench_has_failed(bench)) {
        size_t left = bench->count - bench->next;
        write_batch(bench, left < bench->batch ? left : bench->batch);
        if (bench->text.failed) {
            problem_set(bench->problem,
                        "--batch is %zu: a request with this many jobs is over %d bytes; use a smaller batch",
                        bench->batch, BENCH_REQUEST_MAX);
            return;
        }
        struct remote_request request = {
            .target = "/jobs", .body = buffer_slice(&bench->text), .timeout_ms = TIMEOUT_MS};
        bench->in_flight++;
        remote_call_start(bench->calls, &request, on_answer, bench);
    }
}

bool bench_schedule(struct bench *bench, uint32_t series, size_t count)
{
    bench->series = series;
    bench->count = count;
    bench->next = bench->accepted = 0;
    bench_receiver_begin(bench->receiver, series, count);
    do {
        send_batches(bench);
        bench_step(bench, bench->accepted);
    } while (bench->in_flight || (bench->next < count && !bench_has_failed(bench)));
    return !bench_has_failed(bench);
}

bool bench_await(struct bench *bench, int64_t until_ms)
{
    struct bench_received received = bench_receiver_count(bench->receiver);
    int64_t moved_ms = clock_wall_ms();
    while (received.jobs < bench->count && !bench_has_failed(bench)) {
        size_t before = received.jobs;
        bench_step(bench, before);
        received = bench_receiver_count(bench->receiver);
        int64_t now_ms = clock_wall_ms();
        if (received.jobs > before || now_ms < until_ms)
            moved_ms = now_ms;
        if (now_ms - moved_ms > STALL_MS) {
            char target[2 * JOB_TOPIC_NAME_MAX];
            struct problem problem;
            snprintf(target, sizeof target, "/jobs/%s/%" PRIu32 "-%zu/why", bench->topic, bench->series,
                     bench_receiver_missing(bench->receiver));
            json_t *answer = remote_ask_json(bench->call->remote, "GET", target, NULL, &problem);
            const char *why = call_text(answer, "detail");
            problem_set(
                bench->problem,
                "no job has come for %d s: %.300s; --receiver-url must be a URL at which the server reaches "
                "this command",
                STALL_MS / 1000,
                why      ? why
                : answer ? "the server says that the job was delivered"
                         : problem.text);
            json_decref(answer);
        }
    }
    return !bench_has_failed(bench);
}

/* ---- the topic ---- */

enum { ANSWER_MAX = 64 * 1024, CLEANING_ROUNDS = 20 };

bool bench_send_to_topic(struct bench *bench, const char *method, const char *body, struct problem *problem)
{
    char target[2 * JOB_TOPIC_NAME_MAX];
    struct buffer answer;
    buffer_init(&answer, ANSWER_MAX);
    snprintf(target, sizeof target, "/topics/%s", bench->topic);
    bool is_done = remote_ask(bench->call->remote, method, target, body, &answer, problem) == STATUS_OK;
    buffer_fini(&answer);
    return is_done;
}

bool bench_probe(struct bench *bench)
{
    struct json_writer json = json_writer_to(&bench->text);
    bench->series = SERIES_PROBE;
    buffer_clear(&bench->text);
    bench_write_job(bench, &json, 0);
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
        bench_read_signals(bench);
        progress_show(&bench->progress, matched);
    } while (page && call_text(page, "cursor") && bench->signals < 2);
    matched = page ? matched : -1;
    json_decref(page);
    buffer_fini(&target);
    return matched;
}

/* Cancels all jobs of the topic. A job may change its state during a call, so the calls are repeated until
 * there are no jobs. */
static bool cancel_jobs(struct bench *bench, struct problem *problem)
{
    static const char *const states[] = {"delayed", "ready", "leased", "dead"};
    long long found = 1;
    bench_begin_progress(bench, "cancel", 0);
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

void bench_clean_up(struct bench *bench)
{
    struct problem problem = {"jobs remain after several tries, or a second signal came"};
    if (cancel_jobs(bench, &problem) && bench_send_to_topic(bench, "DELETE", NULL, &problem))
        return;
    progress_end(&bench->progress);
    if (!bench->has_jobs)
        return;
    table_print_line(
        stderr,
        "duepost bench: topic %s is not removed: %s; remove it with: duepost cancel --topic %s --state "
        "delayed --all; repeat this with --state ready and --state dead\n",
        bench->topic, problem.text, bench->topic);
    if (!bench_has_failed(bench))
        problem_set(bench->problem, "the topic is not removed");
}
