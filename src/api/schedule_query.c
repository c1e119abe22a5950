#include "api/schedule_query.h"

#include "api/query_values.h"
#include "base/memory.h"
#include "job/job_id.h"

/* ---- values ---- */

static const char *read_cursor(void *into, struct slice value)
{
    struct schedule_query *query = into;
    return query_open_cursor(&value) && app_schedule_cursor_parse(query->app, value, &query->from)
               ? NULL
               : QUERY_CURSOR_EXPECTED;
}

static const char *read_id_prefix(void *into, struct slice value)
{
    struct schedule_query *query = into;
    query->list.prefix = value;
    return value.size > 0 && value.size <= RECURRING_ID_MAX ? NULL : "must be the beginning of a scheduleId";
}

static const char *read_topic_prefix(void *into, struct slice value)
{
    struct schedule_query *query = into;
    query->list.prefix = value;
    return value.size > 0 && value.size <= JOB_TOPIC_NAME_MAX && !memchr(value.data, '/', value.size)
               ? NULL
               : "must be the beginning of the name of a topic";
}

static const char *read_paused(void *into, struct slice value)
{
    struct schedule_query *query = into;
    query->list.has_paused = true;
    return query_value_flag(&query->list.is_paused, value);
}

/* ---- parameters ---- */

enum parameter {
    PARAMETER_LIMIT,
    PARAMETER_CURSOR,
    PARAMETER_ID_PREFIX,
    PARAMETER_TOPIC_PREFIX,
    PARAMETER_PAUSED,
    PARAMETER_NEXT_AFTER,
    PARAMETER_NEXT_BEFORE,
    PARAMETER_LABEL,
    PARAMETER_COUNT
};

static const struct query_parameter parameters[PARAMETER_COUNT] = {
    [PARAMETER_LIMIT] = {"limit", QUERY_LIMIT(struct schedule_query, list.max)},
    [PARAMETER_CURSOR] = {"cursor", read_cursor, 0},
    [PARAMETER_ID_PREFIX] = {"idPrefix", read_id_prefix, 0},
    [PARAMETER_TOPIC_PREFIX] = {"topicPrefix", read_topic_prefix, 0},
    [PARAMETER_PAUSED] = {"paused", read_paused, 0},
    [PARAMETER_NEXT_AFTER] = {"nextAfter", QUERY_TIME(struct schedule_query, list.after_ms)},
    [PARAMETER_NEXT_BEFORE] = {"nextBefore", QUERY_TIME(struct schedule_query, list.before_ms)},
    [PARAMETER_LABEL] = {"label", QUERY_LABELS(struct schedule_query, labels)},
};

const struct schedule_query *schedule_query_read(struct exchange *exchange)
{
    struct schedule_query *query = NEW(struct schedule_query);
    struct buffer text = buffer_of(query->text, sizeof query->text);
    unsigned other = exchange->topic.size ? PARAMETER_TOPIC_PREFIX : PARAMETER_ID_PREFIX;
    struct query_reading reading = {.exchange = exchange,
                                    .parameters = parameters,
                                    .count = PARAMETER_COUNT,
                                    .known = ((1U << PARAMETER_COUNT) - 1) & ~(1U << other),
                                    .repeatable = 1U << PARAMETER_LABEL};
    query->app = app_of(exchange);
    query->list = (struct app_schedule_list){
        .topic = exchange->topic, .max = QUERY_LIMIT_DEFAULT, .from = &query->from, .labels = &query->labels};
    exchange_keep(exchange, query, free);
    query_read(&reading, query, &text);
    return query_end(&reading) ? query : NULL;
}
