/* groups.c - GET /groups, and GET, PUT, PATCH and DELETE /groups/<name> */
#include "app/groups.h"

#include "api/page.h"
#include "api/problem.h"
#include "api/query.h"
#include "api/view.h"
#include "http/etag.h"

/* ---- GET ---- */

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
        exchange_refuse(
            exchange, 409,
            "The group needs \"%.*s\", which this process does not know: a later version of duepost "
            "can change the group, and DELETE removes it.",
            SLICE_ARG(verdict->why));
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

/* ---- PUT, PATCH, DELETE ---- */

static void on_changed(void *arg, const struct app_verdict *verdict)
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
    app_group_change(app_of(exchange), &exchange->caller, &call, is_removal ? on_removed : on_changed,
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
