#include "qstash/group_publication.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/group_lookup.h"
#include "qstash/handler.h"

enum { GROUP_ANSWER_MAX = 512 * 1024 };

static_assert((int)URL_GROUP_ENDPOINTS_MAX <= (int)APP_SUBMISSIONS_MAX, "one script sends to a whole group");

/* A message to an endpoint. */
struct endpoint_message {
    struct group_publication *publication;
    struct message_request request;
    struct message *message;
    bool is_ready;   /* the message can be sent */
    unsigned status; /* HTTP status, set when the message has been sent or refused */
    char id[MESSAGE_ID_MAX + 1];
    char error[ANSWER_TEXT_SIZE];
};

struct group_publication {
    struct exchange *exchange;
    struct app *app;
    const struct message_request *request;
    struct settings *settings;
    group_publication_fn *fn;
    void *arg;
    struct group_lookup lookup;
    struct endpoint_message *messages;
    bool is_sending;
    size_t pending; /* number of messages that are still in the current step, plus 1 while the step is being
                       started */
};

struct group_publication *group_publication_new(struct exchange *exchange, struct slice group,
                                                const struct message_request *request,
                                                struct settings *settings, group_publication_fn *fn,
                                                void *arg)
{
    struct group_publication *publication = NEW(struct group_publication);
    publication->exchange = exchange;
    publication->app = app_of(exchange);
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

/* Returns NULL if a message was sent, else the message whose error the client gets. The error of a message
 * that was ready to be sent comes first, because a repeated request may succeed. If no message was ready,
 * this is the first message. */
static const struct endpoint_message *first_refused(const struct group_publication *publication)
{
    const struct endpoint_message *first = &publication->messages[0];
    for (size_t i = publication->lookup.group.count; i-- > 0;) {
        const struct endpoint_message *message = &publication->messages[i];
        if (!message->error[0])
            return NULL;
        if (message->is_ready)
            first = message;
    }
    return first;
}

static void end_messages(struct group_publication *publication)
{
    struct buffer answer;
    struct json_writer json = json_writer_to(&answer);
    size_t count = publication->lookup.group.count;
    const struct endpoint_message *refused = first_refused(publication);
    if (refused) {
        end_with_error(publication, refused->status, refused->error);
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

/* ---- sending ---- */

/* Sends the messages that are ready. If one could not be prepared because Redis did not answer, sends none:
 * the client repeats the request, and a part of its messages would come twice. */
static void send_ready(struct group_publication *publication)
{
    struct message *ready[URL_GROUP_ENDPOINTS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < publication->lookup.group.count; i++) {
        const struct endpoint_message *message = &publication->messages[i];
        if (message->is_ready) {
            ready[count++] = message->message;
        } else if (message->status >= 500) {
            end_with_error(publication, message->status, message->error);
            return;
        }
    }
    publication->is_sending = true;
    publication->pending = count;
    if (count)
        messages_send(ready, count);
    else
        end_messages(publication);
}

/* Ends the current step for one message. When all messages have ended it, begins the next step. */
static void end_one(struct group_publication *publication)
{
    if (--publication->pending > 0)
        return;
    if (publication->is_sending)
        end_messages(publication);
    else
        send_ready(publication);
}

static void on_endpoint_ready(void *arg)
{
    struct endpoint_message *message = arg;
    message->is_ready = true;
    end_one(message->publication);
}

static void on_endpoint_sent(void *arg, const struct message_sent *sent)
{
    struct endpoint_message *message = arg;
    message->status = sent->status;
    snprintf(message->id, sizeof message->id, "%.*s", SLICE_ARG(sent->id));
    snprintf(message->error, sizeof message->error, "%.*s", SLICE_ARG(sent->error));
    end_one(message->publication);
}

static void prepare_for_endpoint(struct group_publication *publication, size_t index)
{
    struct endpoint_message *message = &publication->messages[index];
    const struct url_group_endpoint *endpoint = &publication->lookup.group.endpoints[index];
    message->publication = publication;
    message->request = *publication->request;
    message->request.url = endpoint->url;
    message->request.data.group = publication->lookup.name;
    message->request.data.endpoint = endpoint->name;
    message->message = message_new(publication->app, on_endpoint_sent, message);
    message_prepare(message->message, &message->request, on_endpoint_ready);
}

static void prepare_all(struct group_publication *publication)
{
    size_t count = publication->lookup.group.count;
    group_lookup_take_defaults(&publication->lookup, publication->exchange->request, publication->settings);
    if (publication->settings->fault[0]) {
        end_with_error(publication, publication->settings->fault_status, publication->settings->fault);
        return;
    }
    publication->messages = NEW_ARRAY(struct endpoint_message, count);
    publication->pending = count + 1;
    for (size_t i = 0; i < count; i++)
        prepare_for_endpoint(publication, i);
    end_one(publication);
}

/* ---- the group ---- */

static void on_group_known(void *arg, unsigned status, const char *error)
{
    struct group_publication *publication = arg;
    if (status == 200)
        prepare_all(publication);
    else
        end_with_error(publication, status, error);
}

void group_publication_start(struct group_publication *publication)
{
    group_lookup_start(&publication->lookup, publication->app, on_group_known, publication);
}
