#include "qstash/group_publication.h"

#include <stdio.h>

#include "app/topics.h"
#include "base/memory.h"
#include "job/json.h"
#include "job/topic_settings.h"
#include "qstash/answer.h"
#include "qstash/url_group.h"

enum { GROUP_ANSWER_MAX = 512 * 1024 };

/* A message to an endpoint. */
struct endpoint_message {
    struct group_publication *publication;
    struct message_request request;
    struct message *message;
    unsigned status;
    char id[MESSAGE_ID_MAX + 1];
    char error[ANSWER_TEXT_SIZE];
};

struct group_publication {
    struct app *app;
    struct slice name;
    const struct message_request *request;
    struct settings *settings;
    group_publication_fn *fn;
    void *arg;
    char topic_room[PLACE_SIZE];
    struct slice topic;
    struct buffer note, headers; /* note and default headers of the group, decoded */
    struct url_group group;
    struct endpoint_message *messages;
    size_t pending; /* messages under way, and one more while they are begun */
};

struct group_publication *group_publication_new(struct app *app, struct slice name,
                                                const struct message_request *request,
                                                struct settings *settings, group_publication_fn *fn,
                                                void *arg)
{
    struct group_publication *publication = NEW(struct group_publication);
    publication->app = app;
    publication->name = name;
    publication->request = request;
    publication->settings = settings;
    publication->fn = fn;
    publication->arg = arg;
    publication->topic = url_group_topic(name, publication->topic_room);
    buffer_init(&publication->note, URL_GROUP_BYTES_MAX);
    buffer_init(&publication->headers, JOB_HEADER_BYTES_MAX);
    return publication;
}

void group_publication_free(struct group_publication *publication)
{
    if (!publication)
        return;
    for (size_t i = 0; publication->messages && i < publication->group.count; i++)
        if (publication->messages[i].message)
            message_free(publication->messages[i].message);
    free(publication->messages);
    url_group_fini(&publication->group);
    buffer_fini(&publication->note);
    buffer_fini(&publication->headers);
    free(publication);
}

/* ---- the end ---- */

static void end_with_error(struct group_publication *publication, unsigned status, const char *error)
{
    publication->fn(publication->arg, status, SLICE(""), slice_of(error));
}

static void put_message(struct json_writer *json, const struct endpoint_message *message)
{
    json_put_object(json);
    if (message->error[0]) {
        json_add_text(json, "error", slice_of(message->error));
    } else {
        json_add_text(json, "messageId", slice_of(message->id));
        json_add_text(json, "url", message->request.url);
        if (message->status == 202)
            json_add_bool(json, "deduplicated", true);
    }
    json_end_object(json);
}

static void end_messages(struct group_publication *publication)
{
    struct buffer answer;
    struct json_writer json = json_writer_to(&answer);
    size_t count = publication->group.count, refused = 0;
    for (size_t i = 0; i < count; i++)
        refused += publication->messages[i].error[0] != '\0';
    if (refused == count) {
        end_with_error(publication, publication->messages[0].status, publication->messages[0].error);
        return;
    }
    buffer_init(&answer, GROUP_ANSWER_MAX);
    json_put_array(&json);
    for (size_t i = 0; i < count; i++)
        put_message(&json, &publication->messages[i]);
    json_end_array(&json);
    publication->fn(publication->arg, 200, buffer_slice(&answer), SLICE(""));
    buffer_fini(&answer);
}

static void end_one(struct group_publication *publication)
{
    if (--publication->pending == 0)
        end_messages(publication);
}

static void on_endpoint_sent(void *arg, const struct message_sent *sent)
{
    struct endpoint_message *message = arg;
    message->status = sent->status;
    snprintf(message->id, sizeof message->id, "%.*s", SLICE_ARG(sent->id));
    snprintf(message->error, sizeof message->error, "%.*s", SLICE_ARG(sent->error));
    end_one(message->publication);
}

/* ---- the defaults of the group ---- */

/* The first text of a value, which is a text or an array of them. */
static struct slice first_text(struct group_publication *publication, struct slice value)
{
    struct json_cursor cursor;
    struct slice item = value;
    if (value.data[0] == '[' && (!json_open(value, &cursor) || !json_next_item(&cursor, &item)))
        return SLICE("");
    return json_is_text(item) ? json_text(item, &publication->headers) : SLICE("");
}

static void take_defaults(struct group_publication *publication)
{
    struct json_cursor cursor;
    struct slice key, value;
    struct slice object = publication->group.headers;
    buffer_reserve(&publication->headers, publication->headers.max); /* so that decoded texts never move */
    bool is_object = object.size && json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value)) {
        struct slice name = json_has_escapes(key) ? SLICE("") : slice_from(key.data + 1, key.size - 2);
        settings_take_default(publication->settings, name, first_text(publication, value));
    }
}

/* ---- sending ---- */

static void send_to_endpoint(struct group_publication *publication, size_t index)
{
    struct endpoint_message *message = &publication->messages[index];
    const struct url_group_endpoint *endpoint = &publication->group.endpoints[index];
    message->publication = publication;
    message->request = *publication->request;
    message->request.url = endpoint->url;
    message->request.data.group = publication->name;
    message->request.data.endpoint = endpoint->name;
    message->message = message_new(publication->app, on_endpoint_sent, message);
    message_send(message->message, &message->request);
}

static void send_all(struct group_publication *publication)
{
    size_t count = publication->group.count;
    take_defaults(publication);
    if (publication->settings->fault[0]) {
        end_with_error(publication, publication->settings->fault_status, publication->settings->fault);
        return;
    }
    publication->messages = NEW_ARRAY(struct endpoint_message, count);
    publication->pending = count + 1;
    for (size_t i = 0; i < count; i++)
        send_to_endpoint(publication, i);
    end_one(publication);
}

/* ---- the group ---- */

static void on_group_read(void *arg, const struct app_topic *topic)
{
    struct group_publication *publication = arg;
    struct topic_settings settings;
    if (topic->own.size == 0 || topic_settings_read(topic->own, &settings) != STATUS_OK)
        return;
    buffer_append(&publication->note, settings.note);
    topic_settings_fini(&settings);
}

static void refuse_group(struct group_publication *publication)
{
    char error[64 + JOB_TOPIC_MAX];
    snprintf(error, sizeof error, "topic %.*s not found", SLICE_ARG(publication->name));
    end_with_error(publication, 404, error);
}

static void on_group_known(void *arg, const struct app_verdict *verdict)
{
    struct group_publication *publication = arg;
    char text[ANSWER_TEXT_SIZE];
    if (verdict->end != APP_DONE) {
        unsigned status = answer_of_verdict(verdict, text);
        end_with_error(publication, status, text);
        return;
    }
    url_group_read(&publication->group, buffer_slice(&publication->note));
    if (publication->group.count)
        send_all(publication);
    else
        refuse_group(publication);
}

void group_publication_start(struct group_publication *publication)
{
    if (publication->topic.size)
        app_topic(publication->app, publication->topic, on_group_read, on_group_known, publication);
    else
        refuse_group(publication);
}
