#include "api/api_private.h"

#include <stdarg.h>
#include <stdio.h>

#include "app/jobs.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "http/query.h"
#include "http/request_headers.h"

enum { DETAIL_MAX = 768 };

static const char *title_of(unsigned status)
{
    static const struct {
        unsigned status;
        const char *title;
    } table[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {507, "Insufficient Storage"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].status == status)
            return table[i].title;
    return "Service Unavailable";
}

/* ---- members ---- */

static void write_opening(struct buffer *body, unsigned status)
{
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "type", SLICE("about:blank"));
    json_add_text(&json, "title", slice_of(title_of(status)));
    json_add_number(&json, "status", status);
    json_put(&json);
}

void problem_write_head(struct buffer *body, unsigned status, struct slice detail)
{
    write_opening(body, status);
    problem_write(body, "%.*s", SLICE_ARG(detail));
}

void problem_write(struct buffer *members, const char *format, ...)
{
    char detail[DETAIL_MAX];
    va_list values;
    va_start(values, format);
    vsnprintf(detail, sizeof detail, format, values);
    va_end(values);
    struct json_writer json = json_writer_to(members);
    json_add_text(&json, "detail", slice_of(detail));
}

void problem_write_errors(struct buffer *members, const char *what, const struct job_errors *errors)
{
    problem_write(members, "The %s has %zu error%s.", what, errors->count, errors->count == 1 ? "" : "s");
    struct json_writer json = json_writer_behind(members);
    json_add_array(&json, "errors");
    struct job_error error;
    for (size_t at = 0; job_errors_take(errors, &at, &error);) {
        json_put_object(&json);
        json_add_text(&json, "field", slice_of(error.field));
        json_add_text(&json, "detail", slice_of(error.detail));
        json_end_object(&json);
    }
    json_end_array(&json);
}

const struct problem_words problem_of_read = {"request", "The request changes nothing; send it again."};

/* Why the state of a job does not permit a request, by verdict. These answers have the status 409 and the
 * job's state. */
static const char *const conflicts[] = {
    [STATUS_EXISTS] = "Another job has this id.",
    [STATUS_LEASED] = "The job is being delivered.",
    [STATUS_EXPIRED] = "The job has expired: it would be dead again at once.",
    [STATUS_ID_TAKEN] = "The job is dead, and meanwhile another job has its id.",
    [STATUS_UNREADABLE] =
        "The job's record in Redis cannot be read. PUT replaces the job, DELETE removes it.",
    [STATUS_LACKING] = "The job needs a later version of duepost, or an encryption key that this process "
                       "lacks: send the request to a process that has it.",
    [STATUS_ENDED] =
        "The job was delivered or cancelled. To send it again, repeat the request with ?resend=true.",
    [STATUS_NO_BODY] =
        "The job cannot be run again, because the history does not have its body (--history-bodies).",
};

static bool is_conflict(enum status end)
{
    return end < sizeof conflicts / sizeof *conflicts && conflicts[end];
}

static unsigned write_conflict(struct buffer *members, const struct app_verdict *verdict)
{
    problem_write(members, "%s", conflicts[verdict->end]);
    struct json_writer json = json_writer_behind(members);
    view_add_place(&json, verdict->job.state, verdict->job.at_ms);
    return 409;
}

static unsigned write_full(struct buffer *members, int64_t max_jobs)
{
    if (max_jobs > 0)
        problem_write(members, "There are %lld jobs already (--max-jobs), or Redis has no memory left.",
                      (long long)max_jobs);
    else
        problem_write(members, "Redis has no memory left for more jobs.");
    return 507;
}

/* Returns the time after which a refused request may be repeated, in seconds. */
static int64_t wait_s(const struct topic_quota *quota)
{
    return (quota->wait_ms + 999) / 1000;
}

/* The advice names the owner topic, because only its settings can be changed. */
static unsigned write_quota(struct buffer *members, const struct topic_quota *quota)
{
    struct slice owner = topic_owner(quota->topic);
    if (quota->has_key)
        problem_write(
            members,
            "Key %.*s of topic %.*s has %lld jobs that wait or are in flight, and its quota maxPending is "
            "%lld. Wait until some of them have ended, cancel some, or raise the quota: PATCH "
            "/topics/%.*s/keys/<key>, or perKey of the topic.",
            SLICE_ARG(quota->key), SLICE_ARG(quota->topic), (long long)quota->pending, (long long)quota->max,
            SLICE_ARG(owner));
    else
        problem_write(members,
                      "Topic %.*s has %lld jobs that wait or are in flight, and its quota maxPending is "
                      "%lld. Wait until "
                      "some of them have ended, cancel some, or raise the quota: PATCH /topics/%.*s.",
                      SLICE_ARG(quota->topic), (long long)quota->pending, (long long)quota->max,
                      SLICE_ARG(owner));
    struct json_writer json = json_writer_behind(members);
    json_add_text(&json, "topic", quota->topic);
    if (quota->has_key)
        json_add_text(&json, "key", quota->key);
    json_add_number(&json, "maxPending", quota->max);
    json_add_number(&json, "pending", quota->pending);
    json_add_number(&json, "retryAfter", wait_s(quota));
    return 429;
}

static unsigned write_forbidden(struct buffer *members, const struct exchange *exchange,
                                const struct app_verdict *verdict)
{
    if (verdict->end == STATUS_NOT_REACHED && verdict->is_of_limit)
        problem_write(
            members,
            "Token %s has access to some topics only: only a token for all topics can change the settings "
            "limit and egressProxy, which concern others, too.",
            exchange->caller.name);
    else if (verdict->end == STATUS_NOT_REACHED && verdict->group.size)
        problem_write(members, "Token %s has no access to group %.*s.", exchange->caller.name,
                      SLICE_ARG(verdict->group));
    else if (verdict->end == STATUS_NOT_REACHED)
        problem_write(members, "Token %s has no access to topic %.*s.", exchange->caller.name,
                      SLICE_ARG(verdict->topic));
    else
        problem_write(
            members,
            "Only the server creates jobs in topics with ~ in their names. You can read, cancel and run the "
            "jobs of such a topic. Schedule your own jobs in topic %.*s, and change the settings of that "
            "topic.",
            SLICE_ARG(verdict->topic));
    return 403;
}

static unsigned write_unavailable(struct buffer *members, const struct app_verdict *verdict,
                                  const struct problem_words *words)
{
    if (verdict->end == STATUS_CONTENDED)
        problem_write(members,
                      "Other requests keep changing the %s, so this request has changed nothing. Try again.",
                      words->what);
    else if (verdict->end == STATUS_NO_MEMORY)
        problem_write(members, "There is not enough memory for this request; nothing changed.");
    else if (verdict->end == STATUS_UNKNOWN)
        problem_write(members, "The outcome is unknown: Redis did not answer. %s", words->consequence);
    else if (verdict->end == STATUS_UNDURABLE)
        problem_write(
            members,
            "The request is carried out, but not durable yet: too few replicas of Redis have confirmed "
            "it (--durability). Only a failover before they do could undo it. %s",
            words->consequence);
    else if (verdict->end == STATUS_HISTORY_UNAVAILABLE)
        problem_write(members,
                      "The history cannot be read now: %.*s. Try again later. Deliveries do not depend on "
                      "the history.",
                      SLICE_ARG(verdict->why));
    else
        problem_write(members, "%.*s; nothing changed.", SLICE_ARG(verdict->why));
    return 503;
}

static unsigned write_not_found(struct buffer *members, const struct exchange *exchange)
{
    if (app_of(exchange)->history)
        problem_write(members,
                      "There is no such job, in Redis or in the history. It never existed, or it was removed "
                      "from the history: by its age (--history-max-age), by the size of the history "
                      "(--history-max-bytes), or by request.");
    else
        problem_write(members,
                      "There is no such job. It never existed, or it was delivered or cancelled: such a job "
                      "is kept only if its topic has a retention or the server has a history (--history). "
                      "The log has a line for each end (job_delivered, job_dead, job_cancelled).");
    return 404;
}

static unsigned write_not_pull(struct buffer *members, struct slice topic)
{
    problem_write(
        members,
        "Jobs of this topic are POSTed. PATCH /topics/%.*s with {\"delivery\":\"pull\"} lets workers "
        "lease them.",
        SLICE_ARG(topic));
    return 409;
}

unsigned problem_write_verdict(struct buffer *members, const struct exchange *exchange,
                               const struct app_verdict *verdict, const struct problem_words *words)
{
    if (is_conflict(verdict->end))
        return write_conflict(members, verdict);
    switch (verdict->end) {
    case STATUS_INVALID:
        problem_write_errors(members, words->what, verdict->errors);
        return 400;
    case STATUS_NOT_REACHED:
    case STATUS_SIBLING:
        return write_forbidden(members, exchange, verdict);
    case STATUS_NOT_FOUND:
        return write_not_found(members, exchange);
    case STATUS_NO_HISTORY:
        problem_write(members, "This server keeps no history. The option --history switches it on.");
        return 404;
    case STATUS_NOT_PULL:
        return write_not_pull(members, exchange->topic);
    case STATUS_REUSED:
        problem_write(members, "This Idempotency-Key was used for another request.");
        return 422;
    case STATUS_FULL:
        return write_full(members, app_of(exchange)->max_jobs);
    case STATUS_QUOTA:
        return write_quota(members, &verdict->quota);
    default:
        return write_unavailable(members, verdict, words);
    }
}

void problem_write_error(struct buffer *body, const struct exchange_error *error)
{
    write_opening(body, error->status);
    if (error->errors)
        problem_write_errors(body, error->what, error->errors);
    else
        problem_write(body, "%.*s", SLICE_ARG(error->detail));
    buffer_append_byte(body, '}');
}

/* ---- errors as answers ---- */

void problem_answer_members(struct exchange *exchange, unsigned status, struct slice members,
                            const struct app_verdict *verdict)
{
    char seconds[24];
    struct http_header header = exchange_retry_after;
    bool is_quota = verdict->end == STATUS_QUOTA;
    snprintf(seconds, sizeof seconds, "%lld", (long long)wait_s(&verdict->quota));
    if (is_quota)
        header.value = slice_of(seconds);
    struct buffer *body = exchange_scratch(exchange);
    write_opening(body, status);
    buffer_append(body, members);
    buffer_append_byte(body, '}');
    exchange_answer(exchange, status, &header, status == 503 || is_quota, buffer_slice(body));
}

void problem_answer_verdict(struct exchange *exchange, const struct app_verdict *verdict,
                            const struct problem_words *words)
{
    struct buffer *members = exchange_members(exchange);
    if (verdict->end == STATUS_STALE) {
        etag_refuse(exchange);
        return;
    }
    unsigned status = problem_write_verdict(members, exchange, verdict, words);
    problem_answer_members(exchange, status, buffer_slice(members), verdict);
}

void problem_answer_unparsed(struct exchange *exchange, enum status status, const char *what,
                             const struct job_errors *errors)
{
    struct problem_words words = {what, ""};
    struct app_verdict verdict = {.end = status == STATUS_INVALID ? status : STATUS_NO_MEMORY,
                                  .errors = errors};
    problem_answer_verdict(exchange, &verdict, &words);
}

/* ---- pages as answers ---- */

enum { PAGE_MAX = 64 * 1024 * 1024 };

struct page *page_new(struct exchange *exchange, const char *name)
{
    struct page *page = NEW(struct page);
    page->exchange = exchange;
    buffer_init_fallible(&page->body, PAGE_MAX);
    page->json = json_writer_to(&page->body);
    json_put_object(&page->json);
    json_add_array(&page->json, name);
    return page;
}

void page_add_end(struct json_writer *json, const struct app_page *page)
{
    if (page->is_of_history)
        json_add_text(json, "source", SLICE("history"));
    if (page->is_partial)
        json_add_bool(json, "partial", true);
    if (page->cursor.size)
        query_add_cursor(json, page->cursor);
}

void page_end(void *arg, const struct app_verdict *verdict)
{
    struct page *page = arg;
    struct exchange *exchange = page->exchange;
    json_end_array(&page->json);
    page_add_end(&page->json, &verdict->page);
    json_end_object(&page->json);
    if (verdict->end != STATUS_OK)
        problem_answer_verdict(exchange, verdict, &problem_of_read);
    else if (page->body.failed)
        exchange_refuse(exchange, 503, "There is no memory for a page of this size; ask for fewer items.");
    else
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&page->body));
    buffer_fini(&page->body);
    free(page);
}

void page_end_scratch(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_OK)
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&exchange->site->scratch));
    else
        problem_answer_verdict(exchange, verdict, &problem_of_read);
}

/* ---- the answer for one job of POST /jobs; a request has one job or many ---- */

enum { CONSEQUENCE_MAX = 64 + JOB_KEY_MAX + 64 };

void submission_write_location(struct buffer *location, const struct exchange *exchange, struct slice id,
                               struct slice group)
{
    struct slice path, query, topic, job_id;
    slice_cut(http_request_target(exchange->request), '?', &path, &query);
    slice_cut(id, '/', &topic, &job_id);
    for (size_t i = 1; i < path.size; i++)
        if (path.data[i] == '/')
            buffer_append(location, SLICE("../"));
    buffer_append(location, SLICE("jobs/"));
    buffer_append(location, topic);
    buffer_append_byte(location, '/');
    percent_append(location, job_id);
    if (group.size)
        buffer_append(location, SLICE("?group="));
    buffer_append(location, group);
}

unsigned submission_write(struct buffer *members, const struct exchange *exchange,
                          const struct app_submission *submission, const struct app_verdict *verdict)
{
    char consequence[CONSEQUENCE_MAX];
    bool is_new = verdict->end == STATUS_OK || verdict->end == STATUS_REPEATED;
    bool is_throttled = verdict->end == STATUS_THROTTLED, is_debounced = verdict->end == STATUS_DEBOUNCED;
    if (is_new || is_throttled || is_debounced || verdict->end == STATUS_SAME) {
        struct json_writer json = json_writer_to(members);
        view_add_placed(&json, &verdict->job);
        if (is_throttled || is_debounced)
            json_add_bool(&json, is_throttled ? "throttled" : "debounced", true);
        return is_new ? 201 : 200;
    }
    if (submission->once.size)
        snprintf(consequence, CONSEQUENCE_MAX, "Repeating it with the same Idempotency-Key is safe.");
    else if (submission->is_id_new)
        snprintf(consequence, CONSEQUENCE_MAX,
                 "Repeating it without a jobId may schedule a second job; this one is %.*s.",
                 SLICE_ARG(submission->id));
    else
        snprintf(consequence, CONSEQUENCE_MAX, "Repeating the same request is safe: it schedules %.*s once.",
                 SLICE_ARG(submission->id));
    return problem_write_verdict(members, exchange, verdict, &(struct problem_words){"job", consequence});
}
