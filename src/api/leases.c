/* leases.c - /topics/<topic>: POST lease, and complete, retry, bury, extend and release. Workers lease jobs,
 * and end or extend the leases. */
#include "api/api_private.h"
#include "app/lease.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "http/access.h"
#include "http/request_headers.h"
#include "job/job_id.h"
#include "job/job_members.h"
#include "job/lease_text.h"
#include "job/text/members.h"
#include "job/topic/topic_settings.h"

/* ---- lease: if no job is due, a request may wait until one is ---- */

static const struct problem_words lease_words = {
    "request",
    "If jobs were leased, they come back when their leases run out. Repeating the request is safe."};

/* A request that has no answer yet. */
struct leasing {
    struct exchange *exchange;
    struct lease_request request;
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

/* Writes the leased jobs. All of them belong to one topic, so the settings of this topic are read once. */
static void put_leased_jobs(struct json_writer *json, const struct app_leased *leased)
{
    struct topic_settings settings;
    const struct pulled_job *first = leased->jobs;
    bool has_settings = leased->count > 0 && first->settings.size > 0 &&
                        topic_settings_read_for(first->job->topic, first->settings, &settings) == STATUS_OK;
    for (size_t i = 0; i < leased->count; i++) {
        const struct job *job = leased->jobs[i].job;
        json_put_object(json);
        json_add_text(json, "topic", job->topic);
        json_add_text(json, "jobId", job->job_id);
        json_add_text(json, "token", leased->token);
        json_add_number(json, "attempt", job->attempts + 1);
        json_add_time(json, "leaseUntil", leased->jobs[i].until_ms);
        json_add_time(json, "createdAt", job->created_ms);
        json_add_time(json, "dueAt", leased->jobs[i].due_ms);
        if (job->has_ttl || job->has_expires_at)
            json_add_time(json, "expiresAt", job_expires_ms(job, job->created_ms));
        members_put(&job_members.rows[JOB_METHOD], job, MEMBERS_FOR_PEOPLE, json);
        members_put(&job_members.rows[JOB_KEY], job, MEMBERS_FOR_PEOPLE, json);
        json_add_number(json, "priority", job_priority(job));
        json_add_texts(json, "labels", job->labels.items, job->labels.count);
        view_add_headers(json, has_settings ? &settings : NULL, job, false);
        members_put(&job_members.rows[JOB_BODY_BASE64], job, MEMBERS_FOR_PEOPLE, json);
        members_put(&job_members.rows[JOB_BODY], job, MEMBERS_FOR_PEOPLE, json);
        json_end_object(json);
    }
    if (has_settings)
        topic_settings_fini(&settings);
}

static void on_answered(void *arg, bool was_sent)
{
    app_grant_end(arg, was_sent);
}

static void on_leased(void *arg, const struct app_verdict *verdict, const struct app_leased *leased)
{
    struct leasing *leasing = arg;
    struct exchange *exchange = leasing->exchange;
    leasing->wait = NULL;
    if (verdict->end == STATUS_UNREADABLE) {
        exchange_refuse(exchange, 409,
                        "The settings of the topic in Redis cannot be read. PUT /topics/%.*s replaces them.",
                        SLICE_ARG(exchange->topic));
        return;
    }
    if (verdict->end == STATUS_LACKING) {
        exchange_refuse(
            exchange, 409,
            "The topic's settings need a later version of duepost, or an encryption key that this "
            "process lacks: send the request to a process that has it.");
        return;
    }
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &lease_words);
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

/* ---- the request for leases ---- */

static void on_left(void *arg)
{
    struct leasing *leasing = arg;
    if (leasing->wait)
        app_lease_leave(leasing->wait);
}

HANDLER(lease_handle)
{
    struct job_errors errors;
    struct leasing *leasing = NEW(struct leasing);
    const struct lease_request *request = &leasing->request;
    leasing->exchange = exchange;
    exchange_keep(exchange, leasing, free_leasing);
    enum status status =
        lease_request_parse(http_request_body(exchange->request), &leasing->request, &errors);
    if (status != STATUS_OK) {
        problem_answer_unparsed(exchange, status, "request", &errors);
        return;
    }
    if (!idempotency_begin(exchange, exchange->topic, http_request_body(exchange->request), SLICE("")))
        return;
    if (request->wait_ms > 0 && !http_request_linger(exchange->request, on_left, leasing)) {
        exchange_refuse(exchange, 503,
                        "Too many requests wait for jobs (--max-waiting-leases); nothing was leased.");
        return;
    }
    const struct app_lease lease = {
        .caller = &exchange->caller,
        .topic = exchange->topic,
        .only = request->only,
        .max = (size_t)request->max,
        .lease_ms = request->lease_ms,
        .wait_ms = request->wait_ms,
        .once = buffer_slice(&exchange->once),
    };
    struct app_lease_wait *wait = app_lease(app_of(exchange), &lease, on_leased, leasing);
    if (wait) /* if wait is NULL, the answer has already freed leasing */
        leasing->wait = wait;
}

/* ---- the end of leases: a request has one lease, or an array of leases ---- */

enum { RESULTS_MAX = 1024 * 1024 };

static const struct problem_words words = {"request", "Repeating the same request is safe."};

struct lease_ends;

/* One lease of the request. */
struct lease_item {
    struct lease_ends *of;
    struct lease_end_text text;
    struct buffer id;
    bool is_open; /* text and id are in use */
    unsigned status;
    struct buffer members; /* members of the answer for this lease */
};

/* A request that ends leases. */
struct lease_ends {
    struct exchange *exchange;
    enum lease_end_kind kind;
    bool is_many;
    size_t pending; /* number of items without a result */
    size_t count;
    struct lease_item items[];
};

static void free_ends(void *arg)
{
    struct lease_ends *ends = arg;
    for (size_t i = 0; i < ends->count; i++) {
        if (ends->items[i].is_open)
            lease_end_fini(&ends->items[i].text);
        buffer_fini(&ends->items[i].id);
        buffer_fini(&ends->items[i].members);
    }
    free(ends);
}

/* ---- the answer to the end of leases ---- */

#define USED_TOO_OFTEN "The token is used more often than once a second; nothing changed."
#define NEEDS_TOKEN                                                                                          \
    "The request needs a token of the server (\"Authorization: Bearer ...\"), or the Duepost-Token of an "   \
    "attempt at this job; nothing changed."

/* Answers a request without a token of the server that may not end its only lease. */
static void refuse_guest(struct exchange *exchange, unsigned status)
{
    static const struct http_header challenge = {SLICE_INIT("WWW-Authenticate"),
                                                 SLICE_INIT("Bearer realm=\"duepost\"")};
    if (status == 401)
        exchange_refuse_with(exchange, status, &challenge, "%s", NEEDS_TOKEN);
    else
        exchange_refuse_with(exchange, status, &exchange_retry_after, "%s", USED_TOO_OFTEN);
}

/* Counts one item as ended, and answers when all items have ended. */
static void answer_if_ended(struct lease_ends *ends)
{
    if (--ends->pending > 0)
        return;
    struct buffer *body = exchange_scratch(ends->exchange);
    const struct lease_item *only = &ends->items[0];
    if (ends->is_many) {
        struct json_writer json = json_writer_to(body);
        json_put_object(&json);
        json_add_array(&json, "results");
        for (size_t i = 0; i < ends->count; i++) {
            json_put_object(&json);
            json_add_number(&json, "status", ends->items[i].status);
            json_put_raw(&json, buffer_slice(&ends->items[i].members));
            json_end_object(&json);
        }
        json_end_array(&json);
        json_end_object(&json);
        exchange_answer(ends->exchange, 207, NULL, 0, buffer_slice(body));
    } else if (only->status == 401 || only->status == 429) {
        refuse_guest(ends->exchange, only->status);
    } else if (only->status != 200) {
        problem_answer_members(ends->exchange, only->status, buffer_slice(&only->members),
                               &(struct app_verdict){.end = STATUS_OK});
    } else {
        buffer_append_byte(body, '{');
        buffer_append(body, buffer_slice(&only->members));
        buffer_append_byte(body, '}');
        exchange_answer(ends->exchange, 200, NULL, 0, buffer_slice(body));
    }
}

static void end_item(struct lease_item *item, unsigned status)
{
    item->status = status;
    answer_if_ended(item->of);
}

static void add_names(struct json_writer *json, const struct lease_item *item)
{
    json_add_text(json, "jobId", item->text.job_id);
    json_add_text(json, "topic", item->of->exchange->topic);
}

/* Adds what became of the job. */
static void add_end(struct json_writer *json, enum lease_end_kind kind, const struct lease_ended *ended)
{
    json_add_text(json, "state", slice_of(job_state_word(ended->state)));
    if (kind == LEASE_END_EXTEND)
        json_add_time(json, "leaseUntil", ended->at_ms);
    if (kind == LEASE_END_RETRY && ended->state == JOB_STATE_DELAYED)
        json_add_time(json, "dueAt", ended->at_ms);
    if (ended->reason.size)
        json_add_text(json, "reason", ended->reason);
}

static void write_not_held(struct lease_item *item, const struct lease_ended *ended)
{
    problem_write(&item->members, "The token does not hold the lease of this job%s.",
                  ended->was_replaced ? ": a new job has replaced it"
                  : ended->has_state  ? ""
                                      : ": there is no such job");
    struct json_writer json = json_writer_behind(&item->members);
    if (ended->has_state)
        json_add_text(&json, "state", slice_of(job_state_word(ended->state)));
}

static void on_ended(void *arg, const struct app_verdict *verdict, const struct lease_ended *ended)
{
    struct lease_item *item = arg;
    unsigned status;
    if (verdict->end == STATUS_OK) {
        struct json_writer json = json_writer_to(&item->members);
        add_names(&json, item);
        add_end(&json, item->of->kind, ended);
        end_item(item, 200);
        return;
    }
    if (item->of->is_many) {
        struct json_writer json = json_writer_to(&item->members);
        add_names(&json, item);
        json_put(&json);
    }
    if (verdict->end == STATUS_NOT_HELD) {
        write_not_held(item, ended);
        status = 409;
    } else if (verdict->end == STATUS_UNREADABLE || verdict->end == STATUS_LACKING) {
        problem_write(&item->members, "The job, or the settings of its topic, %s; nothing changed.",
                      verdict->end == STATUS_LACKING
                          ? "need a later version of duepost, or an encryption key that this process lacks"
                          : "cannot be read in Redis");
        status = 409;
    } else {
        status = problem_write_verdict(&item->members, item->of->exchange, verdict, &words);
        if (verdict->end == STATUS_UNDURABLE) {
            struct json_writer json = json_writer_behind(&item->members);
            add_end(&json, item->of->kind, ended);
        }
    }
    end_item(item, status);
}

/* ---- the request that ends leases ---- */

/* Checks the right of a request without a token of the server. Returns false after ending the item. */
static bool is_guest_admitted(struct lease_item *item, const struct lease_end *end)
{
    enum app_lease_right right = app_lease_admit(app_of(item->of->exchange), end);
    if (right == APP_LEASE_MAY_END)
        return true;
    if (item->of->is_many) {
        struct json_writer json = json_writer_to(&item->members);
        add_names(&json, item);
        json_put(&json);
    }
    problem_write(&item->members, "%s", right == APP_LEASE_TOO_OFTEN ? USED_TOO_OFTEN : NEEDS_TOKEN);
    end_item(item, right == APP_LEASE_TOO_OFTEN ? 429 : 401);
    return false;
}

static void begin_item(struct lease_item *item, struct slice text)
{
    struct exchange *exchange = item->of->exchange;
    struct job_errors errors;
    enum status status = lease_end_parse(item->of->kind, text, &item->text, &errors);
    if (status != STATUS_OK) {
        struct app_verdict verdict = {.end = status, .errors = &errors};
        end_item(item, problem_write_verdict(&item->members, item->of->exchange, &verdict, &words));
        return;
    }
    item->is_open = true;
    buffer_printf(&item->id, "%.*s/", SLICE_ARG(exchange->topic));
    buffer_append(&item->id, item->text.job_id);
    const struct lease_end end = {
        .kind = item->of->kind,
        .id = buffer_slice(&item->id),
        .token = item->text.token,
        .error = item->text.error,
        .has_delay = item->text.has_delay,
        .delay_ms = item->text.delay_ms,
        .lease_ms = item->text.lease_ms,
        .progress = item->text.progress,
        .result = item->text.result,
    };
    if (exchange_is_guest(exchange) && !is_guest_admitted(item, &end))
        return;
    app_lease_end(app_of(exchange), &exchange->caller, &end, on_ended, item);
}

static void handle(struct exchange *exchange, enum lease_end_kind kind)
{
    struct slice body = http_request_body(exchange->request);
    struct lease_end_items items = {.items = {body}, .count = 1};
    struct job_errors errors;
    bool is_many = lease_ends_are_many(body);
    enum status status = is_many ? lease_ends_cut(body, &items, &errors) : STATUS_OK;
    if (status != STATUS_OK) {
        problem_answer_unparsed(exchange, status, "request", &errors);
        return;
    }
    access_charge(exchange, items.count);
    struct lease_ends *ends = memory_new(sizeof *ends + items.count * sizeof *ends->items);
    ends->exchange = exchange;
    ends->kind = kind;
    ends->is_many = is_many;
    ends->count = items.count;
    exchange_keep(exchange, ends, free_ends);
    for (size_t i = 0; i < items.count; i++) {
        ends->items[i].of = ends;
        buffer_init(&ends->items[i].id, JOB_KEY_MAX);
        buffer_init(&ends->items[i].members, RESULTS_MAX);
    }
    ends->pending = items.count + 1; /* the extra 1: no answer is sent before this loop has ended */
    for (size_t i = 0; i < items.count; i++)
        begin_item(&ends->items[i], items.items[i]);
    answer_if_ended(ends);
}

HANDLER(complete_handle)
{
    handle(exchange, LEASE_END_COMPLETE);
}

HANDLER(retry_handle)
{
    handle(exchange, LEASE_END_RETRY);
}

HANDLER(bury_handle)
{
    handle(exchange, LEASE_END_BURY);
}

HANDLER(extend_handle)
{
    handle(exchange, LEASE_END_EXTEND);
}

HANDLER(release_handle)
{
    handle(exchange, LEASE_END_RELEASE);
}
