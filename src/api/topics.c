/* GET /topics and /topics/<topic> */
#include "http/access.h"
#include "api/cursor.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/view.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "job/topic_patterns.h"
#include "job/topic_settings.h"

enum { PAGE_MAX = 64 * 1024 * 1024, AFTER_MAX = JOB_TOPIC_NAME_MAX + 2 };

static const char *hold_of(const struct store_topic *topic)
{
    switch (topic_settings_service(topic->settings)) {
    case TOPIC_PAUSED:
        return "paused";
    case TOPIC_UNREADABLE:
        return "settings";
    default:
        return topic->held_ms == STORE_TOPIC_HELD ? "maxInFlight" : "rate";
    }
}

/* Why due jobs of it are not delivered. */
static void write_hold(struct buffer *body, const struct store_topic *topic)
{
    if (topic->held_ms == STORE_TOPIC_FREE)
        return;
    buffer_printf(body, ",\"heldBy\":\"%s\"", hold_of(topic));
    if (topic->held_ms != STORE_TOPIC_HELD)
        view_write_time(body, "heldUntil", topic->held_ms);
}

static void write_topic(struct buffer *body, const struct store_topic *topic)
{
    buffer_append(body, SLICE("{\"topic\":"));
    buffer_append_json(body, topic->name);
    view_write_settings(body, topic->settings);
    buffer_printf(body,
                  ",\"jobs\":{\"delayed\":%lld,\"ready\":%lld,\"held\":%lld,\"leased\":%lld,\"dead\":%lld}"
                  ",\"overdue\":%lld",
                  (long long)topic->delayed, (long long)topic->ready, (long long)topic->held,
                  (long long)topic->leased, (long long)topic->dead, (long long)(topic->ready + topic->held));
    buffer_printf(body, ",\"lastHour\":{\"delivered\":%lld,\"retried\":%lld,\"dead\":%lld}",
                  (long long)topic->hour.delivered, (long long)topic->hour.retried,
                  (long long)topic->hour.dead);
    if (topic->due_ms >= 0)
        view_write_time(body, "oldestDueAt", topic->due_ms);
    if (topic->due_ms >= 0 && topic->due_ms <= topic->now_ms)
        view_write_time(body, "oldestOverdueAt", topic->due_ms);
    write_hold(body, topic);
    buffer_append_byte(body, '}');
}

/* A page of GET /topics, which is put together of what several calls of Redis tell: each is short. A token that is bound to some topics is shown those only, and the walk goes from one
 * to the next without telling what lies between: also not in a cursor, which names the last topic of its
 * page. */
struct page {
    struct exchange *exchange;
    struct buffer body;
    struct buffer after; /* where the walk goes on */
    size_t count;
};

static void read_page(struct page *, struct store_topic_cursor from);

static void page_end(struct page *page)
{
    buffer_fini(&page->body);
    buffer_fini(&page->after);
    free(page);
}

static void answer_page(struct page *page, struct store_topic_cursor next)
{
    struct buffer *body = &page->body;
    buffer_append_byte(body, ']');
    if (next.name.size || next.shard) {
        buffer_append(body, SLICE(",\"cursor\":\""));
        cursor_write_topic(body, &next);
        buffer_append_byte(body, '"');
    }
    buffer_append_byte(body, '}');
    if (body->failed)
        exchange_refuse(page->exchange, 503, "There is no memory for so many; ask for fewer.");
    else
        exchange_answer(page->exchange, 200, NULL, 0, buffer_slice(body));
    page_end(page);
}

static void on_topics(void *arg, enum status status, const struct store_topic *topics, size_t count,
                      struct store_topic_cursor next)
{
    struct page *page = arg;
    if (status != STATUS_OK) {
        problem_answer_status(page->exchange, status, PROBLEM_READ_ONLY);
        page_end(page);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!access_has_topic(page->exchange, topics[i].name))
            continue;
        if (page->count++)
            buffer_append_byte(&page->body, ',');
        write_topic(&page->body, &topics[i]);
    }
    if (next.name.size && page->count < list_query(page->exchange)->topics.max)
        read_page(page, next);
    else
        answer_page(page, next);
}

/* The next page's topics of this shard, or of one behind it. */
static void read_page(struct page *page, struct store_topic_cursor from)
{
    struct exchange *exchange = page->exchange;
    struct store *store = api_of(exchange)->options.store;
    struct store_topics topics = {.max = list_query(exchange)->topics.max - page->count};
    struct slice patterns = access_topics(exchange);
    bool has_more = true;
    if (patterns.size) {
        has_more = topic_patterns_seek(patterns, from.name, &page->after);
    } else {
        buffer_clear(&page->after);
        buffer_append(&page->after, from.name);
    }
    if (!has_more && from.shard + 1 < store_shards(store)) {
        read_page(page, (struct store_topic_cursor){.shard = from.shard + 1});
        return;
    }
    if (!has_more) {
        answer_page(page, (struct store_topic_cursor){.shard = 0});
        return;
    }
    topics.from = (struct store_topic_cursor){from.shard, buffer_slice(&page->after)};
    store_topics(store, &topics, on_topics, page);
}

void topics_handle(struct exchange *exchange)
{
    if (!query_read_topics(exchange))
        return;
    struct page *page = NEW(struct page);
    page->exchange = exchange;
    buffer_init_fallible(&page->body, PAGE_MAX);
    buffer_init(&page->after, AFTER_MAX);
    buffer_append(&page->body, SLICE("{\"topics\":["));
    read_page(page, list_query(exchange)->topics.from);
}

static void on_topic(void *arg, enum status status, const struct store_topic *topic, size_t count,
                     struct store_topic_cursor next)
{
    struct exchange *exchange = arg;
    (void)count, (void)next;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, PROBLEM_READ_ONLY);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    write_topic(body, topic);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

void topic_read_handle(struct exchange *exchange)
{
    struct store_topics topics = {.topic = exchange->topic, .max = 1};
    store_topics(api_of(exchange)->options.store, &topics, on_topic, exchange);
}
