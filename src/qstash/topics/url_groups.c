/* url_groups.c - /v2/topics: URL groups, see topics.h. */
#include "app/topics.h"
#include "base/memory.h"
#include "job/text/json.h"
#include "qstash/qstash_private.h"
#include "qstash/topics/topics.h"

enum { GROUPS_MAX = 1000 /* maximum number of groups in a list */ };

struct group_call;
/* Changes a group as one kind of request does. Returns the error, or NULL. */
typedef const char *group_change_fn(struct group_call *, struct url_group *);

/* A request about a group. */
struct group_call {
    struct exchange *exchange;
    struct slice name, topic;
    char topic_room[MESSAGE_TOPIC_SIZE];
    group_change_fn *change;
    bool creates;           /* if the group is unknown, it is created */
    bool is_known;          /* the group was found */
    struct url_group asked; /* the endpoints of the request */
    struct slice headers;   /* PATCH: the new default headers */
    struct buffer note;
    const char *fault; /* the reason if the change was refused */
    char header_fault[MESSAGE_SETTINGS_FAULT_SIZE];
};

static void group_call_free(void *arg)
{
    struct group_call *call = arg;
    url_group_fini(&call->asked);
    buffer_fini(&call->note);
    free(call);
}

static void refuse_unknown_group(struct exchange *exchange)
{
    exchange_refuse(exchange, 404, "topic %.*s not found", SLICE_ARG(exchange->key));
}

/* Creates the state of a request. Returns NULL after answering 400. */
static struct group_call *group_call_new(struct exchange *exchange)
{
    struct group_call *call = NEW(struct group_call);
    call->exchange = exchange;
    call->name = exchange->key;
    call->topic = url_group_topic(exchange->key, call->topic_room);
    buffer_init(&call->note, URL_GROUP_BYTES_MAX);
    exchange_keep(exchange, call, group_call_free);
    if (call->topic.size)
        return call;
    exchange_refuse(exchange, 400, "the name of a group must be at most %d characters of A-Z a-z 0-9 . _ -",
                    URL_GROUP_NAME_MAX);
    return NULL;
}

/* ---- GET ---- */

static void put_group(struct json_writer *json, const struct topic *topic, const void *arg)
{
    struct topic_settings settings;
    struct url_group group;
    (void)arg;
    if (topic_settings_read(topic->own, &settings) != STATUS_OK)
        return;
    url_group_read(&group, settings.note);
    url_group_show(&group, slice_skip(topic->name, strlen(URL_GROUPS)), json);
    url_group_fini(&group);
    topic_settings_fini(&settings);
}

static void on_group(void *arg, const struct topic *topic)
{
    struct group_call *call = arg;
    struct json_writer json = json_writer_to(exchange_scratch(call->exchange));
    call->is_known = topic->own.size > 0;
    put_group(&json, topic, NULL);
}

static void on_group_end(void *arg, const struct app_verdict *verdict)
{
    const struct group_call *call = arg;
    struct exchange *exchange = call->exchange;
    if (verdict->end != STATUS_OK)
        answer_refuse_verdict(exchange, verdict);
    else if (!call->is_known)
        refuse_unknown_group(exchange);
    else
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&exchange->site->scratch));
}

HANDLER(url_group_handle)
{
    struct group_call *call = group_call_new(exchange);
    if (call)
        app_topic(app_of(exchange), call->topic, on_group, on_group_end, call);
}

HANDLER(url_groups_handle)
{
    sibling_list_answer(exchange, SLICE(URL_GROUPS), GROUPS_MAX, put_group, NULL);
}

/* ---- changes ---- */

/* Writes the changed group, or removes it if it has no endpoints any more. */
static enum app_sibling_change write_group(struct group_call *call, struct url_group *group,
                                           struct topic_settings *settings, int64_t now_ms)
{
    group->updated_ms = now_ms;
    buffer_clear(&call->note);
    url_group_write(group, &call->note);
    if (call->note.failed) {
        call->fault = "the endpoints of a group have together at most 48 KiB";
        return APP_SIBLING_KEEP;
    }
    settings->note = buffer_slice(&call->note);
    return group->count ? APP_SIBLING_WRITE : APP_SIBLING_REMOVE;
}

static enum app_sibling_change on_group_settings(void *arg, struct topic_settings *settings,
                                                 bool has_settings, int64_t now_ms)
{
    struct group_call *call = arg;
    struct url_group group;
    if (!has_settings && !call->creates)
        return APP_SIBLING_MISSING;
    url_group_read(&group, settings->note);
    if (!has_settings)
        group.created_ms = now_ms;
    call->fault = call->change(call, &group);
    enum app_sibling_change what =
        call->fault ? APP_SIBLING_KEEP : write_group(call, &group, settings, now_ms);
    url_group_fini(&group);
    return what;
}

static void on_group_changed(void *arg, const struct app_verdict *verdict)
{
    const struct group_call *call = arg;
    if (verdict->end == STATUS_NOT_FOUND)
        refuse_unknown_group(call->exchange);
    else if (verdict->end == STATUS_OK && call->fault)
        exchange_refuse(call->exchange, 400, "%s", call->fault);
    else
        answer_done(call->exchange, verdict);
}

static void change_group(struct group_call *call, group_change_fn *change)
{
    call->change = change;
    app_sibling_change(app_of(call->exchange), &call->exchange->caller, call->topic, on_group_settings,
                       on_group_changed, call);
}

static const char *put_endpoints(struct group_call *call, struct url_group *group)
{
    for (size_t i = 0; i < call->asked.count; i++)
        if (!url_group_put(group, &call->asked.endpoints[i]))
            return "a group has at most 100 endpoints";
    return NULL;
}

static const char *remove_endpoints(struct group_call *call, struct url_group *group)
{
    for (size_t i = 0; i < call->asked.count; i++)
        url_group_remove(group, &call->asked.endpoints[i]);
    return NULL;
}

static const char *set_headers(struct group_call *call, struct url_group *group)
{
    group->headers = call->headers;
    return NULL;
}

/* Reads the endpoints of the request. Returns false after answering 400. */
static bool read_asked(struct group_call *call, bool with_urls)
{
    const char *fault =
        url_group_read_endpoints(&call->asked, http_request_body(call->exchange->request), with_urls);
    if (fault)
        exchange_refuse(call->exchange, 400, "%s", fault);
    return !fault;
}

HANDLER(endpoints_put_handle)
{
    struct group_call *call = group_call_new(exchange);
    if (!call || !read_asked(call, true))
        return;
    call->creates = true;
    change_group(call, put_endpoints);
}

HANDLER(endpoints_delete_handle)
{
    struct group_call *call = group_call_new(exchange);
    if (call && read_asked(call, false))
        change_group(call, remove_endpoints);
}

/* ---- PATCH ---- */

/* Returns whether the value is a string, or an array of at least one string. */
static bool is_header_value(struct slice value)
{
    struct json_cursor cursor;
    struct slice item;
    size_t count = 0;
    if (json_is_text(value))
        return true;
    if (!json_open(value, &cursor) || cursor.close != ']')
        return false;
    for (; json_next_item(&cursor, &item); count++)
        if (!json_is_text(item))
            return false;
    return count > 0;
}

/* Checks the default settings by the same rules as for a message to the group, so that no message is refused
 * because of them later. Returns the error, or NULL. */
static const char *check_headers(struct group_call *call)
{
    struct message_settings *settings = NEW(struct message_settings);
    struct json_cursor cursor;
    struct slice key, value;
    message_settings_init(settings);
    json_open(call->headers, &cursor);
    while (json_next_member(&cursor, &key, &value) && !settings->fault[0])
        if (is_header_value(value)) {
            struct callback_setting header = group_header_take(key, value, &call->note, settings);
            message_settings_check_callback(settings, header.name, header.value);
        } else
            message_settings_refuse(settings, 400,
                                    "header %.*s: the value must be a string, or an array of strings",
                                    SLICE_ARG(key));
    memcpy(call->header_fault, settings->fault, sizeof call->header_fault);
    message_settings_fini(settings);
    free(settings);
    return call->header_fault[0] ? call->header_fault : NULL;
}

/* Finds headers, an object of strings or of arrays of strings. Returns the error, or NULL. */
static const char *read_headers(struct slice body, struct slice *headers)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault ignored;
    struct json_cursor cursor;
    struct slice key, value;
    if (json_check(body, &limits, &ignored) != STATUS_OK || !json_open(body, &cursor) || cursor.close != '}')
        return "the body must be a JSON object";
    while (json_next_member(&cursor, &key, &value))
        if (slice_equal(key, SLICE("\"headers\"")))
            *headers = value;
    if (headers->size == 0 || headers->data[0] != '{')
        return "headers must be an object";
    return headers->size <= JOB_HEADER_BYTES_MAX ? NULL : "headers must have at most 8 KiB";
}

HANDLER(url_group_patch_handle)
{
    struct group_call *call = group_call_new(exchange);
    if (!call)
        return;
    const char *fault = read_headers(http_request_body(exchange->request), &call->headers);
    if (!fault)
        fault = check_headers(call);
    if (fault)
        exchange_refuse(exchange, 400, "%s", fault);
    else
        change_group(call, set_headers);
}

/* ---- DELETE ---- */

HANDLER(url_group_delete_handle)
{
    struct group_call *call = group_call_new(exchange);
    if (call)
        app_sibling_change(app_of(exchange), &exchange->caller, call->topic, app_sibling_remove,
                           on_group_changed, call);
}
