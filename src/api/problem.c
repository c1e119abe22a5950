#include "api/problem.h"

#include <stdarg.h>
#include <stdio.h>

#include "api/view.h"
#include "job/job_id.h"

enum { DETAIL_MAX = 768 };

static const char *title_of(unsigned status)
{
    switch (status) {
    case 400:
        return "Bad Request";
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 409:
        return "Conflict";
    case 412:
        return "Precondition Failed";
    case 413:
        return "Content Too Large";
    case 415:
        return "Unsupported Media Type";
    case 422:
        return "Unprocessable Content";
    case 429:
        return "Too Many Requests";
    case 507:
        return "Insufficient Storage";
    default:
        return "Service Unavailable";
    }
}

/* ---- what is said ---- */

static void write_opening(struct buffer *body, unsigned status)
{
    buffer_printf(body, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u,", title_of(status),
                  status);
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
    buffer_append(members, SLICE("\"detail\":"));
    buffer_append_json(members, slice_of(detail));
}

void problem_write_errors(struct buffer *members, const char *what, const struct job_errors *errors)
{
    problem_write(members, "The %s has %zu error%s.", what, errors->count, errors->count == 1 ? "" : "s");
    buffer_append(members, SLICE(",\"errors\":["));
    for (size_t i = 0; i < errors->count; i++) {
        buffer_append(members, i ? SLICE(",{\"field\":") : SLICE("{\"field\":"));
        buffer_append_json(members, slice_of(errors->items[i].field));
        buffer_append(members, SLICE(",\"detail\":"));
        buffer_append_json(members, slice_of(errors->items[i].detail));
        buffer_append_byte(members, '}');
    }
    buffer_append_byte(members, ']');
}

void problem_write_conflict(struct buffer *members, const char *detail, const struct store_job *job)
{
    problem_write(members, "%s", detail);
    view_write_place(members, job->state, job->at_ms);
}

static void write_full(struct buffer *members, int64_t max_jobs)
{
    if (max_jobs > 0)
        problem_write(members, "There are %lld jobs already (--max-jobs), or Redis has no memory left.",
                      (long long)max_jobs);
    else
        problem_write(members, "Redis has no memory left for more jobs.");
}

/* Out of the way of all others, because the errors are large. */
static __attribute__((noinline)) void write_no_url(struct buffer *members)
{
    struct job_errors errors = {.count = 1, .items = {{"url", "is required, since the topic has none"}}};
    problem_write_errors(members, "job", &errors);
}

/* One shard where it is about one. */
static bool is_ready(const struct store *store, struct slice key, struct problem *why)
{
    return key.size ? store_is_ready_for(store, key, why) : store_is_ready(store, why);
}

unsigned problem_write_status(struct buffer *members, const struct api *api, struct slice key,
                              enum status status, const char *consequence)
{
    struct problem why = {.text = ""};
    switch (status) {
    case STATUS_NOT_FOUND:
        problem_write(
            members,
            "There is no such job. It may have been delivered or cancelled, which leaves nothing here "
            "unless its topic has a retention, or it never was there. The log has a line of each "
            "end (job_delivered, job_dead, job_cancelled).");
        return 404;
    case STATUS_NO_URL:
        write_no_url(members);
        return 400;
    case STATUS_FULL:
        write_full(members, api->options.max_jobs);
        return 507;
    case STATUS_NO_MEMORY:
        problem_write(members, "There is no memory for that; nothing changed.");
        return 503;
    case STATUS_UNKNOWN:
        problem_write(members, "The outcome is unknown: Redis did not answer. %s", consequence);
        return 503;
    default:
        if (is_ready(api->options.store, key, &why))
            problem_set(&why, "Redis does not serve at the moment");
        problem_write(members, "%s; nothing changed.", why.text);
        return 503;
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

/* ---- answers ---- */

void problem_answer_members(struct exchange *exchange, unsigned status, struct slice members)
{
    struct buffer *body = exchange_scratch(exchange);
    write_opening(body, status);
    buffer_append(body, members);
    buffer_append_byte(body, '}');
    exchange_answer(exchange, status, &exchange_retry_after, status == 503, buffer_slice(body));
}

void problem_answer_invalid(struct exchange *exchange, enum status status, const char *what,
                            const struct job_errors *errors)
{
    if (status == STATUS_INVALID)
        exchange_refuse_errors(exchange, what, errors);
    else
        problem_answer_status(exchange, status, "");
}

void problem_answer_conflict(struct exchange *exchange, const char *detail, const struct store_job *job)
{
    struct buffer *members = exchange_members(exchange);
    problem_write_conflict(members, detail, job);
    problem_answer_members(exchange, 409, buffer_slice(members));
}

void problem_answer_status(struct exchange *exchange, enum status status, const char *consequence)
{
    struct buffer *members = exchange_members(exchange);
    unsigned http_status = problem_write_status(members, api_of(exchange), exchange->key, status, consequence);
    problem_answer_members(exchange, http_status, buffer_slice(members));
}

bool problem_answer_unready(struct exchange *exchange)
{
    struct problem why;
    if (is_ready(api_of(exchange)->options.store, exchange->key, &why))
        return false;
    exchange_refuse(exchange, 503, "%s; nothing changed.", why.text);
    return true;
}

bool problem_answer_sibling(struct exchange *exchange)
{
    struct slice owner = topic_owner(exchange->topic);
    if (!topic_is_sibling(exchange->topic))
        return false;
    exchange_refuse(exchange, 403,
                    "Only the server writes to topics with ~ in their names. Jobs of this one can be read, cancelled "
                    "and run again; jobs and settings of your own go to topic %.*s.",
                    SLICE_ARG(owner));
    return true;
}
