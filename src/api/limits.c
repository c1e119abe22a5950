/* limits.c - /limits: a list of the limits that topics share, and GET, PUT, PATCH and DELETE of one limit */
#include "api/api_private.h"
#include "app/limits.h"
#include "http/request_headers.h"
#include "job/job_id.h"
#include "job/topic/topic_settings.h"

/* ---- GET ---- */

/* Adds why the limit lets no attempt begin now, if it does not. */
static void add_hold(struct json_writer *json, const struct limit *limit)
{
    static const char *const words[] = {
        [HOLD_PAUSED] = "paused", [HOLD_IN_FLIGHT] = "maxInFlight", [HOLD_RATE] = "rate"};
    if (limit->hold == HOLD_NONE)
        return;
    json_add_text(json, "heldBy", slice_of(words[limit->hold]));
    if (limit->hold == HOLD_RATE)
        json_add_time(json, "heldUntil", limit->next_ms);
}

/* Adds "settings". A text that cannot be read is shown as {}. */
static void add_settings(struct json_writer *json, struct slice text)
{
    struct topic_settings settings;
    json_put_name(json, "settings");
    struct buffer *body = json_put(json);
    if (limit_settings_read(text, &settings) == STATUS_OK) {
        topic_settings_show(&settings, body);
        topic_settings_fini(&settings);
    } else {
        buffer_append(body, SLICE("{}"));
    }
}

static void add_limit(struct json_writer *json, const struct limit *limit)
{
    json_add_text(json, "limit", limit->name);
    add_settings(json, limit->settings);
    json_add_number(json, "inFlight", limit->in_flight);
    json_add_number(json, "waitingTopics", limit->waiting);
    add_hold(json, limit);
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

static void limit_refuse(struct exchange *exchange, const struct app_verdict *verdict)
{
    static const struct problem_words words = {"limit", "Repeating the request is safe."};
    switch (verdict->end) {
    case STATUS_NOT_FOUND:
        exchange_refuse(exchange, 404, "There is no such limit. PUT /limits/%.*s makes it.",
                        SLICE_ARG(exchange->key));
        break;
    case STATUS_STALE:
        exchange_refuse(exchange, 412, "The limit does not meet If-Match or If-None-Match; nothing changed.");
        break;
    case STATUS_UNREADABLE:
        exchange_refuse(exchange, 409,
                        "The limit's settings in Redis cannot be read. PUT replaces them, DELETE removes the "
                        "limit.");
        break;
    case STATUS_LACKING:
        exchange_refuse(
            exchange, 409,
            "The limit needs \"%.*s\", which this process does not know: a later version of duepost "
            "can change the limit.",
            SLICE_ARG(verdict->why));
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
    exchange_answer(exchange, status, &header, 1, buffer_slice(&exchange->site->scratch));
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

/* ---- PUT, PATCH, DELETE ---- */

static void on_changed(void *arg, const struct app_verdict *verdict)
{
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        limit_refuse(exchange, verdict);
        return;
    }
    struct json_writer json = json_writer_to(exchange_scratch(exchange));
    json_put_object(&json);
    json_add_text(&json, "limit", exchange->key);
    add_settings(&json, verdict->settings);
    json_end_object(&json);
    answer_limit(exchange, verdict->was_there ? 200 : 201, verdict->settings);
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
    struct app_limit_change call = {.name = exchange->key,
                                    .kind = kind,
                                    .text = is_removal ? SLICE("") : http_request_body(exchange->request),
                                    .tags = buffer_slice(&exchange->seen)};
    app_limit_change(app_of(exchange), &exchange->caller, &call, is_removal ? on_removed : on_changed,
                     exchange);
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
