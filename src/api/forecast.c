/* forecast.c - GET /forecast: what becomes due, what will begin, and which limit is the narrow one */
#include "api/api_private.h"
#include "app/forecast.h"
#include "base/duration.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "http/access.h"

enum { DURATION_MAX_MS = 86400 * 1000 };

struct forecast_query {
    struct app_forecast_call call;
    char text[QUERY_BYTES_MAX + 1]; /* the decoded query; the topic points into it */
};

/* ---- parameters ---- */

static const char *read_step(void *into, struct slice value)
{
    int64_t *step_ms = into;
    return duration_parse(value, APP_FORECAST_STEP_MAX_MS, step_ms) && *step_ms >= APP_FORECAST_STEP_MIN_MS &&
                   *step_ms % 1000 == 0
               ? NULL
               : "must be a duration of whole seconds from 1s to 7d, such as 300 or 5m";
}

static const char *read_duration(void *into, struct slice value)
{
    struct forecast_query *query = into;
    query->call.has_duration = true;
    return duration_parse(value, DURATION_MAX_MS, &query->call.duration_ms)
               ? NULL
               : "must be the duration of an attempt, at most a day, such as 0.2 or 2s";
}

static const struct query_parameter parameters[] = {
    {"from", QUERY_TIME(struct forecast_query, call.from_ms)},
    {"to", QUERY_TIME(struct forecast_query, call.to_ms)},
    {"step", QUERY_FIELD(read_step, int64_t, struct forecast_query, call.step_ms)},
    {"topic", QUERY_TOPIC(struct forecast_query, call.topic)},
    {"duration", read_duration, 0},
};

enum { PARAMETER_COUNT = sizeof parameters / sizeof *parameters };

/* ---- the answer ---- */

static const char *const cause_words[] = {
    [FORECAST_PAUSED] = "paused",         [FORECAST_WINDOWS] = "windows", [FORECAST_ORDER] = "order",
    [FORECAST_IN_FLIGHT] = "maxInFlight", [FORECAST_RATE] = "rate",
};

static void add_numbers(struct json_writer *json, const char *name, const int64_t *numbers, size_t count)
{
    json_add_array(json, name);
    for (size_t i = 0; i < count; i++)
        json_put_number(json, numbers[i]);
    json_end_array(json);
}

static void add_time_of(struct json_writer *json, const char *name, int64_t time_ms)
{
    if (time_ms > 0)
        json_add_time(json, name, time_ms);
}

/* Returns the end of a cell. */
static int64_t cell_end(const struct app_forecast *forecast, size_t cell)
{
    int64_t origin_ms = forecast->now_ms - forecast->now_ms % forecast->cell_ms;
    return origin_ms + (int64_t)(cell + 1) * forecast->cell_ms;
}

static void put_line(struct json_writer *json, const struct app_forecast *forecast,
                     const struct forecast_line *line)
{
    const struct forecast_summary *summary = &line->summary;
    size_t steps = forecast->steps.count;
    json_put_object(json);
    if (line->name.size)
        json_add_text(json, line->is_limit ? "limit" : "topic", line->name);
    if (line->limit.size)
        json_add_text(json, "limit", line->limit);
    json_add_number(json, "due", line->due);
    if (summary->cause != FORECAST_NONE)
        json_add_text(json, "by", slice_of(cause_words[summary->cause]));
    json_add_number(json, "peakBacklog", summary->peak_backlog);
    if (summary->peak_backlog)
        json_add_time(json, "peakAt", cell_end(forecast, summary->peak_cell));
    json_add_number(json, "lateMs", summary->peak_late_ms);
    json_add_number(json, "left", summary->left);
    if (summary->peak_backlog && summary->left == 0)
        json_add_time(json, "drainedAt", cell_end(forecast, summary->drained_cell));
    json_add_object(json, "series");
    add_numbers(json, "due", line->due_by_step, steps);
    add_numbers(json, "begun", line->begun, steps);
    add_numbers(json, "backlog", line->backlog, steps);
    json_end_object(json);
    json_end_object(json);
}

static void add_lines(struct json_writer *json, const struct app_forecast *forecast, const char *name,
                      const struct forecast_line *lines, size_t count)
{
    json_add_array(json, name);
    for (size_t i = 0; i < count; i++)
        put_line(json, forecast, &lines[i]);
    json_end_array(json);
}

static void add_series(struct json_writer *json, const struct app_forecast *forecast)
{
    const struct forecast_result *result = forecast->result;
    size_t steps = forecast->steps.count;
    json_add_object(json, "series");
    add_numbers(json, "due", result->due, steps);
    add_numbers(json, "begun", result->begun, steps);
    add_numbers(json, "backlog", result->backlog, steps);
    add_numbers(json, "lateMs", result->late_ms, steps);
    add_numbers(json, "paused", result->paused, steps);
    json_end_object(json);
}

static void put_forecast(struct json_writer *json, const struct app_forecast *forecast)
{
    const struct forecast_result *result = forecast->result;
    const struct forecast_steps *steps = &forecast->steps;
    json_put_object(json);
    json_add_time(json, "now", forecast->now_ms);
    json_add_time(json, "from", steps->from_ms);
    json_add_time(json, "to", steps->from_ms + (int64_t)steps->count * steps->step_ms);
    json_add_seconds(json, "step", steps->step_ms);
    json_add_seconds(json, "resolution", forecast->cell_ms);
    json_add_object(json, "jobs");
    json_add_number(json, "overdue", result->overdue);
    json_add_number(json, "waiting", forecast->waiting);
    json_add_number(json, "scheduled", forecast->scheduled);
    json_add_number(json, "topics", (int64_t)result->topics);
    json_add_number(json, "schedules", forecast->schedules);
    json_end_object(json);
    json_add_object(json, "attempts");
    json_add_number(json, "measured", (int64_t)forecast->measured);
    json_add_number(json, "durationMs", (int64_t)(forecast->duration_ms + 0.5));
    json_add_number(json, "maxInFlight", forecast->max_in_flight);
    json_end_object(json);
    json_add_object(json, "backlog");
    json_add_number(json, "peak", result->peak_backlog);
    add_time_of(json, "peakAt", result->peak_ms);
    json_add_number(json, "lateMs", result->peak_late_ms);
    json_add_number(json, "left", result->left);
    add_time_of(json, "drainedAt", result->drained_ms);
    json_end_object(json);
    add_series(json, forecast);
    add_lines(json, forecast, "narrow", result->narrow, result->narrow_count);
    add_lines(json, forecast, "topics", result->most, result->most_count);
    json_add_array(json, "schedules");
    for (size_t i = 0; i < forecast->most_count; i++) {
        struct slice topic, schedule_id;
        slice_cut(slice_of(forecast->most[i].id), '/', &topic, &schedule_id);
        json_put_object(json);
        json_add_text(json, "topic", topic);
        json_add_text(json, "scheduleId", schedule_id);
        json_add_number(json, "jobs", forecast->most[i].jobs);
        json_end_object(json);
    }
    json_end_array(json);
    if (result->is_partial)
        json_add_bool(json, "partial", true);
    json_end_object(json);
}

static void on_forecast(void *arg, const struct app_verdict *verdict, const struct app_forecast *forecast)
{
    static const struct problem_words words = {"query", ""};
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &words);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    put_forecast(&json, forecast);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(forecast_handle)
{
    struct forecast_query *query = NEW(struct forecast_query);
    struct buffer text = buffer_of(query->text, sizeof query->text);
    struct query_reading reading = {.exchange = exchange,
                                    .parameters = parameters,
                                    .count = PARAMETER_COUNT,
                                    .known = (1 << PARAMETER_COUNT) - 1};
    exchange_keep(exchange, query, free);
    query_read(&reading, query, &text);
    if (query_end(&reading) &&
        (query->call.topic.size == 0 || access_admit_topic(exchange, query->call.topic)))
        app_forecast(app_of(exchange), &exchange->caller, &query->call, on_forecast, exchange);
}
