#include "qstash/group_publication.h"

#include <stdio.h>

#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/group_lookup.h"

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
    const struct message_request *request;
    struct settings *settings;
    group_publication_fn *fn;
    void *arg;
    struct group_lookup lookup;
    struct endpoint_message *messages;
    size_t pending; /* number of messages under way, and one more while messages are begun */
};

struct group_publication *group_publication_new(struct app *app, struct slice group,
                                                const struct message_request *request,
                                                struct settings *settings, group_publication_fn *fn,
                                                void *arg)
{
    struct group_publication *publication = NEW(struct group_publication);
    publication->app = app;
    publication->request = request;
    publication->settings = settings;
    publication->fn = fn;
    publication->arg = arg;
    group_lookup_init(&publication->lookup, group);
    return publication;
}

void group_publication_free(struct group_publication *publication)
{
    if (!publication)
        return;
    for (size_t i = 0; publication->messages && i < publication->lookup.group.count; i++)
        if (publication->messages[i].message)
            message_free(publication->messages[i].message);
    free(publication->messages);
    group_lookup_fini(&publication->lookup);
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
    size_t count = publication->lookup.group.count, refused = 0;
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

/* ---- sending ---- */

static void send_to_endpoint(struct group_publication *publication, size_t index)
{
    struct endpoint_message *message = &publication->messages[index];
    const struct url_group_endpoint *endpoint = &publication->lookup.group.endpoints[index];
    message->publication = publication;
    message->request = *publication->request;
    message->request.url = endpoint->url;
    message->request.data.group = publication->lookup.name;
    message->request.data.endpoint = endpoint->name;
    message->message = message_new(publication->app, on_endpoint_sent, message);
    message_send(message->message, &message->request);
}

static void send_all(struct group_publication *publication)
{
    size_t count = publication->lookup.group.count;
    group_lookup_take_defaults(&publication->lookup, publication->settings);
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

static void on_group_known(void *arg, unsigned status, const char *error)
{
    struct group_publication *publication = arg;
    if (status == 200)
        send_all(publication);
    else
        end_with_error(publication, status, error);
}

void group_publication_start(struct group_publication *publication)
{
    group_lookup_start(&publication->lookup, publication->app, on_group_known, publication);
}
