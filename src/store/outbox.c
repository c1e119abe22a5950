#include "store/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/store_private.h"

enum {
    FIRST_LIST = 6, /* index of the first list in the reply of archive.lua */
    LIST_PAIR = 2,  /* fields, texts */
};

struct outbox_batch {
    uint64_t connection; /* value of shard_worker_connections when the texts were read */
    int64_t place, disturbed;
    size_t count, bytes;
    struct buffer ends; /* names of the first and the last field, one after the other */
    size_t first_size;
    size_t without_text[OUTBOX_READ_MAX]; /* positions of the fields without a text, from 1 */
    size_t without_text_count;
};

struct slice outbox_id(const struct outbox_text *text)
{
    const char *end = memchr(text->field.data, '\n', text->field.size);
    return end ? slice_from(text->field.data, (size_t)(end - text->field.data)) : text->field;
}

/* ---- reading ---- */

/* Adds the fields of one list, each with its text from the other list. Returns false if archive.lua cannot
 * have sent these lists. */
static bool add_texts(const struct redis_reply *fields, const struct redis_reply *texts,
                      struct outbox_text *into, struct outbox_read *read, size_t *bytes)
{
    size_t count = redis_reply_size(fields);
    if (count != redis_reply_size(texts) || count > OUTBOX_READ_MAX - read->count)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct outbox_text *text = &into[read->count++];
        text->field = redis_reply_text(redis_reply_at(fields, i));
        text->text = redis_reply_text(redis_reply_at(texts, i));
        *bytes += text->text.size;
    }
    return true;
}

/* Returns false if archive.lua cannot have sent this reply. */
static bool read_texts(const struct redis_reply *reply, struct outbox_text texts[OUTBOX_READ_MAX],
                       struct outbox_read *read)
{
    size_t size = redis_reply_size(reply), bytes = 0;
    if (size < FIRST_LIST || (size - FIRST_LIST) % LIST_PAIR != 0)
        return false;
    read->entries = redis_reply_integer(redis_reply_at(reply, 1));
    read->bytes = redis_reply_integer(redis_reply_at(reply, 2));
    read->dropped = redis_reply_integer(redis_reply_at(reply, 3));
    read->removed = redis_reply_integer(redis_reply_at(reply, 4));
    read->disturbed = redis_reply_integer(redis_reply_at(reply, 5));
    for (size_t at = FIRST_LIST; at < size; at += LIST_PAIR)
        if (!add_texts(redis_reply_at(reply, at), redis_reply_at(reply, at + 1), texts, read, &bytes))
            return false;
    read->is_full = read->count == OUTBOX_READ_MAX || bytes >= OUTBOX_READ_BYTES;
    return true;
}

static void read_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct outbox_text texts[OUTBOX_READ_MAX];
    struct outbox_read read = {.texts = texts};
    if (status == STATUS_OK && !read_texts(reply, texts, &read))
        status = reply_refuse("archive");
    CALL_FN(call, outbox_read_fn)(call->arg, status, &read);
}

void outbox_read(struct shard *shard, size_t in_hand, outbox_read_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_ARCHIVE, shard->worker, read_end, ANY_FN(fn), arg);
    store_call_number(call, shard_part(shard, shard->options->history_backlog_bytes));
    store_call_text(call, slice_of(shard->options->history_bodies ? shard->options->history_bodies : "on"));
    store_call_number(call, OUTBOX_READ_MAX);
    store_call_number(call, OUTBOX_READ_BYTES);
    store_call_number(call, (int64_t)in_hand);
    store_call_send(call);
}

/* ---- removing ---- */

struct outbox_batch *outbox_batch_new(const struct shard *shard, const struct outbox_read *read,
                                      size_t in_hand)
{
    struct outbox_batch *batch = NEW(struct outbox_batch);
    struct slice first = read->texts[0].field, last = read->texts[read->count - 1].field;
    batch->connection = shard->worker_connections;
    batch->place = read->removed + (int64_t)in_hand;
    batch->disturbed = read->disturbed;
    batch->count = read->count;
    buffer_init(&batch->ends, first.size + last.size);
    buffer_append(&batch->ends, first);
    buffer_append(&batch->ends, last);
    batch->first_size = first.size;
    for (size_t i = 0; i < read->count; i++) {
        const struct outbox_text *text = &read->texts[i];
        if (text->text.size)
            batch->bytes +=
                2 * text->field.size + text->text.size; /* counts like Outbox.size in lib/outbox.lua */
        else
            batch->without_text[batch->without_text_count++] = i + 1;
    }
    return batch;
}

void outbox_batch_free(struct outbox_batch *batch)
{
    if (!batch)
        return;
    buffer_fini(&batch->ends);
    free(batch);
}

bool outbox_batch_is_current(const struct shard *shard, const struct outbox_batch *batch)
{
    return batch->connection == shard->worker_connections;
}

static void removed_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    int64_t count = status == STATUS_OK ? redis_reply_integer(redis_reply_at(reply, 1)) : 0;
    CALL_FN(call, outbox_removed_fn)(call->arg, status, count > 0 ? (size_t)count : 0);
}

void outbox_remove(struct shard *shard, const struct outbox_batch *batch, outbox_removed_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_ARCHIVED, shard->worker, removed_end, ANY_FN(fn), arg);
    struct slice ends = buffer_slice(&batch->ends);
    store_call_number(call, batch->place);
    store_call_number(call, batch->disturbed);
    store_call_number(call, (int64_t)batch->count);
    store_call_number(call, (int64_t)batch->bytes);
    store_call_text(call, slice_from(ends.data, batch->first_size));
    store_call_text(call, slice_from(ends.data + batch->first_size, ends.size - batch->first_size));
    for (size_t i = 0; i < batch->without_text_count; i++)
        store_call_number(call, (int64_t)batch->without_text[i]);
    store_call_send(call);
}
