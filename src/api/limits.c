/* limits.c - /limits and /topics/<topic>/keys: lists of the limits that topics share and of the keys of a
 * topic, and GET, PUT, PATCH and DELETE of one of them */
#include "api/api_private.h"
#include "app/limits.h"
#include "http/request_headers.h"
#include "job/job_id.h"
#include "job/topic/topic_settings.h"

/* ---- GET ---- */

/* Adds why no attempt may begin now, if none may. until_ms: when the hold ends; 0: unknown. */
static void add_hold(struct json_writer *json, enum topic_hold hold, int64_t until_ms)
{
    static const char *const words[] = {[HOLD_PAUSED] = "paused",
                                        [HOLD_IN_FLIGHT] = "maxInFlight",
                                        [HOLD_RATE] = "rate",
                                        [HOLD_LINE] = "order",
                                        [HOLD_BATCH] = "batch"};
    if (hold == HOLD_NONE)
        return;
    json_add_text(json, "heldBy", slice_of(words[hold]));
    if (until_ms)
        json_add_time(json, "heldUntil", until_ms);
}

/* Adds "settings" of a limit or a key. A text that cannot be read is shown as {}. */
static void add_settings(struct json_writer *json, struct slice text, bool is_key)
{
    struct topic_settings settings;
    json_put_name(json, "settings");
    struct buffer *body = json_put(json);
    enum status status = is_key ? key_settings_read(text, &settings) : limit_settings_read(text, &settings);
    if (status == STATUS_OK) {
        (is_key ? key_settings_show : topic_settings_show)(&settings, body);
        topic_settings_fini(&settings);
    } else {
        buffer_append(body, SLICE("{}"));
    }
}

static void add_limit(struct json_writer *json, const struct limit *limit)
{
    json_add_text(json, "limit", limit->name);
    add_settings(json, limit->settings, false);
    json_add_number(json, "inFlight", limit->in_flight);
    json_add_number(json, "waitingTopics", limit->waiting);
    add_hold(json, limit->hold, limit->hold == HOLD_RATE ? limit->next_ms : 0);
}

static void on_limit_of_page(void *arg, const struct limit *limit)
{
    struct page *page = arg;
    json_put_object(&page->json);
    add_limit(&page->json, limit);
    json_end_object(&page->json);
}

HANDLER(limits_handle)
{
    if (!query_read_limits(exchange))
        return;
    const struct list_query *query = list_query(exchange);
    app_limits(app_of(exchange), query->bulk.list.max, query->topic, on_limit_of_page, page_end,
               page_new(exchange, "limits"));
}

/* Returns whether the path of the request names a key of a topic. Otherwise it names a limit. */
static bool is_of_key(const struct exchange *exchange)
{
    return exchange->topic.size > 0;
}

static void limit_refuse(struct exchange *exchange, const struct app_verdict *verdict)
{
    const char *what = is_of_key(exchange) ? "key" : "limit";
    struct problem_words words = {what, "Repeating the request is safe."};
    switch (verdict->end) {
    case STATUS_NOT_FOUND:
        exchange_refuse(exchange, 404, "There is no such limit. PUT /limits/%.*s makes it.",
                        SLICE_ARG(exchange->key));
        break;
    case STATUS_STALE:
        exchange_refuse(exchange, 412, "The %s does not meet If-Match or If-None-Match; nothing changed.",
                        what);
        break;
    case STATUS_UNREADABLE:
        exchange_refuse(exchange, 409,
                        "The settings of the %s in Redis cannot be read. PUT replaces them, DELETE removes "
                        "them.",
                        what);
        break;
    case STATUS_LACKING:
        exchange_refuse(exchange, 409,
                        "The %s needs \"%.*s\", which this process does not know: a later version of duepost "
                        "can change it.",
                        what, SLICE_ARG(verdict->why));
        break;
    default:
        problem_answer_verdict(exchange, verdict, &words);
    }
}

static void answer_limit(struct exchange *exchange, unsigned status, struct slice settings)
{
    char tag[JOB_TAG_SIZE];
    struct etag etag;
    app_limit_tag(settings, tag);
    struct http_header header = etag_header(tag, &etag);
    exchange_answer(exchange, status, &header, settings.size > 0, buffer_slice(&exchange->site->scratch));
}

static void on_limit(void *arg, const struct limit *limit)
{
    struct exchange *exchange = arg;
    struct json_writer json = json_writer_to(exchange_scratch(exchange));
    struct slice topic, rest = limit->topics;
    json_put_object(&json);
    add_limit(&json, limit);
    json_add_array(&json, "waiting");
    while (rest.size) {
        slice_cut(rest, ' ', &topic, &rest);
        if (topic_is_valid(topic))
            json_put_text(&json, topic);
    }
    json_end_array(&json);
    json_end_object(&json);
    answer_limit(exchange, 200, limit->settings);
}

/* An answer that was not OK; on_limit gives the other one. */
static void on_read(void *arg, const struct app_verdict *verdict)
{
    if (verdict->end != STATUS_OK)
        limit_refuse(arg, verdict);
}

HANDLER(limit_read_handle)
{
    app_limit(app_of(exchange), exchange->key, on_limit, on_read, exchange);
}

/* ---- GET of keys ---- */

static void put_lane(struct json_writer *json, const struct topic_lane *lane)
{
    bool has_attempts = lane->topic_in_flight > 0;
    json_put_object(json);
    json_add_text(json, "key", lane->key);
    add_settings(json, lane->settings, true);
    json_add_number(json, "waiting", lane->pending > lane->in_flight ? lane->pending - lane->in_flight : 0);
    json_add_number(json, "inFlight", lane->in_flight);
    json_put_name(json, "share");
    buffer_printf(json_put(json), "%.4g",
                  has_attempts ? (double)lane->in_flight / (double)lane->topic_in_flight : 0);
    if (lane->due_ms >= 0)
        json_add_time(json, "oldestDueAt", lane->due_ms);
    if (lane->due_ms >= 0 && lane->due_ms <= lane->now_ms)
        json_add_time(json, "oldestOverdueAt", lane->due_ms);
    add_hold(json, lane->hold, lane->held_until_ms);
    json_end_object(json);
}

static void on_lane_of_page(void *arg, const struct topic_lane *lane)
{
    struct page *page = arg;
    put_lane(&page->json, lane);
}

HANDLER(lanes_handle)
{
    if (!query_read_lanes(exchange))
        return;
    const struct list_query *query = list_query(exchange);
    app_lanes(app_of(exchange), exchange->topic, query->bulk.list.max, query->after_key, on_lane_of_page,
              page_end, page_new(exchange, "keys"));
}

static void on_lane(void *arg, const struct topic_lane *lane)
{
    struct exchange *exchange = arg;
    struct json_writer json = json_writer_to(exchange_scratch(exchange));
    put_lane(&json, lane);
    answer_limit(exchange, 200, lane->settings);
}

HANDLER(lane_read_handle)
{
    app_lane(app_of(exchange), exchange->topic, exchange->job_id, on_lane, on_read, exchange);
}

/* ---- PUT, PATCH, DELETE of a limit or a key ---- */

static void on_changed(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        limit_refuse(exchange, verdict);
        return;
    }
    struct json_writer json = json_writer_to(exchange_scratch(exchange));
    bool is_key = is_of_key(exchange);
    json_put_object(&json);
    if (is_key)
        json_add_text(&json, "topic", exchange->topic);
    json_add_text(&json, is_key ? "key" : "limit", is_key ? exchange->job_id : exchange->key);
    add_settings(&json, verdict->settings, is_key);
    json_end_object(&json);
    answer_limit(exchange, is_key || verdict->was_there ? 200 : 201, verdict->settings);
}

/* Answers that topics or patterns name the limit, with the first of their names. */
static void refuse_removal(struct exchange *exchange, const struct app_verdict *verdict)
{
    struct buffer *members = exchange_members(exchange);
    problem_write(members,
                  "Topics or patterns name this limit in their settings, so it was not removed. First set "
                  "their limit to another one or to null.");
    struct json_writer json = json_writer_behind(members);
    json_add_array(&json, "users");
    for (size_t i = 0; i < verdict->user_count; i++)
        json_put_text(&json, verdict->users[i]);
    json_end_array(&json);
    problem_answer_members(exchange, 409, buffer_slice(members), verdict);
}

static void on_removed(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end == STATUS_IN_USE) {
        refuse_removal(exchange, verdict);
        return;
    }
    if (verdict->end != STATUS_OK) {
        limit_refuse(exchange, verdict);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "limit", exchange->key);
    json_add_text(&json, "state", SLICE("removed"));
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void change_limit(struct exchange *exchange, enum app_change kind)
{
    bool is_removal = kind == APP_CHANGE_RESET;
    if (!etag_read_matches(exchange))
        return;
    struct app_limit_change call = {.topic = exchange->topic,
                                    .name = exchange->key,
                                    .kind = kind,
                                    .text = is_removal ? SLICE("") : http_request_body(exchange->request),
                                    .tags = buffer_slice(&exchange->seen)};
    app_limit_change(app_of(exchange), &exchange->caller, &call,
                     is_removal && !is_of_key(exchange) ? on_removed : on_changed, exchange);
}

HANDLER(limit_put_handle)
{
    change_limit(exchange, APP_CHANGE_REPLACE);
}

HANDLER(limit_patch_handle)
{
    change_limit(exchange, APP_CHANGE_MERGE);
}

HANDLER(limit_delete_handle)
{
    change_limit(exchange, APP_CHANGE_RESET);
}
