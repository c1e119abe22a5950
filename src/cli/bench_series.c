#include "cli/bench_private.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

enum {
    STALL_MS = 10 * 1000, /* time without a delivery after which the command gives up */
    TIMEOUT_MS = 60 * 1000,
};

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
        else if (!bench_has_failed(bench))
            problem_set(bench->problem, "a job was not accepted: %lld %s", call_number(result, "status"),
                        detail                        ? detail
                        : call_text(result, "detail") ? call_text(result, "detail")
                                                      : "");
    }
    if (!results && !bench_has_failed(bench))
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
    else if (status == 0 && !bench_has_failed(bench))
        problem_set(bench->problem, "%.*s; check the server (--server URL or DUEPOST_SERVER)",
                    SLICE_ARG(answer));
    else if (!bench_has_failed(bench))
        remote_explain(status, answer, bench->problem);
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

/* Asks the server why a job has not come. */
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
                : answer ? "the server says that the job was delivered"
                         : problem.text);
    json_decref(answer);
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
        if (now_ms - moved_ms > STALL_MS)
            explain_stall(bench);
    }
    return !bench_has_failed(bench);
}
