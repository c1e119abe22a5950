/* stream.c - reads the events of topics. */
#include "base/memory.h"
#include "store/store_private.h"

enum { STREAM_HEAD = 3, STREAM_PARTS = 2 };

/* Reads '<type> <time> <bytes of the jobId> <bytes of the key> <jobId><key><data>'. */
static bool read_event(struct slice value, struct store_event *event)
{
    struct slice at, size, key_size, rest = value;
    uint64_t at_ms, bytes, key_bytes;
    if (!slice_cut(rest, ' ', &event->type, &rest) || !slice_cut(rest, ' ', &at, &rest) ||
        !slice_cut(rest, ' ', &size, &rest) || !slice_cut(rest, ' ', &key_size, &rest) ||
        !slice_to_number(at, INT64_MAX / 2, &at_ms) || !slice_to_number(size, rest.size, &bytes) ||
        !slice_to_number(key_size, rest.size - bytes, &key_bytes))
        return false;
    event->at_ms = (int64_t)at_ms;
    event->job_id = slice_from(rest.data, bytes);
    event->key = slice_from(rest.data + bytes, key_bytes);
    event->data = slice_skip(rest, bytes + key_bytes);
    return true;
}

static void stream_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    size_t size = redis_reply_size(result);
    size_t count = size > STREAM_HEAD ? (size - STREAM_HEAD) / STREAM_PARTS : 0;
    struct store_event *events = NEW_ARRAY(struct store_event, count + 1);
    struct store_streamed streamed = {.events = events};
    if (status == STATUS_OK && (size < STREAM_HEAD || count > STORE_EVENTS_MAX))
        status = reply_refuse("stream");
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        struct store_event *event = &events[streamed.count];
        size_t at = STREAM_HEAD + i * STREAM_PARTS;
        event->id = redis_reply_text(redis_reply_at(result, at));
        streamed.count += event->id.size > 0 && event->id.size < STORE_EVENT_ID_SIZE &&
                          read_event(redis_reply_text(redis_reply_at(result, at + 1)), event);
    }
    streamed.has_more = count == STORE_EVENTS_MAX;
    streamed.is_on = redis_reply_integer(redis_reply_at(result, 0)) == 1;
    streamed.last = redis_reply_text(redis_reply_at(result, 1));
    streamed.has_gap = redis_reply_integer(redis_reply_at(result, 2)) == 1;
    CALL_FN(call, store_streamed_fn)(call->arg, status, status == STATUS_OK ? &streamed : NULL);
    free(events);
}

void store_stream(struct store *store, const struct store_stream *what, store_streamed_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_new(store_shard_of(store, what->topic), SHARD_BATCH_STREAM, stream_end, ANY_FN(fn), arg);
    store_call_text(call, what->topic);
    store_call_text(call, what->after);
    store_call_number(call, STORE_EVENTS_MAX);
    store_call_number(call, what->wait_ms);
    call->bytes += BATCH_BYTES_MAX / 16; /* up to 16 topics in a run */
    store_call_send(call);
}

void store_on_stream_wake(struct store *store, store_stream_wake_fn *fn, void *arg)
{
    for (size_t i = 0; i < store_shards(store); i++) {
        struct shard *shard = store_shard(store, i);
        shard->on_stream_wake.fn = fn;
        shard->on_stream_wake.arg = arg;
    }
}
