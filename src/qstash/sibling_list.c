#include "qstash/topics/message_topic.h"

#include "app/topics.h"
#include "base/memory.h"
#include "qstash/handler.h"

enum { LIST_BYTES_MAX = 8 * 1024 * 1024 };

struct sibling_list {
    struct exchange *exchange;
    sibling_list_fn *put;
    const void *arg;
    struct buffer text;
    struct json_writer json;
};

static void on_sibling(void *arg, const struct topic *topic)
{
    struct sibling_list *list = arg;
    list->put(&list->json, topic, list->arg);
}

static void answer_siblings(struct sibling_list *list)
{
    json_end_array(&list->json);
    if (list->text.failed)
        exchange_refuse(list->exchange, 503, "there is no memory for this list");
    else
        exchange_answer(list->exchange, 200, NULL, 0, buffer_slice(&list->text));
}

static void on_siblings_end(void *arg, const struct app_verdict *verdict)
{
    struct sibling_list *list = arg;
    if (verdict->end == STATUS_OK)
        answer_siblings(list);
    else
        answer_refuse_verdict(list->exchange, verdict);
    buffer_fini(&list->text);
    free(list);
}

void sibling_list_answer(struct exchange *exchange, struct slice prefix, size_t max, sibling_list_fn *put,
                         const void *arg)
{
    struct sibling_list *list = NEW(struct sibling_list);
    *list = (struct sibling_list){.exchange = exchange, .put = put, .arg = arg};
    buffer_init_fallible(&list->text, LIST_BYTES_MAX);
    list->json = json_writer_to(&list->text);
    json_put_array(&list->json);
    app_siblings(app_of(exchange), prefix, max, on_sibling, on_siblings_end, list);
}
