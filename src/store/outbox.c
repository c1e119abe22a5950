#include "store/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

enum {
    FIRST_TEXT = 4, /* index of the first text in the reply of archive.lua */
    TEXT_PARTS = 2, /* field, text */
};

struct outbox_call {
    union {
        outbox_read_fn *read;
        outbox_removed_fn *removed;
    } fn;
    void *arg;
};

struct slice outbox_id(const struct outbox_text *text)
{
    const char *end = memchr(text->field.data, '\n', text->field.size);
    return end ? slice_from(text->field.data, (size_t)(end - text->field.data)) : text->field;
}

/* ---- reading ---- */

/* Returns false if the reply cannot be one of the script. */
static bool read_texts(const struct redis_reply *reply, struct outbox_text texts[OUTBOX_READ_MAX],
                       struct outbox_read *read)
{
    size_t size = redis_reply_size(reply);
    if (size < FIRST_TEXT || (size - FIRST_TEXT) % TEXT_PARTS != 0 ||
        (size - FIRST_TEXT) / TEXT_PARTS > OUTBOX_READ_MAX)
        return false;
    read->entries = redis_reply_integer(redis_reply_at(reply, 1));
    read->bytes = redis_reply_integer(redis_reply_at(reply, 2));
    read->dropped = redis_reply_integer(redis_reply_at(reply, 3));
    size_t bytes = 0;
    for (size_t at = FIRST_TEXT; at < size; at += TEXT_PARTS) {
        struct outbox_text *text = &texts[read->count++];
        text->field = redis_reply_text(redis_reply_at(reply, at));
        text->text = redis_reply_text(redis_reply_at(reply, at + 1));
        bytes += text->text.size;
    }
    read->is_full = read->count == OUTBOX_READ_MAX || bytes >= OUTBOX_READ_BYTES;
    return true;
}

static void on_read(void *arg, enum status status, const struct redis_reply *reply)
{
    struct outbox_call *call = arg;
    struct outbox_text texts[OUTBOX_READ_MAX];
    struct outbox_read read = {.texts = texts};
    if (status == STATUS_OK && !read_texts(reply, texts, &read))
        status = reply_refuse("archive");
    call->fn.read(call->arg, status, &read);
    free(call);
}

void outbox_read(struct shard *shard, size_t in_hand, outbox_read_fn *fn, void *arg)
{
    struct outbox_call *outbox = NEW(struct outbox_call);
    struct script_call *call = shard_call(shard, SCRIPT_ARCHIVE);
    outbox->fn.read = fn;
    outbox->arg = arg;
    script_call_number(call, shard_part(shard, shard->options->history_backlog_bytes));
    script_call_text(call, slice_of(shard->options->history_bodies ? shard->options->history_bodies : "on"));
    script_call_number(call, OUTBOX_READ_MAX);
    script_call_number(call, OUTBOX_READ_BYTES);
    script_call_number(call, (int64_t)in_hand);
    script_call_send(call, shard->worker, on_read, outbox);
}

/* ---- removing ---- */

struct outbox_batch *outbox_batch_new(const struct outbox_read *read)
{
    struct outbox_batch *batch = NEW(struct outbox_batch);
    size_t size = 1;
    for (size_t i = 0; i < read->count; i++)
        size += read->texts[i].field.size + OUTBOX_TAG_MAX;
    buffer_init(&batch->text, size);
    batch->count = read->count;
    for (size_t i = 0; i < read->count; i++) {
        struct slice field = read->texts[i].field, text = read->texts[i].text;
        size_t tag_size = text.size < OUTBOX_TAG_MAX ? text.size : OUTBOX_TAG_MAX;
        batch->items[i].field = batch->text.size;
        batch->items[i].field_size = field.size;
        buffer_append(&batch->text, field);
        batch->items[i].tag = batch->text.size;
        batch->items[i].tag_size = tag_size;
        buffer_append(&batch->text, slice_from(text.data, tag_size));
        batch->items[i].text_size = text.size;
    }
    return batch;
}

void outbox_batch_free(struct outbox_batch *batch)
{
    if (!batch)
        return;
    buffer_fini(&batch->text);
    free(batch);
}

static void on_removed(void *arg, enum status status, const struct redis_reply *reply)
{
    struct outbox_call *call = arg;
    int64_t count = status == STATUS_OK ? redis_reply_integer(redis_reply_at(reply, 1)) : 0;
    call->fn.removed(call->arg, status, count > 0 ? (size_t)count : 0);
    free(call);
}

void outbox_remove(struct shard *shard, const struct outbox_batch *batch, outbox_removed_fn *fn, void *arg)
{
    struct outbox_call *outbox = NEW(struct outbox_call);
    struct script_call *call = shard_call(shard, SCRIPT_ARCHIVED);
    const char *text = buffer_slice(&batch->text).data;
    outbox->fn.removed = fn;
    outbox->arg = arg;
    for (size_t i = 0; i < batch->count; i++) {
        script_call_text(call, slice_from(text + batch->items[i].field, batch->items[i].field_size));
        script_call_text(call, slice_from(text + batch->items[i].tag, batch->items[i].tag_size));
        script_call_number(call, (int64_t)batch->items[i].text_size);
    }
    script_call_send(call, shard->worker, on_removed, outbox);
}
