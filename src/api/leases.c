/* leases.c - POST /topics/<topic>/lease: workers lease jobs. If no job is due, a request may wait until one
 * is. */
#include "api/handler.h"
#include "api/problem.h"
#include "api/view.h"
#include "app/lease.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "http/idempotency.h"
#include "job/job_members.h"
#include "job/lease_text.h"
#include "job/text/members.h"
#include "job/topic/topic_settings.h"

static const struct problem_words words = {
    "request",
    "If jobs were leased, they come back when their leases run out. Repeating the request is safe."};

/* A request that has no answer yet. */
struct leasing {
    struct exchange *exchange;
    struct app_lease_wait *wait; /* NULL: the wait has ended */
};

static void free_leasing(void *arg)
{
    struct leasing *leasing = arg;
    if (leasing->wait)
        app_lease_drop(leasing->wait);
    free(leasing);
}

/* ---- the answer ---- */

/* Writes a leased job. settings: the settings of the job's topic, or NULL. */
static void put_leased_job(struct json_writer *json, struct slice token, const struct pulled_job *leased,
                           const struct topic_settings *settings)
{
    const struct job *job = leased->job;
    json_put_object(json);
    json_add_text(json, "topic", job->topic);
    json_add_text(json, "jobId", job->job_id);
    json_add_text(json, "token", token);
    json_add_number(json, "attempt", job->attempts + 1);
    json_add_time(json, "leaseUntil", leased->until_ms);
    json_add_time(json, "createdAt", job->created_ms);
    json_add_time(json, "dueAt", leased->due_ms);
    if (job->has_ttl || job->has_expires_at)
        json_add_time(json, "expiresAt", job_expires_ms(job, job->created_ms));
    json_add_texts(json, "labels", job->labels.items, job->labels.count);
    view_add_headers(json, settings, job, false);
    members_put(&job_members.rows[JOB_BODY_BASE64], job, MEMBERS_FOR_PEOPLE, json);
    members_put(&job_members.rows[JOB_BODY], job, MEMBERS_FOR_PEOPLE, json);
    json_end_object(json);
}

/* Writes the leased jobs. All of them belong to one topic, so the settings of this topic are read once. */
static void put_leased_jobs(struct json_writer *json, const struct app_leased *leased)
{
    struct topic_settings settings;
    const struct pulled_job *first = leased->jobs;
    bool has_settings = leased->count > 0 && first->settings.size > 0 &&
                        topic_settings_read_for(first->job->topic, first->settings, &settings) == STATUS_OK;
    for (size_t i = 0; i < leased->count; i++)
        put_leased_job(json, leased->token, &leased->jobs[i], has_settings ? &settings : NULL);
    if (has_settings)
        topic_settings_fini(&settings);
}

static void on_answered(void *arg, bool was_sent)
{
    app_grant_end(arg, was_sent);
}

static void refuse_lease(struct exchange *exchange, const struct app_verdict *verdict)
{
    if (verdict->end == STATUS_UNREADABLE)
        exchange_refuse(exchange, 409,
                        "The settings of the topic in Redis cannot be read. PUT /topics/%.*s replaces them.",
                        SLICE_ARG(exchange->topic));
    else if (verdict->end == STATUS_LACKING)
        exchange_refuse(exchange, 409,
                        "The topic's settings need a later version of duepost: send the request to a process "
                        "of that version.");
    else
        problem_answer_verdict(exchange, verdict, &words);
}

static void on_leased(void *arg, const struct app_verdict *verdict, const struct app_leased *leased)
{
    struct leasing *leasing = arg;
    struct exchange *exchange = leasing->exchange;
    leasing->wait = NULL;
    if (verdict->end != STATUS_OK) {
        refuse_lease(exchange, verdict);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_array(&json, "jobs");
    put_leased_jobs(&json, leased);
    json_end_array(&json);
    json_end_object(&json);
    if (leased->count == 0)
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    else
        exchange_answer_watched(exchange, buffer_slice(body), on_answered,
                                app_grant_new(app_of(exchange), leased));
}

/* ---- the request ---- */

static void on_left(void *arg)
{
    struct leasing *leasing = arg;
    if (leasing->wait)
        app_lease_leave(leasing->wait);
}

static void leasing_begin(struct exchange *exchange, const struct lease_request *request)
{
    struct leasing *leasing = NEW(struct leasing);
    leasing->exchange = exchange;
    exchange_keep(exchange, leasing, free_leasing);
    if (request->wait_ms > 0 && !http_request_linger(exchange->request, on_left, leasing)) {
        exchange_refuse(exchange, 503,
                        "Too many requests wait for jobs (--max-waiting-leases); nothing was leased.");
        return;
    }
    const struct app_lease lease = {
        .caller = &exchange->caller,
        .topic = exchange->topic,
        .max = (size_t)request->max,
        .lease_ms = request->lease_ms,
        .wait_ms = request->wait_ms,
        .once = buffer_slice(&exchange->once),
    };
    struct app_lease_wait *wait = app_lease(app_of(exchange), &lease, on_leased, leasing);
    if (wait) /* if wait is NULL, the answer has already freed leasing */
        leasing->wait = wait;
}

HANDLER(lease_handle)
{
    struct lease_request request;
    struct job_errors errors;
    enum status status = lease_request_parse(http_request_body(exchange->request), &request, &errors);
    if (status != STATUS_OK)
        problem_answer_unparsed(exchange, status, "request", &errors);
    else if (idempotency_begin(exchange, exchange->topic, http_request_body(exchange->request)))
        leasing_begin(exchange, &request);
}
