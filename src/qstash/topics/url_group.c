#include "qstash/topics/topics.h"

#include <stdio.h>

#include "app/topics.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "job/target/url.h"
#include "job/text/json.h"
#include "job/topic/topic_settings.h"
#include "qstash/messages/message.h"

enum { ENDPOINT_NAME_MAX = 128 };

struct slice url_group_topic(struct slice name, char room[MESSAGE_TOPIC_SIZE])
{
    struct buffer text = buffer_of(room, MESSAGE_TOPIC_SIZE);
    if (!group_name_is_valid(name))
        return SLICE("");
    buffer_append(&text, SLICE(URL_GROUPS));
    buffer_append(&text, name);
    return !text.failed && topic_is_valid(buffer_slice(&text)) ? buffer_slice(&text) : SLICE("");
}

/* ---- reading ---- */

static struct slice group_text(struct url_group *group, struct slice value)
{
    return json_is_text(value) ? json_text(value, &group->text) : SLICE("");
}

static struct url_group_endpoint read_endpoint(struct url_group *group, struct slice object)
{
    struct url_group_endpoint endpoint = {.name = {NULL, 0}};
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"name\"")))
            endpoint.name = group_text(group, value);
        else if (slice_equal(key, SLICE("\"url\"")))
            endpoint.url = group_text(group, value);
    }
    return endpoint;
}

static void group_init(struct url_group *group, size_t bytes)
{
    *group = (struct url_group){.created_ms = 0};
    buffer_init_fallible(&group->text, bytes + 1);
    buffer_reserve(&group->text,
                   bytes + 1); /* the buffer must not move later, because slices point into it */
}

/* Returns false if there are too many endpoints. */
static bool read_endpoints(struct url_group *group, struct slice array)
{
    struct json_cursor cursor;
    struct slice item;
    bool is_array = json_open(array, &cursor) && cursor.close == ']';
    while (is_array && json_next_item(&cursor, &item)) {
        if (group->count == URL_GROUP_ENDPOINTS_MAX)
            return false;
        group->endpoints[group->count++] = read_endpoint(group, item);
    }
    return true;
}

void url_group_read(struct url_group *group, struct slice note)
{
    struct json_cursor cursor;
    struct slice key, value;
    uint64_t number;
    group_init(group, note.size);
    bool is_object = note.size && json_open(note, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"createdAt\"")) && slice_to_number(value, INT64_MAX, &number))
            group->created_ms = (int64_t)number;
        else if (slice_equal(key, SLICE("\"updatedAt\"")) && slice_to_number(value, INT64_MAX, &number))
            group->updated_ms = (int64_t)number;
        else if (slice_equal(key, SLICE("\"endpoints\"")))
            read_endpoints(group, value);
        else if (slice_equal(key, SLICE("\"headers\"")))
            group->headers = value;
    }
}

void url_group_fini(struct url_group *group)
{
    buffer_fini(&group->text);
}

static bool is_name(struct slice name)
{
    return name.size == 0 || (name.size <= ENDPOINT_NAME_MAX && utf8_is_text(name.data, name.size));
}

static const char *check_endpoint(const struct url_group_endpoint *endpoint, bool with_urls)
{
    struct url url;
    const char *detail = NULL;
    if (!is_name(endpoint->name))
        return "the name of an endpoint must have at most 128 bytes, and no control characters";
    if (!with_urls)
        return endpoint->name.size || endpoint->url.size ? NULL : "an endpoint must have a name or a url";
    if (endpoint->url.size > JOB_URL_MAX)
        return "the url of an endpoint must have at most 2048 bytes";
    return url_parse(endpoint->url, &url, &detail) == STATUS_OK
               ? NULL
               : "the url of an endpoint must begin with http:// or https://, and be valid";
}

const char *url_group_read_endpoints(struct url_group *group, struct slice text, bool with_urls)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault ignored;
    const char *fault = NULL;
    group_init(group, text.size);
    if (json_check(text, &limits, &ignored) != STATUS_OK)
        return "the body must be JSON";
    struct json_cursor cursor;
    struct slice key, value, endpoints = {NULL, 0};
    bool is_object = json_open(text, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value))
        if (slice_equal(key, SLICE("\"endpoints\"")))
            endpoints = value;
    if (endpoints.size && !read_endpoints(group, endpoints))
        return "a request has at most 100 endpoints";
    if (group->count == 0)
        return "endpoints must be an array of objects";
    for (size_t i = 0; i < group->count && !fault; i++)
        fault = check_endpoint(&group->endpoints[i], with_urls);
    return fault;
}

/* ---- changes ---- */

static struct url_group_endpoint *find_endpoint(struct url_group *group,
                                                const struct url_group_endpoint *wanted)
{
    for (size_t i = 0; i < group->count && wanted->name.size; i++)
        if (slice_equal(group->endpoints[i].name, wanted->name))
            return &group->endpoints[i];
    for (size_t i = 0; i < group->count && wanted->url.size; i++)
        if (slice_equal(group->endpoints[i].url, wanted->url))
            return &group->endpoints[i];
    return NULL;
}

static void remove_endpoint(struct url_group *group, size_t index)
{
    group->count--;
    for (size_t i = index; i < group->count; i++)
        group->endpoints[i] = group->endpoints[i + 1];
}

bool url_group_put(struct url_group *group, const struct url_group_endpoint *endpoint)
{
    struct url_group_endpoint *found = find_endpoint(group, endpoint);
    if (!found && group->count == URL_GROUP_ENDPOINTS_MAX)
        return false;
    if (!found)
        found = &group->endpoints[group->count++];
    found->url = endpoint->url;
    if (endpoint->name.size)
        found->name = endpoint->name;
    for (size_t i = group->count; i-- > 0;)
        if (&group->endpoints[i] != found && slice_equal(group->endpoints[i].url, endpoint->url)) {
            remove_endpoint(group, i);
            found -= &group->endpoints[i] < found;
        }
    return true;
}

void url_group_remove(struct url_group *group, const struct url_group_endpoint *endpoint)
{
    size_t kept = 0;
    for (size_t i = 0; i < group->count; i++) {
        const struct url_group_endpoint *each = &group->endpoints[i];
        bool is_it = endpoint->name.size ? slice_equal(each->name, endpoint->name)
                                         : slice_equal(each->url, endpoint->url);
        if (!is_it)
            group->endpoints[kept++] = *each;
    }
    group->count = kept;
}

/* ---- writing ---- */

static void add_members(const struct url_group *group, struct json_writer *json)
{
    json_add_number(json, "createdAt", group->created_ms);
    json_add_number(json, "updatedAt", group->updated_ms);
    json_add_array(json, "endpoints");
    for (size_t i = 0; i < group->count; i++) {
        json_put_object(json);
        if (group->endpoints[i].name.size)
            json_add_text(json, "name", group->endpoints[i].name);
        json_add_text(json, "url", group->endpoints[i].url);
        json_end_object(json);
    }
    json_end_array(json);
}

void url_group_write(const struct url_group *group, struct buffer *note)
{
    struct json_writer json = json_writer_to(note);
    json_put_object(&json);
    add_members(group, &json);
    if (group->headers.size) {
        json_put_name(&json, "headers");
        buffer_append(note, group->headers);
    }
    json_end_object(&json);
}

void url_group_show(const struct url_group *group, struct slice name, struct json_writer *json)
{
    json_put_object(json);
    json_add_text(json, "name", name);
    add_members(group, json);
    json_end_object(json);
}

/* ---- finding a group ---- */

void group_lookup_init(struct group_lookup *lookup, struct slice name)
{
    *lookup = (struct group_lookup){.name = name};
    lookup->topic = url_group_topic(name, lookup->topic_room);
    buffer_init(&lookup->note, URL_GROUP_BYTES_MAX);
    buffer_init(&lookup->headers, JOB_HEADER_BYTES_MAX);
}

void group_lookup_fini(struct group_lookup *lookup)
{
    url_group_fini(&lookup->group);
    buffer_fini(&lookup->note);
    buffer_fini(&lookup->headers);
}

static void lookup_on_topic(void *arg, const struct topic *topic)
{
    struct group_lookup *lookup = arg;
    struct topic_settings settings;
    if (topic->own.size == 0 || topic_settings_read(topic->own, &settings) != STATUS_OK)
        return;
    lookup->is_lacking = settings.lacks.size > 0;
    buffer_append(&lookup->note, settings.note);
    topic_settings_fini(&settings);
}

static void lookup_refuse(const struct group_lookup *lookup)
{
    char error[64 + JOB_TOPIC_MAX];
    snprintf(error, sizeof error, "topic %.*s not found", SLICE_ARG(lookup->name));
    lookup->fn(lookup->arg, 404, error);
}

static void lookup_on_end(void *arg, const struct app_verdict *verdict)
{
    struct group_lookup *lookup = arg;
    const struct app_verdict lacking = {.end = STATUS_LACKING};
    char text[ANSWER_TEXT_SIZE];
    if (verdict->end != STATUS_OK || lookup->is_lacking) {
        unsigned status = answer_of_verdict(verdict->end == STATUS_OK ? &lacking : verdict, text);
        lookup->fn(lookup->arg, status, text);
        return;
    }
    url_group_read(&lookup->group, buffer_slice(&lookup->note));
    if (lookup->group.count)
        lookup->fn(lookup->arg, 200, NULL);
    else
        lookup_refuse(lookup);
}

void group_lookup_start(struct group_lookup *lookup, struct app *app, group_lookup_fn *fn, void *arg)
{
    lookup->fn = fn;
    lookup->arg = arg;
    if (lookup->topic.size)
        app_topic(app, lookup->topic, lookup_on_topic, lookup_on_end, lookup);
    else
        lookup_refuse(lookup);
}

/* ---- the defaults of the group ---- */

/* Returns the first text of a value, which is a text or an array of texts. */
static struct slice first_text(struct slice value, struct buffer *text)
{
    struct json_cursor cursor;
    struct slice item = value;
    if (value.data[0] == '[' && (!json_open(value, &cursor) || !json_next_item(&cursor, &item)))
        return SLICE("");
    return json_is_text(item) ? json_text(item, text) : SLICE("");
}

struct callback_setting group_header_take(struct slice key, struct slice value, struct buffer *text,
                                          struct message_settings *settings)
{
    buffer_reserve(text, text->max); /* the buffer must not move later, because slices point into it */
    struct slice name = json_has_escapes(key) ? SLICE("") : slice_from(key.data + 1, key.size - 2);
    struct slice content = first_text(value, text);
    message_settings_take_default(settings, name, content);
    return (struct callback_setting){name, content};
}

static void forward_header(void *settings, struct slice name, struct slice value)
{
    message_settings_forward(settings, name, value);
}

void group_lookup_take_defaults(struct group_lookup *lookup, const struct http_request *request,
                                struct message_settings *settings)
{
    struct json_cursor cursor;
    struct slice key, value;
    struct slice object = lookup->group.headers;
    bool is_object = object.size && json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value))
        group_header_take(key, value, &lookup->headers, settings);
    if (settings->forwards_all)
        http_request_each_header(request, forward_header, settings);
    message_settings_check_flow(settings);
}

/* ---- messages of an occurrence ---- */

/* The message of a schedule, while a copy of it is written for each endpoint. */
struct group_messages {
    struct group_jobs *jobs;
    struct message_view view;
    struct message_settings settings;
    /* text: decoded settings of callbacks. data: formData of the message to one endpoint. */
    struct buffer text, data;
    struct job job; /* message to an endpoint */
};

/* Adds the message to an endpoint. Its id ends with the endpoint's number, because the endpoint's name may be
 * any text. */
static enum status add_message(struct group_messages *messages, const struct url_group_endpoint *endpoint,
                               size_t number)
{
    struct group_jobs *jobs = messages->jobs;
    char name[24];
    messages->view.data.endpoint = endpoint->name;
    buffer_clear(&messages->data);
    message_data_write(&messages->data, &messages->view.data, &messages->settings);
    if (messages->data.failed) {
        jobs->field = "callback";
        snprintf(jobs->detail, sizeof jobs->detail,
                 "has settings that exceed 16 KiB together with the name of endpoint %zu", number);
        return STATUS_INVALID;
    }
    messages->job.url = endpoint->url;
    messages->job.form_data = buffer_slice(&messages->data);
    snprintf(name, sizeof name, "%zu", number);
    return group_jobs_add(jobs, slice_of(name), &messages->job);
}

static enum status add_messages(const struct job *message, struct slice note, struct group_jobs *jobs)
{
    struct group_messages *messages = NEW(struct group_messages);
    struct url_group *group = NEW(struct url_group);
    messages->jobs = jobs;
    messages->job = *message;
    message_view_of(message, &messages->view);
    message_settings_init(&messages->settings);
    buffer_init(&messages->text, MESSAGE_VIEW_SETTINGS_TEXT);
    buffer_init(&messages->data, JOB_FORM_DATA_MAX);
    message_view_take_settings(&messages->view, &messages->settings, &messages->text);
    url_group_read(group, note);
    enum status status = group->count ? STATUS_OK : STATUS_UNREADABLE;
    for (size_t i = 0; i < group->count && status == STATUS_OK; i++)
        status = add_message(messages, &group->endpoints[i], i + 1);
    url_group_fini(group);
    free(group);
    message_view_release(&messages->view);
    message_settings_fini(&messages->settings);
    buffer_fini(&messages->text);
    buffer_fini(&messages->data);
    free(messages);
    return status;
}

enum status group_messages_write(const struct job *message, struct slice text, struct group_jobs *jobs)
{
    struct topic_settings settings;
    if (topic_settings_read(text, &settings) != STATUS_OK)
        return STATUS_UNREADABLE;
    enum status status = settings.lacks.size ? group_jobs_lack(jobs, settings.lacks)
                                             : add_messages(message, settings.note, jobs);
    topic_settings_fini(&settings);
    return status;
}
