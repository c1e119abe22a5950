#include "qstash/publish.h"

#include "base/memory.h"
#include "qstash/publication.h"

static void publish_free(void *publication)
{
    publication_fini(publication);
    free(publication);
}

static void on_published(void *arg, const struct publication *publication, unsigned status,
                         struct slice answer)
{
    struct exchange *exchange = arg;
    struct buffer *body = exchange_scratch(exchange);
    (void)publication;
    buffer_append(body, answer); /* the answer is freed with the exchange */
    exchange_answer(exchange, status, &exchange_retry_after, status == 503, buffer_slice(body));
}

static void take_header(void *settings, struct slice name, struct slice value)
{
    settings_take(settings, name, value);
}

static void publish_or_trigger(struct exchange *exchange, struct slice queue, bool begins_run)
{
    struct publication *publication = NEW(struct publication);
    publication_init(publication, exchange, on_published, exchange);
    exchange_keep(exchange, publication, publish_free);
    http_request_each_header(exchange->request, take_header, &publication->settings);
    if (begins_run)
        publication_begin_run(publication);
    publication_send(publication, exchange->rest, queue, http_request_body(exchange->request));
}

void publish_in(struct exchange *exchange, struct slice queue)
{
    publish_or_trigger(exchange, queue, false);
}

HANDLER(trigger_handle)
{
    publish_or_trigger(exchange, SLICE(""), true);
}

HANDLER(publish_handle)
{
    publish_in(exchange, SLICE(""));
}
