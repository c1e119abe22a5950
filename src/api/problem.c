#include "api/problem.h"

#include <stdarg.h>
#include <stdio.h>

#include "job/timestamp.h"

enum { DETAIL_MAX = 768, PROBLEM_MAX = 1024 };

const struct http_header problem_retry_after = {{"Retry-After", 11}, {"1", 1}};

static const char *title_of(unsigned status)
{
    switch (status) {
    case 400:
        return "Bad Request";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 409:
        return "Conflict";
    case 413:
        return "Content Too Large";
    case 415:
        return "Unsupported Media Type";
    case 422:
        return "Unprocessable Content";
    case 507:
        return "Insufficient Storage";
    default:
        return "Service Unavailable";
    }
}

void problem_write_head(struct buffer *body, unsigned status, struct slice detail)
{
    buffer_printf(body,
                  "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u,\"detail\":", title_of(status),
                  status);
    buffer_append_json(body, detail);
}

void problem_answer(struct exchange *exchange, unsigned status, const char *format, ...)
{
    struct buffer *body = exchange_scratch(exchange);
    char detail[DETAIL_MAX];
    va_list values;
    va_start(values, format);
    vsnprintf(detail, sizeof detail, format, values);
    va_end(values);
    problem_write_head(body, status, slice_of(detail));
    buffer_append_byte(body, '}');
    exchange_answer_json(exchange, status, &problem_retry_after, status == 503, buffer_slice(body));
}

void problem_answer_errors(struct exchange *exchange, const char *what, const struct job_errors *errors)
{
    struct buffer *body = exchange_scratch(exchange);
    char detail[DETAIL_MAX];
    snprintf(detail, sizeof detail, "The %s has %zu error%s.", what, errors->count,
             errors->count == 1 ? "" : "s");
    problem_write_head(body, 400, slice_of(detail));
    buffer_append(body, SLICE(",\"errors\":["));
    for (size_t i = 0; i < errors->count; i++) {
        buffer_append(body, i ? SLICE(",{\"field\":") : SLICE("{\"field\":"));
        buffer_append_json(body, slice_of(errors->items[i].field));
        buffer_append(body, SLICE(",\"detail\":"));
        buffer_append_json(body, slice_of(errors->items[i].detail));
        buffer_append_byte(body, '}');
    }
    buffer_append(body, SLICE("]}"));
    exchange_answer_json(exchange, 400, NULL, 0, buffer_slice(body));
}

void problem_answer_allow(struct exchange *exchange, struct slice allow)
{
    struct buffer *body = exchange_scratch(exchange);
    struct http_header header = {SLICE("Allow"), allow};
    char detail[DETAIL_MAX];
    snprintf(detail, sizeof detail, "This path knows %.*s.", SLICE_ARG(allow));
    problem_write_head(body, 405, slice_of(detail));
    buffer_append_byte(body, '}');
    exchange_answer_json(exchange, 405, &header, 1, buffer_slice(body));
}

void problem_answer_conflict(struct exchange *exchange, const char *detail, const struct store_job *job)
{
    struct buffer *body = exchange_scratch(exchange);
    problem_write_head(body, 409, slice_of(detail));
    buffer_printf(body, ",\"state\":\"%s\"", job_state_word(job->state));
    if (job->state == JOB_STATE_DELAYED || job->state == JOB_STATE_READY) {
        char due[TIMESTAMP_SIZE];
        timestamp_format(job->at_ms, due);
        buffer_printf(body, ",\"dueAt\":\"%s\"", due);
    }
    buffer_append_byte(body, '}');
    exchange_answer_json(exchange, 409, NULL, 0, buffer_slice(body));
}

/* What the request was about: one shard where it names a topic. */
static bool is_ready(const struct exchange *exchange, struct problem *why)
{
    const struct store *store = exchange->api->options.store;
    return exchange->key.size ? store_is_ready_for(store, exchange->key, why) : store_is_ready(store, why);
}

void problem_answer_status(struct exchange *exchange, enum status status, const char *consequence)
{
    struct problem why = {.text = ""};
    int64_t max_jobs = exchange->api->options.max_jobs;
    switch (status) {
    case STATUS_NOT_FOUND:
        problem_answer(exchange, 404, "There is no such job.");
        break;
    case STATUS_FULL:
        if (max_jobs > 0)
            problem_answer(exchange, 507,
                           "There are %lld jobs already (--max-jobs), or Redis has no memory left.",
                           (long long)max_jobs);
        else
            problem_answer(exchange, 507, "Redis has no memory left for more jobs.");
        break;
    case STATUS_UNKNOWN:
        problem_answer(exchange, 503, "The outcome is unknown: Redis did not answer. %s", consequence);
        break;
    default:
        if (is_ready(exchange, &why))
            problem_set(&why, "Redis does not serve at the moment");
        problem_answer(exchange, 503, "%s; nothing changed.", why.text);
        break;
    }
}

bool problem_answer_unready(struct exchange *exchange)
{
    struct problem why;
    if (is_ready(exchange, &why))
        return false;
    problem_answer(exchange, 503, "%s; nothing changed.", why.text);
    return true;
}

void problem_answer_request(struct http_request *request, unsigned status, const char *detail)
{
    struct buffer body;
    buffer_init(&body, PROBLEM_MAX);
    problem_write_head(&body, status, slice_of(detail));
    buffer_append_byte(&body, '}');
    struct http_answer answer = {
        .status = status, .content_type = SLICE("application/problem+json"), .body = buffer_slice(&body)};
    http_answer(request, &answer);
    buffer_fini(&body);
}
