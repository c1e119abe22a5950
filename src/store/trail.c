/* trail.c - lines of the audit log on their way to the history: note.lua, trail.lua. */
#include "store/outbox.h"
#include "store/store_private.h"

enum { FIRST_LINE = 3 /* index of the first line in the reply of trail.lua */ };

static void note_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    (void)result;
    CALL_FN(call, store_note_fn)(call->arg, status);
}

void store_note(struct store *store, struct slice name, struct slice line, store_note_fn *fn, void *arg)
{
    struct shard *shard = name.size ? store_shard_of(store, name) : store_shard(store, 0);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_NOTE, note_end, ANY_FN(fn), arg);
    store_call_text(call, line);
    store_call_send(call);
}

static void trail_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct slice lines[TRAIL_READ_MAX];
    struct trail_read read = {.lines = lines};
    size_t size = redis_reply_size(reply);
    if (status == STATUS_OK && (size < FIRST_LINE || size - FIRST_LINE > TRAIL_READ_MAX))
        status = reply_refuse("trail");
    if (status == STATUS_OK) {
        read.removed = redis_reply_integer(redis_reply_at(reply, 1));
        read.dropped = redis_reply_integer(redis_reply_at(reply, 2));
        for (size_t at = FIRST_LINE; at < size; at++)
            lines[read.count++] = redis_reply_text(redis_reply_at(reply, at));
    }
    CALL_FN(call, trail_read_fn)(call->arg, status, &read);
}

void trail_read(struct shard *shard, int64_t removed, size_t count, trail_read_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_TRAIL, shard->worker, trail_end, ANY_FN(fn), arg);
    store_call_number(call, removed);
    store_call_number(call, (int64_t)count);
    store_call_number(call, TRAIL_READ_MAX);
    store_call_number(call, TRAIL_READ_BYTES);
    store_call_send(call);
}
