/* topics.c - /topics and /groups: lists, and GET, PUT, PATCH and DELETE of one topic and of one group */
#include "api/api_private.h"
#include "app/groups.h"
#include "app/topics.h"
#include "http/request_headers.h"
#include "job/topic/topic_patterns.h"
#include "job/topic/topic_settings.h"

/* ---- GET /topics ---- */

/* Adds the reason why the topic's due jobs wait, if there is one. */
static void add_hold(struct json_writer *json, const struct topic *topic)
{
    static const char *const words[] = {
        [HOLD_PAUSED] = "paused", [HOLD_SETTINGS] = "settings", [HOLD_IN_FLIGHT] = "maxInFlight",
        [HOLD_RATE] = "rate",     [HOLD_LINE] = "order",        [HOLD_NO_URL] = "noUrl",
        [HOLD_LIMIT] = "limit",   [HOLD_WINDOWS] = "windows",   [HOLD_BATCH] = "batch",
    };
    if (topic->hold == HOLD_NONE)
        return;
    json_add_text(json, "heldBy", slice_of(words[topic->hold]));
    if (topic->held_until_ms)
        json_add_time(json, "heldUntil", topic->held_until_ms);
}

static void add_numbers(struct json_writer *json, const struct topic *topic)
{
    json_add_object(json, "jobs");
    json_add_number(json, "delayed", topic->delayed);
    json_add_number(json, "ready", topic->ready);
    json_add_number(json, "held", topic->held);
    json_add_number(json, "leased", topic->leased);
    json_add_number(json, "dead", topic->dead);
    json_end_object(json);
    json_add_number(json, "overdue", topic->ready + topic->held);
    if (topic->has_quota) {
        json_add_object(json, "quota");
        json_add_number(json, "maxPending", topic->quota);
        json_add_number(json, "pending", topic_pending(topic));
        json_end_object(json);
    }
    json_add_object(json, "lastHour");
    json_add_number(json, "delivered", topic->hour.delivered);
    json_add_number(json, "retried", topic->hour.retried);
    json_add_number(json, "dead", topic->hour.dead);
    json_end_object(json);
}

static void add_failing(struct json_writer *json, const struct topic *topic)
{
    int64_t failed = topic->hour.retried + topic->hour.dead;
    json_add_object(json, "failing");
    json_add_number(json, "failed", failed);
    json_add_number(json, "attempts", failed + topic->hour.delivered);
    if (topic->last_answer.size)
        json_add_text(json, "lastAnswer", topic->last_answer);
    json_end_object(json);
}

static void put_topic(struct json_writer *json, const struct topic *topic)
{
    json_put_object(json);
    json_add_text(json, "topic", topic->name);
    view_add_settings(json, topic->settings);
    json_put_name(json, "from");
    topic_layers_show_from(&(struct topic_layers){topic->settings, topic->own, topic->pattern},
                           &topic_settings_members, json_put(json));
    add_numbers(json, topic);
    if (topic->fails)
        add_failing(json, topic);
    if (topic->due_ms >= 0)
        json_add_time(json, "oldestDueAt", topic->due_ms);
    if (topic->due_ms >= 0 && topic->due_ms <= topic->now_ms)
        json_add_time(json, "oldestOverdueAt", topic->due_ms);
    if (topic->is_pull) {
        json_add_object(json, "pull");
        json_add_number(json, "waiting", (int64_t)topic->waiting);
        json_add_number(json, "leases", topic->leased);
        if (topic->leased_ms > 0)
            json_add_time(json, "oldestLeaseAt", topic->leased_ms);
        json_end_object(json);
    }
    if (topic->window.began_ms) {
        json_add_object(json, "window");
        json_add_time(json, "beganAt", topic->window.began_ms);
        json_add_number(json, "attempts", topic->window.attempts);
        json_end_object(json);
    }
    add_hold(json, topic);
    if (topic->head_job.size)
        json_add_text(json, "head", topic->head_job);
    json_end_object(json);
}

static void put_pattern(struct json_writer *json, const struct topic *pattern)
{
    json_put_object(json);
    json_add_text(json, "topic", pattern->name);
    view_add_settings(json, pattern->settings);
    json_end_object(json);
}

static void on_topic_of_page(void *arg, const struct topic *topic)
{
    struct page *page = arg;
    put_topic(&page->json, topic);
}

static void on_pattern_of_page(void *arg, const struct topic *pattern)
{
    struct page *page = arg;
    put_pattern(&page->json, pattern);
}

HANDLER(topics_handle)
{
    if (!query_read_topics(exchange))
        return;
    if (list_query(exchange)->is_of_patterns) {
        app_patterns(app_of(exchange), &exchange->caller, SLICE(""), on_pattern_of_page, page_end,
                     page_new(exchange, "patterns"));
        return;
    }
    const struct list_query *query = list_query(exchange);
    (query->is_of_failing ? app_topics_failing : app_topics)(
        app_of(exchange), &exchange->caller, query->bulk.list.max, query->topic, on_topic_of_page, page_end,
        page_new(exchange, "topics"));
}

static void on_topic(void *arg, const struct topic *topic)
{
    struct json_writer json = json_writer_to(exchange_scratch(arg));
    put_topic(&json, topic);
}

static void on_pattern(void *arg, const struct topic *pattern)
{
    struct json_writer json = json_writer_to(exchange_scratch(arg));
    put_pattern(&json, pattern);
}

HANDLER(topic_read_handle)
{
    if (topic_pattern_is_open(exchange->topic))
        app_patterns(app_of(exchange), &exchange->caller, exchange->topic, on_pattern, page_end_scratch,
                     exchange);
    else
        app_topic(app_of(exchange), exchange->topic, on_topic, page_end_scratch, exchange);
}

/* ---- PUT, PATCH, DELETE /topics/<topic> ---- */

/* Completes "which this process does not ..." for what an object needs (unknown_members.h, base/seal.h). */
static const char *holder_of(struct slice lacks)
{
    return slice_starts_with(lacks, SLICE(JOB_LACKS_KEY)) ? "have: a process with this key"
                                                          : "know: a later version of duepost";
}

static void on_changed(void *arg, const struct app_verdict *verdict)
{
    static const struct problem_words words = {"topic", "Repeating the request is safe."};
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_OK) {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        json_put_object(&json);
        json_add_text(&json, "topic", exchange->topic);
        view_add_settings(&json, verdict->settings);
        json_end_object(&json);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    } else if (verdict->end == STATUS_UNREADABLE) {
        exchange_refuse(exchange, 409, "The topic's settings in Redis cannot be read; PUT replaces them.");
    } else if (verdict->end == STATUS_LACKING) {
        exchange_refuse(
            exchange, 409,
            "The topic's settings need \"%.*s\", which this process does not %s can change them, and DELETE "
            "resets them.",
            SLICE_ARG(verdict->why), holder_of(verdict->why));
    } else {
        problem_answer_verdict(exchange, verdict, &words);
    }
}

static void change_topic(struct exchange *exchange, enum app_change change)
{
    struct slice body = change == APP_CHANGE_RESET ? SLICE("") : http_request_body(exchange->request);
    app_topic_change(app_of(exchange), &exchange->caller, exchange->topic, change, body, on_changed,
                     exchange);
}

HANDLER(topic_put_handle)
{
    change_topic(exchange, APP_CHANGE_REPLACE);
}

HANDLER(topic_patch_handle)
{
    change_topic(exchange, APP_CHANGE_MERGE);
}

HANDLER(topic_delete_handle)
{
    change_topic(exchange, APP_CHANGE_RESET);
}

/* ---- GET /groups ---- */

static void on_group_of_page(void *arg, const struct topic *group)
{
    struct page *page = arg;
    json_put_object(&page->json);
    view_add_group(&page->json, group->name, group->settings);
    json_end_object(&page->json);
}

HANDLER(groups_handle)
{
    if (!query_read_topics(exchange))
        return;
    const struct list_query *query = list_query(exchange);
    app_groups(app_of(exchange), &exchange->caller, query->bulk.list.max, query->topic, on_group_of_page,
               page_end, page_new(exchange, "groups"));
}

static void answer_group(struct exchange *exchange, unsigned status, struct slice text)
{
    char tag[JOB_TAG_SIZE];
    struct etag etag;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    app_group_tag(text, tag);
    struct http_header header = etag_header(tag, &etag);
    json_put_object(&json);
    view_add_group(&json, exchange->key, text);
    json_end_object(&json);
    exchange_answer(exchange, status, &header, text.size > 0, buffer_slice(body));
}

static void refuse_group(struct exchange *exchange, const struct app_verdict *verdict)
{
    static const struct problem_words words = {"group", "Repeating the request is safe."};
    switch (verdict->end) {
    case STATUS_NOT_FOUND:
        exchange_refuse(exchange, 404, "There is no such group.");
        break;
    case STATUS_STALE:
        exchange_refuse(exchange, 412, "The group does not meet If-Match or If-None-Match; nothing changed.");
        break;
    case STATUS_UNREADABLE:
        exchange_refuse(
            exchange, 409,
            "The group's text in Redis cannot be read. PUT replaces the group, DELETE removes it.");
        break;
    case STATUS_LACKING:
        exchange_refuse(exchange, 409,
                        "The group needs \"%.*s\", which this process does not %s can change the group, and "
                        "DELETE removes "
                        "it.",
                        SLICE_ARG(verdict->why), holder_of(verdict->why));
        break;
    default:
        problem_answer_verdict(exchange, verdict, &words);
    }
}

static void on_read(void *arg, const struct app_verdict *verdict)
{
    if (verdict->end == STATUS_OK)
        answer_group(arg, 200, verdict->settings);
    else
        refuse_group(arg, verdict);
}

HANDLER(group_read_handle)
{
    app_group(app_of(exchange), exchange->key, on_read, exchange);
}

/* ---- PUT, PATCH, DELETE /groups/<name> ---- */

static void on_group_changed(void *arg, const struct app_verdict *verdict)
{
    if (verdict->end == STATUS_OK)
        answer_group(arg, verdict->was_there ? 200 : 201, verdict->settings);
    else
        refuse_group(arg, verdict);
}

static void on_removed(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        refuse_group(exchange, verdict);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "group", exchange->key);
    json_add_text(&json, "state", SLICE("removed"));
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void change_group(struct exchange *exchange, enum app_change kind)
{
    bool is_removal = kind == APP_CHANGE_RESET;
    if (!etag_read_matches(exchange))
        return;
    struct app_group_change call = {.name = exchange->key,
                                    .kind = kind,
                                    .text = is_removal ? SLICE("") : http_request_body(exchange->request),
                                    .tags = buffer_slice(&exchange->seen)};
    app_group_change(app_of(exchange), &exchange->caller, &call, is_removal ? on_removed : on_group_changed,
                     exchange);
}

HANDLER(group_put_handle)
{
    change_group(exchange, APP_CHANGE_REPLACE);
}

HANDLER(group_patch_handle)
{
    change_group(exchange, APP_CHANGE_MERGE);
}

HANDLER(group_delete_handle)
{
    change_group(exchange, APP_CHANGE_RESET);
}
