#include "qstash/event_result.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

enum { TEXTS_MAX = 64 * 1024 * 1024 };

void event_result_init(struct event_result *result, size_t max)
{
    *result = (struct event_result){.items = NEW_ARRAY(struct event_found, max), .max = max};
    buffer_init_fallible(&result->texts, TEXTS_MAX);
}

void event_result_fini(struct event_result *result)
{
    free(result->items);
    buffer_fini(&result->texts);
}

bool event_result_is_full(const struct event_result *result)
{
    return result->count == result->max || result->texts.size >= EVENT_RESULT_BYTES;
}

/* Returns whether the result has the event already. A message that ends during the request can be found
 * twice: among the waiting messages, and again in the history. */
static bool has_event(const struct event_result *result, struct slice message_id, const struct event *event)
{
    for (size_t i = 0; i < result->count; i++) {
        const struct event_found *found = &result->items[i];
        if (found->number == event->number && slice_equal(slice_of(found->message_id), message_id))
            return true;
    }
    return false;
}

void event_result_add(struct event_result *result, const struct message_view *view, const struct event *event)
{
    struct slice message_id = view->job.job_id;
    struct event_found *found = &result->items[result->count];
    struct json_writer json = json_writer_to(&result->texts);
    assert(result->count < result->max && message_id.size <= MESSAGE_ID_MAX);
    if (has_event(result, message_id, event))
        return;
    *found = (struct event_found){.at_ms = event->at_ms, .number = event->number, .text = result->texts.size};
    memcpy(found->message_id, message_id.data, message_id.size);
    event_put(&json, view, event);
    found->size = result->texts.size - found->text;
    result->count++;
}

static int by_time(const void *left, const void *right)
{
    const struct event_found *a = left, *b = right;
    if (a->at_ms != b->at_ms)
        return a->at_ms > b->at_ms ? -1 : 1;
    int order = strcmp(b->message_id, a->message_id);
    return order ? order : (a->number < b->number) - (a->number > b->number);
}

void event_result_write(struct event_result *result, struct json_writer *json)
{
    qsort(result->items, result->count, sizeof *result->items, by_time);
    for (size_t i = 0; i < result->count; i++)
        json_put_raw(json, slice_from(result->texts.data + result->items[i].text, result->items[i].size));
}
