#include "qstash/group_lookup.h"

#include <stdio.h>

#include "app/topics.h"
#include "job/text/json.h"
#include "job/topic/topic_settings.h"

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

/* ---- finding ---- */

static void lookup_on_topic(void *arg, const struct topic *topic)
{
    struct group_lookup *lookup = arg;
    struct topic_settings settings;
    if (topic->own.size == 0 || topic_settings_read(topic->own, &settings) != STATUS_OK)
        return;
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
    char text[ANSWER_TEXT_SIZE];
    if (verdict->end != STATUS_OK) {
        unsigned status = answer_of_verdict(verdict, text);
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

struct settings_pair group_header_take(struct slice key, struct slice value, struct buffer *text,
                                       struct settings *settings)
{
    buffer_reserve(text, text->max); /* the buffer must not move later, because slices point into it */
    struct slice name = json_has_escapes(key) ? SLICE("") : slice_from(key.data + 1, key.size - 2);
    struct slice content = first_text(value, text);
    settings_take_default(settings, name, content);
    return (struct settings_pair){name, content};
}

static void forward_header(void *settings, struct slice name, struct slice value)
{
    settings_forward(settings, name, value);
}

void group_lookup_take_defaults(struct group_lookup *lookup, const struct http_request *request,
                                struct settings *settings)
{
    struct json_cursor cursor;
    struct slice key, value;
    struct slice object = lookup->group.headers;
    bool is_object = object.size && json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value))
        group_header_take(key, value, &lookup->headers, settings);
    if (settings->forwards_all)
        http_request_each_header(request, forward_header, settings);
    settings_check_flow(settings);
}
