/* cron.c - GET /cron: describes a cron expression in words, with its next times */
#include "app/cron_preview.h"

#include "api/handler.h"
#include "api/query_values.h"
#include "base/duration.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "job/schedule/recurring.h"

struct cron_query {
    struct app_cron_call call;
    struct app_cron_preview preview;
    struct job_errors errors;
    char expression[CRON_TEXT_MAX + 1];
    char text[QUERY_BYTES_MAX + 1];
};

/* ---- parameters ---- */

/* Many clients send a space as '+'. No cron expression contains '+'. */
static const char *read_expression(void *into, struct slice value)
{
    struct cron_query *query = into;
    if (value.size == 0 || value.size > CRON_TEXT_MAX)
        return "must be a cron expression of at most 255 bytes, such as 0 9 * * mon-fri";
    for (size_t i = 0; i < value.size; i++)
        query->expression[i] = value.data[i] == '+' ? ' ' : value.data[i];
    query->call.expression = slice_from(query->expression, value.size);
    return NULL;
}

static const char *read_every(void *into, struct slice value)
{
    struct cron_query *query = into;
    int64_t *every_ms = &query->call.every_ms;
    return duration_parse(value, RECURRING_EVERY_MAX_MS, every_ms) && *every_ms >= RECURRENCE_EVERY_MIN_MS
               ? NULL
               : "must be a duration from 1s to 10 years, such as 900 or 15m";
}

static const char *read_timezone(void *into, struct slice value)
{
    struct cron_query *query = into;
    query->call.timezone = value;
    return time_zone_name_is_valid(value) ? NULL : "must be the name of a time zone, such as Europe/Berlin";
}

enum { PARAMETER_EXPRESSION, PARAMETER_EVERY, PARAMETER_TIMEZONE, PARAMETER_FROM, PARAMETER_COUNT };

static const struct query_parameter parameters[PARAMETER_COUNT] = {
    [PARAMETER_EXPRESSION] = {"expression", read_expression, 0},
    [PARAMETER_EVERY] = {"every", read_every, 0},
    [PARAMETER_TIMEZONE] = {"timezone", read_timezone, 0},
    [PARAMETER_FROM] = {"from", QUERY_TIME(struct cron_query, call.from_ms)},
};

static bool is_given(const struct query_reading *reading, int parameter)
{
    return reading->given >> parameter & 1;
}

/* Reads the query. Returns false after answering 400. */
static bool read_parameters(struct exchange *exchange, struct cron_query *query)
{
    struct buffer text = buffer_of(query->text, sizeof query->text);
    struct query_reading reading = {.exchange = exchange,
                                    .parameters = parameters,
                                    .count = PARAMETER_COUNT,
                                    .known = (1 << PARAMETER_COUNT) - 1};
    query->call.from_ms = app_now_ms(app_of(exchange));
    query_read(&reading, query, &text);
    bool has_every = is_given(&reading, PARAMETER_EVERY);
    if (has_every && is_given(&reading, PARAMETER_EXPRESSION))
        query_add_error(&reading, SLICE("every"), "cannot be combined with expression");
    if (!has_every && !is_given(&reading, PARAMETER_EXPRESSION))
        query_add_error(&reading, SLICE("expression"), "is required if every is absent");
    return query_end(&reading);
}

/* ---- the answer ---- */

static void answer_preview(struct exchange *exchange, const struct cron_query *query)
{
    struct slice zone = query->call.timezone;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "text", slice_of(query->preview.words));
    json_add_text(&json, "timezone", zone.size ? zone : SLICE("UTC"));
    json_add_array(&json, "next");
    for (size_t i = 0; i < query->preview.time_count; i++)
        json_put_time(&json, query->preview.times_ms[i]);
    json_end_array(&json);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(cron_handle)
{
    struct cron_query *query = NEW(struct cron_query);
    exchange_keep(exchange, query, free);
    if (!read_parameters(exchange, query))
        return;
    if (app_cron_preview(app_of(exchange), &query->call, &query->preview, &query->errors))
        answer_preview(exchange, query);
    else
        exchange_refuse_errors(exchange, "query", &query->errors);
}
