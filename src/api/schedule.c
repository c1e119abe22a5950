/* schedule.c - POST /jobs */
#include <stdio.h>

#include "api/handlers.h"
#include "api/idempotency.h"
#include "api/problem.h"
#include "base/clock.h"
#include "base/random.h"
#include "io/local_address.h"
#include "job/job_id.h"
#include "job/timestamp.h"
#include "job/url.h"

static void write_placed(struct buffer *body, const struct exchange *exchange, enum job_state state,
                         int64_t at_ms)
{
    struct slice topic, job_id;
    job_key_parse(exchange->key, &topic, &job_id);
    buffer_append(body, SLICE("{\"jobId\":"));
    buffer_append_json(body, job_id);
    buffer_append(body, SLICE(",\"topic\":"));
    buffer_append_json(body, topic);
    buffer_printf(body, ",\"state\":\"%s\"", job_state_word(state));
    if (state == JOB_STATE_DELAYED || state == JOB_STATE_READY) {
        char due[TIMESTAMP_SIZE];
        timestamp_format(at_ms, due);
        buffer_append(body, SLICE(",\"dueAt\":\""));
        buffer_append(body, slice_of(due));
        buffer_append_byte(body, '"');
    }
    buffer_append_byte(body, '}');
}

static void answer_placed(struct exchange *exchange, unsigned status, enum job_state state, int64_t at_ms)
{
    struct buffer *body = exchange_scratch(exchange);
    char location[sizeof "/jobs/" + JOB_KEY_MAX];
    int size = snprintf(location, sizeof location, "/jobs/%.*s", SLICE_ARG(exchange->key));
    struct http_header header = {SLICE("Location"), slice_from(location, (size_t)size)};
    write_placed(body, exchange, state, at_ms);
    exchange_answer_json(exchange, status, &header, 1, buffer_slice(body));
}

/* The id is taken: by the same job, or by another one? */
static bool is_same_job(const struct exchange *exchange, struct slice record)
{
    struct job asked, there;
    struct job_errors errors;
    bool is_same = false;
    if (job_parse(http_request_body(exchange->request), clock_wall_ms(), &asked, &errors) != STATUS_OK)
        return false;
    if (job_read(exchange->key, record, &there) == STATUS_OK) {
        is_same = job_is_same(&asked, &there);
        job_fini(&there);
    }
    job_fini(&asked);
    return is_same;
}

/* What repeating a request does whose outcome is unknown. */
static void tell_consequence(const struct exchange *exchange, char *text, size_t size)
{
    if (exchange->once.size)
        snprintf(text, size, "Repeating it with the same Idempotency-Key is safe.");
    else if (exchange->is_id_ours)
        snprintf(text, size, "Repeating it without a jobId may schedule a second job; this one is %.*s.",
                 SLICE_ARG(exchange->key));
    else
        snprintf(text, size, "Repeating the same request is safe: it schedules %.*s once.",
                 SLICE_ARG(exchange->key));
}

static void on_scheduled(void *arg, enum status status, int64_t due_ms, const struct store_job *job)
{
    struct exchange *exchange = arg;
    char consequence[320];
    struct slice topic, job_id;
    switch (status) {
    case STATUS_OK:
        job_key_parse(exchange->key, &topic, &job_id);
        metrics_accepted(exchange->api->options.metrics, topic);
        answer_placed(exchange, 201, JOB_STATE_DELAYED, due_ms);
        break;
    case STATUS_REPEATED:
        exchange->key = job->id;
        answer_placed(exchange, 201, JOB_STATE_DELAYED, due_ms);
        break;
    case STATUS_REUSED:
        problem_answer(exchange, 422, "This Idempotency-Key was used for another request.");
        break;
    case STATUS_EXISTS:
        if (is_same_job(exchange, job->record))
            answer_placed(exchange, 200, job->state, job->at_ms);
        else
            problem_answer_conflict(exchange, "Another job has this id.", job);
        break;
    default:
        tell_consequence(exchange, consequence, sizeof consequence);
        problem_answer_status(exchange, status, consequence);
    }
}

/* Out of the way of all others, because the errors are large. */
static void answer_refused(struct exchange *exchange)
{
    struct job_errors errors = {.count = 1, .items = {{"url", "leads to an address that is not allowed"}}};
    problem_answer_errors(exchange, "job", &errors);
}

/* A literal address can be judged now; a name is judged by what it leads to, when it is due. */
static bool check_target(struct exchange *exchange, const struct job *job)
{
    struct url url;
    const char *detail;
    if (url_parse(job->url, &url, &detail) != STATUS_OK || !url.host_is_address)
        return true;
    const struct target_policy *targets = exchange->api->options.targets;
    bool is_local =
        target_policy_asks_local(targets, url.port) && address_is_local(url.address.is_v6, url.address.bytes);
    if (target_policy_permits(targets, url.host, &url.address, url.port, is_local) &&
        !store_is_redis(exchange->api->options.store, &url.address, url.port))
        return true;
    answer_refused(exchange);
    return false;
}

static void take_key(struct exchange *exchange, const struct job *job)
{
    buffer_clear(&exchange->path);
    buffer_append(&exchange->path, job->topic);
    buffer_append_byte(&exchange->path, '/');
    buffer_append(&exchange->path, job->job_id);
    exchange->key = buffer_slice(&exchange->path);
}

static void schedule(struct exchange *exchange, struct job *job)
{
    char new_id[JOB_ID_NEW_SIZE];
    uint8_t random[10];
    exchange->is_id_ours = job->job_id.size == 0;
    if (exchange->is_id_ours) {
        random_fill(random, sizeof random);
        job_id_make(clock_wall_ms(), random, new_id);
        job->job_id = slice_from(new_id, sizeof new_id);
    }
    take_key(exchange, job);
    job_write(job, &exchange->record);
    struct store_schedule call = {
        .id = exchange->key,
        .when = {job->has_due_at, job->has_due_at ? job->due_at_ms : job->delay_ms},
        .record = buffer_slice(&exchange->record),
        .once = buffer_slice(&exchange->once),
    };
    store_schedule(exchange->api->options.store, &call, on_scheduled, exchange);
}

void schedule_handle(struct exchange *exchange)
{
    struct job job;
    struct job_errors errors;
    struct problem why;
    struct slice body = http_request_body(exchange->request);
    if (job_parse(body, clock_wall_ms(), &job, &errors) != STATUS_OK) {
        problem_answer_errors(exchange, "job", &errors);
        return;
    }
    if (check_target(exchange, &job)) {
        if (!store_is_ready_for(exchange->api->options.store, job.topic, &why))
            problem_answer(exchange, 503, "%s; nothing changed.", why.text);
        else if (idempotency_begin(exchange, job.topic))
            schedule(exchange, &job);
    }
    job_fini(&job);
}
