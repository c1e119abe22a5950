/* overview.c - GET /overview, GET /receivers and POST /receivers/<host:port>/close */
#include "api/api_private.h"
#include "app/overview.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/system.h"
#include "http/query.h"
#include "job/target/receiver.h"

/* ---- GET /overview ---- */

enum { STEP_MAX = 60 }; /* maximum length of a step in seconds */

/* The parameters of a request. If the token is restricted to topics, the answer has only the parts about
 * these topics. */
struct overview_query {
    uint64_t after_ms, step; /* step in seconds */
    char text[QUERY_BYTES_MAX + 1];
};

static const char *read_after(void *into, struct slice value)
{
    struct overview_query *query = into;
    return slice_to_number(value, INT64_MAX / 2, &query->after_ms)
               ? NULL
               : "must be a time in milliseconds since 1970";
}

static const char *read_step(void *into, struct slice value)
{
    struct overview_query *query = into;
    return slice_to_number(value, STEP_MAX, &query->step) && query->step > 0
               ? NULL
               : "must be a number of seconds from 1 to 60";
}

static const struct query_parameter parameters[] = {{"after", read_after, 0}, {"step", read_step, 0}};
enum { PARAMETER_COUNT = sizeof parameters / sizeof *parameters };

/* ---- series ---- */

static void add_numbers(struct json_writer *json, const char *name, const struct live_second *seconds,
                        size_t count, size_t offset)
{
    json_add_array(json, name);
    for (size_t i = 0; i < count; i++)
        json_put_number(json, (int64_t) * (const uint64_t *)((const char *)&seconds[i] + offset));
    json_end_array(json);
}

/* Adds the lateness of each second in ms, with one decimal, or null for a second without attempts. */
static void add_lateness(struct json_writer *json, const char *name, const struct live_second *seconds,
                         size_t count, double part)
{
    json_add_array(json, name);
    for (size_t i = 0; i < count; i++) {
        int64_t late_us = live_second_late_us(&seconds[i], part);
        if (late_us < 0)
            json_put_raw(json, SLICE("null"));
        else
            buffer_printf(json_put(json), "%lld.%lld", (long long)(late_us / 1000),
                          (long long)(late_us % 1000 / 100));
    }
    json_end_array(json);
}

#define ADD_NUMBERS(json, name, member)                                                                      \
    add_numbers(json, name, seconds, count, offsetof(struct live_second, member))

/* Adds up the seconds of each step: the sums are then in seconds[0], seconds[1] and so on. A step begins at a
 * multiple of its length, so each answer has the same steps. Seconds before the first whole step are left
 * out; the last step may still be growing. Sets first to the first second of the first step. Returns the
 * number of steps. */
static size_t gather_steps(struct live_second *seconds, size_t count, int64_t step, int64_t *first)
{
    int64_t from = (*first + step - 1) / step * step;
    size_t steps = 0;
    for (int64_t second = from; second < *first + (int64_t)count; second++) {
        const struct live_second *figures = &seconds[second - *first];
        if ((second - from) % step == 0)
            seconds[steps++] = *figures;
        else
            live_second_add(&seconds[steps - 1], figures);
    }
    *first = from;
    return steps;
}

static void add_series(struct json_writer *json, const struct app_overview *overview,
                       const struct overview_query *query)
{
    struct live_second *seconds = NEW_ARRAY(struct live_second, LIVE_SECONDS);
    int64_t step = (int64_t)query->step, from = (int64_t)(query->after_ms / 1000) / step * step, first;
    size_t count = live_board_sum(overview->live, from, seconds, &first);
    int64_t until = first + (int64_t)count;
    count = gather_steps(seconds, count, step, &first);
    json_add_object(json, "series");
    json_add_number(json, "from", first * 1000);
    json_add_number(json, "until", (until > first ? until : first) * 1000);
    json_add_number(json, "step", step);
    ADD_NUMBERS(json, "accepted", accepted);
    ADD_NUMBERS(json, "delivered", delivered);
    ADD_NUMBERS(json, "retried", failed);
    ADD_NUMBERS(json, "dead", dead);
    ADD_NUMBERS(json, "cancelled", cancelled);
    add_lateness(json, "lateP50Ms", seconds, count, 0.5);
    add_lateness(json, "lateP99Ms", seconds, count, 0.99);
    json_end_object(json);
    free(seconds);
}

/* ---- other members ---- */

static void add_jobs(struct json_writer *json, const struct app_overview_jobs *jobs)
{
    json_add_object(json, "jobs");
    if (jobs->ready >= 0) {
        json_add_number(json, "delayed", jobs->delayed);
        json_add_number(json, "ready", jobs->ready);
    }
    json_add_number(json, "held", jobs->held);
    json_add_number(json, "leased", jobs->leased);
    json_add_number(json, "pulled", jobs->pulled);
    json_add_number(json, "dead", jobs->dead);
    json_add_number(json, "retrying", jobs->retrying);
    json_end_object(json);
}

static void add_busy(struct json_writer *json, const struct exchange *exchange,
                     const struct app_overview *overview)
{
    struct live_topic *topics = NEW_ARRAY(struct live_topic, LIVE_TOPICS_MAX);
    size_t count = live_board_topics(overview->live, clock_boot_us(), topics);
    json_add_array(json, "busy");
    for (size_t i = 0; i < count; i++)
        if (app_caller_reaches(&exchange->caller, slice_of(topics[i].name))) {
            const struct live_topic *topic = &topics[i];
            json_put_object(json);
            json_add_text(json, "topic", slice_of(topic->name));
            json_add_number(json, "accepted", (int64_t)topic->accepted);
            json_add_number(json, "delivered", (int64_t)topic->delivered);
            json_add_number(json, "retried", (int64_t)topic->failed);
            json_add_number(json, "dead", (int64_t)topic->dead);
            json_end_object(json);
        }
    json_end_array(json);
    free(topics);
}

static void add_processes(struct json_writer *json, const struct app_overview *overview)
{
    struct live_process *processes = NEW_ARRAY(struct live_process, LIVE_PROCESSES_MAX + 1);
    size_t count = live_board_processes(overview->live, clock_boot_us(), processes);
    json_add_array(json, "processes");
    for (size_t i = 0; i < count; i++) {
        const struct live_process *process = &processes[i];
        json_put_object(json);
        json_add_text(json, "id", slice_of(process->id));
        json_add_text(json, "host", slice_of(process->host));
        json_add_number(json, "pid", process->pid);
        json_add_text(json, "version", slice_of(process->version));
        json_add_time(json, "startedAt", process->started_ms);
        json_add_number(json, "reactors", process->reactors);
        json_add_number(json, "inFlight", (int64_t)process->in_flight);
        json_end_object(json);
    }
    json_end_array(json);
    free(processes);
}

static void add_overdue(struct json_writer *json, const struct app_overview *overview)
{
    json_add_array(json, "overdue");
    for (size_t i = 0; i < overview->overdue_count; i++) {
        const struct urgent_topic *topic = overview->overdue[i];
        json_put_object(json);
        json_add_text(json, "topic", slice_of(topic->name));
        json_add_time(json, "dueAt", topic->due_ms);
        json_add_seconds(json, "lateSeconds", topic->late_ms);
        json_add_number(json, "ready", topic->ready);
        json_add_number(json, "held", topic->held);
        if (topic->is_paused)
            json_add_bool(json, "isPaused", true);
        if (topic->is_pull)
            json_add_bool(json, "isPull", true);
        if (topic->lacks_url)
            json_add_bool(json, "lacksUrl", true);
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_failing(struct json_writer *json, const struct app_overview *overview)
{
    json_add_array(json, "failing");
    for (size_t i = 0; i < overview->failing_count; i++) {
        const struct failing_topic *topic = overview->failing[i];
        json_put_object(json);
        json_add_text(json, "topic", slice_of(topic->name));
        json_add_number(json, "failed", topic->failed);
        json_add_number(json, "attempts", topic->attempts);
        if (topic->last_answer[0])
            json_add_text(json, "lastAnswer", slice_of(topic->last_answer));
        json_end_object(json);
    }
    json_end_array(json);
}

static void add_counts(struct json_writer *json, const char *name, const int64_t *counts, size_t count)
{
    json_add_array(json, name);
    for (size_t i = 0; i < count; i++)
        json_put_number(json, counts[i]);
    json_end_array(json);
}

#define ADD_COUNTS(json, forecast, name)                                                                     \
    add_counts(json, #name, (forecast)->name, sizeof(forecast)->name / sizeof *(forecast)->name)

static void add_forecast(struct json_writer *json, const struct forecast *forecast)
{
    json_add_object(json, "coming");
    json_add_time(json, "at", forecast->at_ms);
    json_add_number(json, "overdue", forecast->overdue);
    ADD_COUNTS(json, forecast, minute);
    ADD_COUNTS(json, forecast, hour);
    ADD_COUNTS(json, forecast, day);
    ADD_COUNTS(json, forecast, week);
    json_add_number(json, "later", forecast->later);
    json_add_bool(json, "isSampled", forecast->is_sampled);
    json_end_object(json);
}

static void add_receivers(struct json_writer *json, const struct impaired *receivers)
{
    json_add_object(json, "receivers");
    json_add_number(json, "impaired", (int64_t)receivers->count);
    json_add_array(json, "first");
    for (size_t i = 0; i < receivers->count && i < IMPAIRED_FIRST; i++) {
        const struct impaired_receiver *receiver = &receivers->first[i];
        struct slice name = slice_of(receiver->name), cause = slice_of(receiver->cause);
        struct slice path = receiver_path_of(name);
        json_put_object(json);
        json_add_text(json, "receiver", receiver_host_of(name));
        if (path.size)
            json_add_text(json, "path", path);
        json_add_text(json, "state",
                      !receiver->is_open     ? SLICE("closed")
                      : receiver->is_probing ? SLICE("probing")
                                             : SLICE("open"));
        if (cause.size && !slice_equal(cause, SLICE("-")))
            json_add_text(json, "cause", cause);
        if (receiver->is_open)
            json_add_time(json, "probeAt", receiver->probe_ms);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

static void add_redis(struct json_writer *json, const struct app_overview_redis *redis)
{
    json_add_object(json, "redis");
    json_add_bool(json, "isUp", redis->is_up);
    json_add_text(json, "durability", slice_of(redis->durability));
    json_add_bool(json, "isPrivate", redis->is_private);
    if (redis->version[0])
        json_add_text(json, "version", slice_of(redis->version));
    if (redis->used_bytes > 0)
        json_add_number(json, "usedBytes", redis->used_bytes);
    if (redis->max_bytes > 0)
        json_add_number(json, "maxBytes", redis->max_bytes);
    json_end_object(json);
}

static void add_outbox(struct json_writer *json, const struct metrics_relay *relay)
{
    int64_t oldest_ms = atomic_load(&relay->oldest_ms);
    if (!atomic_load(&relay->is_on))
        return;
    json_add_object(json, "outbox");
    json_add_bool(json, "isUp", atomic_load(&relay->is_up));
    json_add_bool(json, "isActive", atomic_load(&relay->is_active));
    json_add_number(json, "sent", atomic_load(&relay->sent));
    json_add_number(json, "failed", atomic_load(&relay->failed));
    if (oldest_ms >= 0)
        json_add_seconds(json, "oldestSeconds", oldest_ms);
    json_end_object(json);
}

/* Adds the parts that only a token for all topics may see. */
static void add_all(struct json_writer *json, const struct exchange *exchange,
                    const struct app_overview *overview)
{
    const struct overview_query *query = exchange->state;
    add_series(json, overview, query);
    if (overview->jobs)
        add_jobs(json, overview->jobs);
    if (overview->forecast)
        add_forecast(json, overview->forecast);
    if (overview->receivers)
        add_receivers(json, overview->receivers);
    if (overview->jobs) {
        json_add_object(json, "workers");
        json_add_number(json, "waiting", overview->workers_waiting);
        json_add_number(json, "leases", overview->worker_leases);
        json_end_object(json);
    }
    add_redis(json, &overview->redis);
    if (overview->jobs && app_of(exchange)->history) {
        const struct app_overview_jobs *jobs = overview->jobs;
        json_add_object(json, "history");
        json_add_number(json, "backlogJobs", jobs->outbox);
        json_add_number(json, "backlogBytes", jobs->outbox_bytes);
        json_add_seconds(json, "behindSeconds", jobs->outbox_age_ms);
        json_end_object(json);
    }
    add_outbox(json, metrics_relay(app_of(exchange)->board));
    add_processes(json, overview);
}

/* ---- */

static void on_overview(void *arg, const struct app_overview *overview)
{
    struct exchange *exchange = arg;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_time(&json, "now", overview->now_ms);
    if (app_of(exchange)->clock)
        json_add_text(&json, "clock", SLICE("manual"));
    if (exchange->caller.topics.size == 0)
        add_all(&json, exchange, overview);
    if (overview->overdue) {
        add_failing(&json, overview);
        add_overdue(&json, overview);
    }
    add_busy(&json, exchange, overview);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(overview_handle)
{
    struct overview_query *query = NEW(struct overview_query);
    struct buffer text = buffer_of(query->text, sizeof query->text);
    struct query_reading reading = {.exchange = exchange,
                                    .parameters = parameters,
                                    .count = PARAMETER_COUNT,
                                    .known = (1 << PARAMETER_COUNT) - 1};
    query->step = 1;
    exchange_keep(exchange, query, free);
    query_read(&reading, query, &text);
    if (query_end(&reading))
        app_overview(app_of(exchange), &exchange->caller, on_overview, exchange);
}

/* ---- GET /receivers, POST /receivers/<host:port>/close ---- */

static struct slice state_of(const struct receiver_record *receiver)
{
    if (receiver->opened_ms == 0)
        return SLICE("closed");
    return receiver->probe ? SLICE("probing") : SLICE("open");
}

static void put_receiver(struct json_writer *json, const struct receiver_record *receiver)
{
    struct slice path = receiver_path_of(receiver->name);
    json_put_object(json);
    json_add_text(json, "receiver", receiver_host_of(receiver->name));
    if (path.size)
        json_add_text(json, "path", path);
    json_add_text(json, "state", state_of(receiver));
    json_add_number(json, "failures", receiver->failures);
    if (receiver->opened_ms > 0) {
        json_add_time(json, "openSince", receiver->opened_ms);
        json_add_time(json, "probeAt", receiver->probe_ms);
    }
    if (receiver->limit > 0)
        json_add_number(json, "maxInFlight", receiver->limit);
    if (receiver->certificate_ms >= 0)
        json_add_time(json, "certificateEndsAt", receiver->certificate_ms);
    if (receiver->failed_ms > 0) {
        /* The cause is an HTTP status or a word, such as connect. */
        uint64_t status;
        json_add_object(json, "lastFailure");
        json_add_time(json, "at", receiver->failed_ms);
        if (slice_to_number(receiver->cause, 999, &status))
            json_add_raw(json, "status", receiver->cause);
        else
            json_add_text(json, "error", receiver->cause);
        json_end_object(json);
    }
    json_add_time(json, "reportedAt", receiver->reported_ms);
    json_end_object(json);
}

static void on_receiver_of_page(void *arg, const struct receiver_record *receiver)
{
    struct page *page = arg;
    put_receiver(&page->json, receiver);
}

HANDLER(receivers_handle)
{
    if (!query_read_receivers(exchange))
        return;
    const struct list_query *query = list_query(exchange);
    app_receivers(app_of(exchange), query->bulk.list.max, query->receiver, on_receiver_of_page, page_end,
                  page_new(exchange, "receivers"));
}

static void on_receiver(void *arg, const struct receiver_record *receiver)
{
    struct json_writer json = json_writer_to(exchange_scratch(arg));
    put_receiver(&json, receiver);
}

static void on_closed(void *arg, const struct app_verdict *verdict)
{
    static const struct problem_words words = {"request", "Repeating the request is safe."};
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_OK)
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&exchange->site->scratch));
    else if (verdict->end == STATUS_NOT_FOUND)
        exchange_refuse(
            exchange, 404,
            "This receiver is not in the list of GET /receivers: it is not impaired, or was never "
            "used.");
    else
        problem_answer_verdict(exchange, verdict, &words);
}

HANDLER(receiver_close_handle)
{
    app_receiver_close(app_of(exchange), &exchange->caller, exchange->key, on_receiver, on_closed, exchange);
}
