/* topics.c - GET /topics; GET, PUT, PATCH and DELETE /topics/<topic>
 *
 * A change reads the settings, makes the new ones, and writes them unless they have changed meanwhile; then
 * it begins anew. */
#include "api/access.h"
#include "api/audit.h"
#include "api/cursor.h"
#include "api/handlers.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/target_check.h"
#include "api/view.h"
#include "base/memory.h"
#include "job/job_errors.h"
#include "job/timestamp.h"
#include "job/topic_patterns.h"
#include "job/topic_settings.h"

enum { TRIES_MAX = 5, PAGE_MAX = 64 * 1024 * 1024, AFTER_MAX = 256 };

static const char nothing_changed[] = "Nothing was to be changed; ask again.";

/* ---- what there is ---- */

static void write_settings(struct buffer *body, struct slice text)
{
    struct topic_settings settings;
    struct job_errors ignored;
    buffer_append(body, SLICE(",\"settings\":"));
    if (text.size == 0 || topic_settings_parse(text, &settings, &ignored) != STATUS_OK) {
        buffer_append(body, SLICE("{}"));
        return;
    }
    topic_settings_show(&settings, body);
    topic_settings_fini(&settings);
}

/* Why due jobs of it are not delivered. */
static void write_hold(struct buffer *body, const struct store_topic *topic)
{
    if (topic->held_ms == STORE_TOPIC_FREE)
        return;
    buffer_printf(body, ",\"heldBy\":\"%s\"",
                  topic_settings_are_paused(topic->settings) ? "paused"
                  : topic->held_ms == STORE_TOPIC_HELD       ? "maxInFlight"
                                                             : "rate");
    if (topic->held_ms != STORE_TOPIC_HELD)
        view_write_time(body, "heldUntil", topic->held_ms);
}

static void write_topic(struct buffer *body, const struct store_topic *topic, bool is_partial)
{
    buffer_append(body, SLICE("{\"topic\":"));
    buffer_append_json(body, topic->name);
    write_settings(body, topic->settings);
    buffer_printf(body, ",\"jobs\":{\"delayed\":%lld,\"ready\":%lld,\"leased\":%lld,\"dead\":%lld}",
                  (long long)topic->delayed, (long long)topic->ready, (long long)topic->leased,
                  (long long)topic->dead);
    buffer_printf(body, ",\"lastHour\":{\"delivered\":%lld,\"retried\":%lld,\"dead\":%lld}",
                  (long long)topic->hour.delivered, (long long)topic->hour.retried,
                  (long long)topic->hour.dead);
    if (topic->due_ms >= 0)
        view_write_time(body, "oldestDueAt", topic->due_ms);
    write_hold(body, topic);
    if (is_partial)
        buffer_append(body, SLICE(",\"isPartial\":true"));
    buffer_append_byte(body, '}');
}

/* A page of GET /topics. A token that is bound to some topics is shown those only, and the walk goes from one
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
        problem_answer(page->exchange, 503, "There is no memory for so many; ask for fewer.");
    else
        exchange_answer_json(page->exchange, 200, NULL, 0, buffer_slice(body));
    page_end(page);
}

static void on_topics(void *arg, enum status status, const struct store_topic *topics, size_t count,
                      bool is_partial, struct store_topic_cursor next)
{
    struct page *page = arg;
    if (status != STATUS_OK) {
        problem_answer_status(page->exchange, status, nothing_changed);
        page_end(page);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!access_has_topic(page->exchange, topics[i].name))
            continue;
        if (page->count++)
            buffer_append_byte(&page->body, ',');
        write_topic(&page->body, &topics[i], is_partial);
    }
    if (next.name.size && !access_has_topic(page->exchange, next.name))
        read_page(page, next);
    else
        answer_page(page, next);
}

/* The next page's topics of this shard, or of one behind it. */
static void read_page(struct page *page, struct store_topic_cursor from)
{
    struct exchange *exchange = page->exchange;
    struct store *store = exchange->api->options.store;
    struct store_topics topics = {.max = exchange->parameters->topics.max - page->count};
    struct slice patterns = access_topics(exchange);
    bool has_more = true;
    if (patterns.size)
        has_more = topic_patterns_seek(patterns, from.name, &page->after);
    else
        buffer_append(&page->after, from.name);
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
    read_page(page, exchange->parameters->topics.from);
}

static void on_topic(void *arg, enum status status, const struct store_topic *topic, size_t count,
                     bool is_partial, struct store_topic_cursor next)
{
    struct exchange *exchange = arg;
    (void)count, (void)next;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, nothing_changed);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    write_topic(body, topic, is_partial);
    exchange_answer_json(exchange, 200, NULL, 0, buffer_slice(body));
}

void topic_read_handle(struct exchange *exchange)
{
    struct store_topics topics = {.topic = exchange->topic, .max = 1};
    store_topics(exchange->api->options.store, &topics, on_topic, exchange);
}

/* ---- changes ---- */

/* What becomes of the settings: the body, the body merged into them, nothing. */
enum change_kind { CHANGE_REPLACE, CHANGE_MERGE, CHANGE_RESET };
static const char *const change_events[] = {"settings_replaced", "settings_changed", "settings_reset"};

struct change {
    struct exchange *exchange;
    enum change_kind kind;
    struct buffer old_settings, new_settings;
    int tries;
};

static void read_settings(struct change *);

static void change_end(struct change *change)
{
    buffer_fini(&change->old_settings);
    buffer_fini(&change->new_settings);
    free(change);
}

static void on_set(void *arg, enum status status)
{
    struct change *change = arg;
    struct exchange *exchange = change->exchange;
    if (status == STATUS_STALE && ++change->tries < TRIES_MAX) {
        read_settings(change);
        return;
    }
    audit_topic(exchange, change_events[change->kind], status);
    if (status == STATUS_STALE) {
        problem_answer(exchange, 503, "Others change these settings all the time; nothing changed.");
    } else if (status != STATUS_OK) {
        problem_answer_status(exchange, status, "Repeating the request is safe.");
    } else {
        struct buffer *body = exchange_scratch(exchange);
        buffer_append(body, SLICE("{\"topic\":"));
        buffer_append_json(body, exchange->topic);
        write_settings(body, buffer_slice(&change->new_settings));
        buffer_append_byte(body, '}');
        exchange_answer_json(exchange, 200, NULL, 0, buffer_slice(body));
    }
    change_end(change);
}

static void check_target(const struct exchange *exchange, const char *name, struct slice url,
                         struct job_errors *errors)
{
    if (!target_is_allowed(exchange->api, url))
        job_errors_add(errors, name, TARGET_REFUSED);
}

/* The new settings, as they are written. INVALID: errors says what is wrong. */
static enum status make_settings(struct change *change, struct job_errors *errors)
{
    struct topic_settings settings;
    struct slice body = http_request_body(change->exchange->request);
    struct buffer merged;
    enum status status = STATUS_OK;
    buffer_init_fallible(&merged, TOPIC_SETTINGS_BYTES_MAX + body.size);
    if (change->kind == CHANGE_MERGE)
        status = topic_settings_merge(buffer_slice(&change->old_settings), body, &merged, errors);
    if (status == STATUS_OK)
        status = topic_settings_parse(change->kind == CHANGE_MERGE ? buffer_slice(&merged) : body, &settings,
                                      errors);
    buffer_clear(&change->new_settings);
    if (status == STATUS_OK) {
        check_target(change->exchange, "url", settings.url, errors);
        check_target(change->exchange, "onDead", settings.on_dead, errors);
        topic_settings_write(&settings, &change->new_settings);
        topic_settings_fini(&settings);
    }
    buffer_fini(&merged);
    return status == STATUS_OK && errors->count > 0 ? STATUS_INVALID : status;
}

static void on_settings(void *arg, enum status status, const struct store_topic *topic, size_t count,
                        bool is_partial, struct store_topic_cursor next)
{
    struct change *change = arg;
    struct exchange *exchange = change->exchange;
    struct job_errors errors;
    (void)count, (void)is_partial, (void)next;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, nothing_changed);
        change_end(change);
        return;
    }
    buffer_clear(&change->old_settings);
    buffer_append(&change->old_settings, topic->settings);
    if (change->kind != CHANGE_RESET && (status = make_settings(change, &errors)) != STATUS_OK) {
        problem_answer_invalid(exchange, status, "topic", &errors);
        change_end(change);
        return;
    }
    store_set_topic(exchange->api->options.store, exchange->topic, buffer_slice(&change->old_settings),
                    buffer_slice(&change->new_settings), on_set, change);
}

static void read_settings(struct change *change)
{
    struct store_topics topics = {.topic = change->exchange->topic, .max = 1};
    store_topics(change->exchange->api->options.store, &topics, on_settings, change);
}

static void change_settings(struct exchange *exchange, enum change_kind kind)
{
    if (problem_answer_unready(exchange))
        return;
    struct change *change = NEW(struct change);
    change->exchange = exchange;
    change->kind = kind;
    buffer_init(&change->old_settings, TOPIC_SETTINGS_BYTES_MAX);
    buffer_init(&change->new_settings, TOPIC_SETTINGS_BYTES_MAX);
    read_settings(change);
}

void topic_put_handle(struct exchange *exchange)
{
    change_settings(exchange, CHANGE_REPLACE);
}

void topic_patch_handle(struct exchange *exchange)
{
    change_settings(exchange, CHANGE_MERGE);
}

void topic_delete_handle(struct exchange *exchange)
{
    change_settings(exchange, CHANGE_RESET);
}
