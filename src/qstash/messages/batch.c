/* batch.c - POST /v2/batch: publishes many messages in one request.
 *
 * The body is an array; each item is one publication. The answer has one element for each item, in the same
 * order. If an item is invalid, its element has the error, and the other items are sent. If all items fail,
 * the answer is the error of the first item. The items of one durable run (runs.h) are sent all or none. */
#include "base/memory.h"
#include "job/text/json.h"
#include "qstash/messages/publish.h"
#include "qstash/qstash_private.h"

enum { ITEMS_MAX = 1000, MEMBERS_IN_ITEM_MAX = 1000 };

struct batch_item {
    struct batch *batch;
    struct publication publication;
    struct slice destination, queue, body;
};

struct batch {
    struct exchange *exchange;
    struct batch_item **items;
    size_t count, pending;
    struct run_append **appends; /* one for each durable run to which items belong */
    size_t append_count;
    struct buffer text; /* decoded strings of all items */
};

static void batch_free(void *arg)
{
    struct batch *batch = arg;
    for (size_t i = 0; i < batch->count; i++) {
        publication_fini(&batch->items[i]->publication);
        free(batch->items[i]);
    }
    for (size_t i = 0; i < batch->append_count; i++)
        run_append_free(batch->appends[i]);
    free(batch->appends);
    free(batch->items);
    buffer_fini(&batch->text);
    free(batch);
}

/* ---- the answer ---- */

static void put_item(struct json_writer *json, const struct batch_item *item)
{
    const struct publication *publication = &item->publication;
    if (!publication->error[0]) {
        json_put_raw(json, buffer_slice(&publication->answer));
        return;
    }
    json_put_object(json);
    json_add_text(json, "error", slice_of(publication->error));
    json_end_object(json);
}

static void answer_batch(struct batch *batch)
{
    struct exchange *exchange = batch->exchange;
    bool is_refused = batch->count > 0;
    for (size_t i = 0; i < batch->count; i++)
        is_refused = is_refused && batch->items[i]->publication.error[0];
    if (is_refused) {
        const struct publication *first = &batch->items[0]->publication;
        exchange_refuse(exchange, first->status, "%s", first->error);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_array(&json);
    for (size_t i = 0; i < batch->count; i++)
        put_item(&json, batch->items[i]);
    json_end_array(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void end_one(struct batch *batch)
{
    if (--batch->pending == 0)
        answer_batch(batch);
}

static void on_published(void *arg)
{
    const struct batch_item *item = arg;
    end_one(item->batch);
}

/* ---- items ---- */

/* Takes a header whose value is a string, or an array of strings. */
static void take_header(struct batch_item *item, struct slice name, struct slice value)
{
    struct message_settings *settings = &item->publication.settings;
    struct buffer *text = &item->batch->text;
    struct json_cursor cursor;
    struct slice one;
    if (json_is_text(value)) {
        message_settings_take(settings, name, json_text(value, text));
        return;
    }
    if (!json_open(value, &cursor) || cursor.close != ']') {
        message_settings_refuse(settings, 400, "header %.*s: the value must be a string", SLICE_ARG(name));
        return;
    }
    while (json_next_item(&cursor, &one))
        if (json_is_text(one))
            message_settings_take(settings, name, json_text(one, text));
}

static void take_headers(struct batch_item *item, struct slice headers)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = json_open(headers, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value))
        take_header(item, json_text(key, &item->batch->text), value);
}

static struct slice text_of(struct batch_item *item, struct slice value)
{
    return json_is_text(value) ? json_text(value, &item->batch->text) : SLICE("");
}

/* Returns the body of an item. The client for workflows may send the body of a call as a JSON value, for
 * example an object; the body is then its JSON text.
 */
static struct slice body_of(struct batch_item *item, struct slice value)
{
    return json_is_text(value) || slice_equal(value, SLICE("null")) ? text_of(item, value) : value;
}

static void read_item(struct batch_item *item, struct slice object)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value)) {
        if (slice_equal(key, SLICE("\"destination\"")))
            item->destination = text_of(item, value);
        else if (slice_equal(key, SLICE("\"queue\"")))
            item->queue = text_of(item, value);
        else if (slice_equal(key, SLICE("\"body\"")))
            item->body = body_of(item, value);
        else if (slice_equal(key, SLICE("\"headers\"")))
            take_headers(item, value);
    }
}

/* ---- the request ---- */

/* Returns the error in the text, or NULL if the text is an array of items. */
static const char *check_items(struct slice body, size_t *count)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, MEMBERS_IN_ITEM_MAX};
    struct json_fault fault;
    struct json_cursor cursor;
    struct slice item;
    if (json_check(body, &limits, &fault) != STATUS_OK)
        return "the body must be JSON without duplicate names";
    if (!json_open(body, &cursor) || cursor.close != ']')
        return "the body must be an array of messages";
    for (*count = 0; json_next_item(&cursor, &item); ++*count)
        if (item.data[0] != '{')
            return "each item must be an object";
    return *count <= ITEMS_MAX ? NULL : "a batch has at most 1000 messages";
}

static void read_items(struct batch *batch, struct slice body)
{
    struct json_cursor cursor;
    struct slice object;
    if (!json_open(body, &cursor))
        return;
    while (json_next_item(&cursor, &object)) {
        struct batch_item *item = NEW(struct batch_item);
        item->batch = batch;
        publication_init(&item->publication, batch->exchange, on_published, item);
        batch->items[batch->count++] = item;
        read_item(item, object);
    }
}

/* Lets an item be appended to its run together with the other items of the run (runs/run_message.h). An item
 * that creates a run, or belongs to no run, is sent alone. */
static void join_run(struct batch *batch, struct publication *publication)
{
    const struct run_settings *run = &publication->settings.run;
    if (run->id.size == 0 || run->is_init)
        return;
    for (size_t i = 0; i < batch->append_count && !publication->run_append; i++)
        if (slice_equal(run_append_id(batch->appends[i]), run->id))
            publication->run_append = batch->appends[i];
    if (publication->run_append) {
        run_append_expect(publication->run_append);
        return;
    }
    publication->run_append = run_append_new(app_of(batch->exchange), run->id, 1);
    batch->appends[batch->append_count++] = publication->run_append;
}

HANDLER(batch_handle)
{
    struct slice body = http_request_body(exchange->request);
    size_t count;
    const char *fault = check_items(body, &count);
    if (fault) {
        exchange_refuse(exchange, 400, "%s", fault);
        return;
    }
    struct batch *batch = NEW(struct batch);
    batch->exchange = exchange;
    batch->items = NEW_ARRAY(struct batch_item *, count + 1);
    batch->appends = NEW_ARRAY(struct run_append *, count + 1);
    batch->pending = 1; /* the extra 1 keeps the batch open until this function has sent all items */
    buffer_init_fallible(&batch->text, body.size + 1);
    buffer_reserve(&batch->text,
                   body.size); /* the buffer must not move later, because slices point into it */
    exchange_keep(exchange, batch, batch_free);
    if (batch->text.failed) {
        exchange_refuse(exchange, 503, "there is no memory for the batch; nothing changed");
        return;
    }
    read_items(batch, body);
    batch->pending += batch->count;
    for (size_t i = 0; i < batch->count; i++)
        join_run(batch, &batch->items[i]->publication);
    for (size_t i = 0; i < batch->count; i++) {
        struct batch_item *item = batch->items[i];
        publication_send(&item->publication, item->destination, item->queue, item->body);
    }
    end_one(batch);
}
