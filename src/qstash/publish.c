#include "qstash/publish.h"

#include "http/trace_context.h"
#include "qstash/answer.h"

/* ---- settings ---- */

static void take_header(void *settings, struct slice name, struct slice value)
{
    settings_take(settings, name, value);
}

static void forward_header(void *settings, struct slice name, struct slice value)
{
    settings_forward(settings, name, value);
}

void publish_take_headers(struct exchange *exchange, struct settings *settings)
{
    http_request_each_header(exchange->request, take_header, settings);
}

/* ---- the answer ---- */

void publish_write_sent(struct buffer *body, const struct message_sent *sent)
{
    struct json_writer json = json_writer_to(body);
    if (sent->error.size) {
        answer_write_error(body, sent->error);
        return;
    }
    json_put_object(&json);
    json_add_text(&json, "messageId", sent->id);
    if (sent->status == 202)
        json_add_bool(&json, "deduplicated", true);
    json_end_object(&json);
}

static void on_sent(void *arg, const struct message_sent *sent)
{
    struct exchange *exchange = arg;
    if (sent->error.size) {
        exchange_refuse(exchange, sent->status, "%.*s", SLICE_ARG(sent->error));
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    publish_write_sent(body, sent);
    exchange_answer(exchange, sent->status, NULL, 0, buffer_slice(body));
}

/* ---- the request ---- */

static void free_message(void *message)
{
    message_free(message);
}

static void send_message(struct exchange *exchange, struct slice topic, struct slice queue, struct slice url,
                         const struct settings *settings)
{
    char from[HTTP_FROM_SIZE];
    struct trace_context trace;
    struct job traced = {.topic = topic};
    struct message *message = message_new(app_of(exchange), on_sent, exchange);
    exchange_keep(exchange, message, free_message);
    http_request_from(exchange->request, from);
    trace_context_take(exchange->request, &trace, &traced);
    message_send(message, &(struct message_request){
                              .topic = topic,
                              .url = url,
                              .body = http_request_body(exchange->request),
                              .settings = settings,
                              .data = {.queue = queue, .caller_ip = slice_of(from)},
                              .caller = &exchange->caller,
                              .trace_parent = traced.trace_parent,
                              .trace_state = traced.trace_state,
                          });
}

void publish_to(struct exchange *exchange, struct slice topic, struct slice queue)
{
    struct destination destination;
    struct settings settings;
    const char *fault;
    settings_init(&settings);
    publish_take_headers(exchange, &settings);
    bool is_read = destination_read(exchange->rest, &destination, &settings, &fault);
    if (settings.forwards_all)
        http_request_each_header(exchange->request, forward_header, &settings);
    if (!is_read)
        exchange_refuse(exchange, 400, "%s", fault);
    else if (settings.fault[0])
        exchange_refuse(exchange, settings.fault_status, "%s", settings.fault);
    else if (destination.group.size)
        exchange_refuse(exchange, 404, "topic %.*s not found", SLICE_ARG(destination.group));
    else
        send_message(exchange, topic, queue, destination.url, &settings);
    destination_fini(&destination);
    settings_fini(&settings);
}

HANDLER(publish_handle)
{
    publish_to(exchange, SLICE(QSTASH_TOPIC_MESSAGES), SLICE(""));
}
