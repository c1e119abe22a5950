#include "store/arrival.h"

#include "base/memory.h"
#include "job/job.h"
#include "store/reply.h"
#include "store/shard_private.h"

enum {
    /* Size that a call counts as, so that a run has few calls: each may get a long list. */
    ARRIVAL_BYTES = 256 * 1024,
};

/* ---- reading the reply ---- */

static bool arrival_kind_read(struct slice word, enum arrival_kind *kind)
{
    static const struct slice words[] = {
        [ARRIVAL_OWN] = SLICE_INIT("own"),   [ARRIVAL_LIST] = SLICE_INIT("list"),
        [ARRIVAL_LONG] = SLICE_INIT("long"), [ARRIVAL_DONE] = SLICE_INIT("done"),
        [ARRIVAL_OVER] = SLICE_INIT("over"), [ARRIVAL_UNREADABLE] = SLICE_INIT("unreadable")};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (slice_equal(word, words[i])) {
            *kind = (enum arrival_kind)i;
            return true;
        }
    }
    return false;
}

/* Writes the results of steps as a JSON array: the elements whose first byte, the kind, is 's', without
 * this byte. */
static void write_elements(const struct redis_reply *elements, struct buffer *array)
{
    bool is_first = true;
    buffer_append_byte(array, '[');
    for (size_t i = 0; i < redis_reply_size(elements); i++) {
        struct slice element = redis_reply_text(redis_reply_at(elements, i));
        if (!slice_starts_with(element, SLICE("s")))
            continue;
        if (!is_first)
            buffer_append_byte(array, ',');
        buffer_append(array, slice_skip(element, 1));
        is_first = false;
    }
    buffer_append_byte(array, ']');
}

static enum status read_arrival(const struct redis_reply *result, struct buffer *array,
                                struct arrival *arrival)
{
    if (!arrival_kind_read(redis_reply_text(redis_reply_at(result, 0)), &arrival->kind))
        return reply_refuse("arrive");
    if (arrival->kind >= ARRIVAL_DONE)
        return STATUS_OK;
    if (redis_reply_size(result) < 3)
        return reply_refuse("arrive");
    arrival->made_ms = redis_reply_integer(redis_reply_at(result, 1));
    write_elements(redis_reply_at(result, 2), array);
    arrival->elements = buffer_slice(array);
    return array->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* ---- the call ---- */

static void arrival_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct arrival arrival = {.kind = ARRIVAL_OVER};
    struct buffer array;
    buffer_init_fallible(&array, JOB_RECORD_MAX);
    if (status == STATUS_OK)
        status = read_arrival(result, &array, &arrival);
    CALL_FN(call, arrival_fn)(call->arg, status, status == STATUS_OK ? &arrival : NULL);
    buffer_fini(&array);
}

void shard_arrive(struct shard *shard, struct slice id, arrival_fn *fn, void *arg)
{
    struct store_call *call = store_call_new(shard, SHARD_BATCH_ARRIVE, arrival_end, ANY_FN(fn), arg);
    store_call_text(call, id);
    call->bytes += ARRIVAL_BYTES;
    store_call_send(call);
}
