/* audit.c - GET /audit: lines of the audit log, from the history */
#include "api/api_private.h"
#include "app/audit.h"
#include "base/memory.h"
#include "job/job_id.h"
#include "job/token.h"

/* The parameters of a request. The exchange has this struct as its state. */
struct audit_query {
    struct trail_query trail;
    char text[QUERY_BYTES_MAX + 1]; /* the decoded query; the values point into it */
};

/* ---- values ---- */

enum { ACTION_MAX = 40 };

static const char *read_action(void *into, struct slice value)
{
    struct slice *action = into;
    bool is_word = value.size >= 1 && value.size <= ACTION_MAX;
    for (size_t i = 0; i < value.size; i++)
        is_word = is_word && ((value.data[i] >= 'a' && value.data[i] <= 'z') || value.data[i] == '_');
    *action = value;
    return is_word ? NULL : "must be the name of an action, such as settings_changed";
}

static const char *read_token(void *into, struct slice value)
{
    struct slice *who = into;
    bool is_name = value.size >= 1 && value.size <= TOKEN_NAME_MAX;
    for (size_t i = 0; i < value.size; i++)
        is_name = is_name && value.data[i] > ' ' && value.data[i] < 127;
    *who = value;
    return is_name ? NULL : "must be the name of a token, or - for requests without a token";
}

static const char *read_topic(void *into, struct slice value)
{
    struct slice *topic = into;
    bool is_name = value.size >= 1 && value.size <= JOB_TOPIC_NAME_MAX;
    for (size_t i = 0; i < value.size; i++)
        is_name = is_name && value.data[i] > ' ' && value.data[i] < 127 && value.data[i] != '/';
    *topic = value;
    return is_name ? NULL : "must be the name of a topic or a pattern";
}

static const char *read_cursor(void *into, struct slice value)
{
    return query_open_cursor(&value) && app_audit_cursor_parse(value, into) ? NULL : QUERY_CURSOR_EXPECTED;
}

static const struct query_parameter parameters[] = {
    {"from", QUERY_TIME(struct audit_query, trail.from_ms)},
    {"to", QUERY_TIME(struct audit_query, trail.to_ms)},
    {"action", QUERY_FIELD(read_action, struct slice, struct audit_query, trail.action)},
    {"topic", QUERY_FIELD(read_topic, struct slice, struct audit_query, trail.topic)},
    {"token", QUERY_FIELD(read_token, struct slice, struct audit_query, trail.who)},
    {"limit", QUERY_LIMIT(struct audit_query, trail.max)},
    {"cursor", read_cursor, offsetof(struct audit_query, trail)},
};

enum { PARAMETER_COUNT = sizeof parameters / sizeof *parameters };

/* ---- GET /audit ---- */

static void on_line(void *arg, const struct trail_entry *line)
{
    struct page *page = arg;
    json_put_raw(&page->json, line->json);
}

HANDLER(audit_handle)
{
    struct audit_query *query = NEW(struct audit_query);
    struct buffer text = buffer_of(query->text, sizeof query->text);
    struct query_reading reading = {.exchange = exchange,
                                    .parameters = parameters,
                                    .count = PARAMETER_COUNT,
                                    .known = (1U << PARAMETER_COUNT) - 1};
    query->trail.max = QUERY_LIMIT_DEFAULT;
    exchange_keep(exchange, query, free);
    query_read(&reading, query, &text);
    if (query->trail.to_ms && query->trail.from_ms >= query->trail.to_ms)
        query_add_error(&reading, SLICE("from"), "must be before to");
    if (query_end(&reading))
        app_audit(app_of(exchange), &query->trail, on_line, page_end, page_new(exchange, "lines"));
}
