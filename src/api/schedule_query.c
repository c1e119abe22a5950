#include "api/schedule_query.h"

#include "base/memory.h"
#include "base/timestamp.h"
#include "job/job_id.h"
#include "job/labels.h"

enum { LIMIT_DEFAULT = 100 };

/* ---- values ---- */

static const char *read_limit(void *into, struct slice value)
{
    struct schedule_query *query = into;
    uint64_t limit;
    if (!slice_to_number(value, APP_PAGE_MAX, &limit) || limit == 0)
        return "must be 1 to 1000";
    query->list.max = limit;
    return NULL;
}

static const char *read_cursor(void *into, struct slice value)
{
    struct schedule_query *query = into;
    return app_schedule_cursor_parse(query->app, value, &query->from)
               ? NULL
               : "must be a cursor from a page of this list";
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
    query->list.is_paused = slice_equal(value, SLICE("true"));
    return query->list.is_paused || slice_equal(value, SLICE("false")) ? NULL : "must be true or false";
}

static const char *read_time(struct slice value, int64_t *time_ms)
{
    return timestamp_parse(value, time_ms) && *time_ms > 0
               ? NULL
               : "must be a time as in RFC 3339, such as 2030-01-01T00:00:00Z";
}

static const char *read_next_after(void *into, struct slice value)
{
    struct schedule_query *query = into;
    return read_time(value, &query->list.after_ms);
}

static const char *read_next_before(void *into, struct slice value)
{
    struct schedule_query *query = into;
    return read_time(value, &query->list.before_ms);
}

static const char *read_label(void *into, struct slice value)
{
    struct schedule_query *query = into;
    if (!job_label_is_valid(value))
        return JOB_LABEL_EXPECTED;
    if (job_labels_have(&query->labels, value))
        return NULL;
    if (query->labels.count == JOB_LABELS_MAX)
        return "must not appear more than 10 times";
    query->labels.items[query->labels.count++] = value;
    return NULL;
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
    [PARAMETER_LIMIT] = {"limit", read_limit},
    [PARAMETER_CURSOR] = {"cursor", read_cursor},
    [PARAMETER_ID_PREFIX] = {"idPrefix", read_id_prefix},
    [PARAMETER_TOPIC_PREFIX] = {"topicPrefix", read_topic_prefix},
    [PARAMETER_PAUSED] = {"paused", read_paused},
    [PARAMETER_NEXT_AFTER] = {"nextAfter", read_next_after},
    [PARAMETER_NEXT_BEFORE] = {"nextBefore", read_next_before},
    [PARAMETER_LABEL] = {"label", read_label},
};

const struct schedule_query *schedule_query_read(struct exchange *exchange)
{
    struct schedule_query *query = NEW(struct schedule_query);
    struct buffer text = {.data = query->text, .capacity = sizeof query->text, .max = QUERY_BYTES_MAX};
    unsigned other = exchange->topic.size ? PARAMETER_TOPIC_PREFIX : PARAMETER_ID_PREFIX;
    struct query_reading reading = {.exchange = exchange,
                                    .parameters = parameters,
                                    .count = PARAMETER_COUNT,
                                    .known = ((1U << PARAMETER_COUNT) - 1) & ~(1U << other),
                                    .repeatable = 1U << PARAMETER_LABEL};
    query->app = app_of(exchange);
    query->list = (struct app_schedule_list){
        .topic = exchange->topic, .max = LIMIT_DEFAULT, .from = &query->from, .labels = &query->labels};
    exchange_keep(exchange, query, free);
    query_read(&reading, query, &text);
    return query_end(&reading) ? query : NULL;
}
