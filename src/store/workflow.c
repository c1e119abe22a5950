/* workflow.c - begins, continues and ends workflows. */
#include "store/workflow.h"

#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

/* ---- entries ---- */

static void add_entry(const struct workflow_entry *entry, struct store_call *call)
{
    static const struct slice letters[] = {[WORKFLOW_STEP] = SLICE_INIT("s"),
                                           [WORKFLOW_CALL] = SLICE_INIT("c"),
                                           [WORKFLOW_ANSWER] = SLICE_INIT("a")};
    store_call_text(call, letters[entry->role]);
    store_call_text(call, entry->job);
    store_call_when(call, entry->when);
    store_call_text(call, entry->record);
    store_call_text(call, entry->element);
}

/* Writes an entry in the form that add_prepared in scripts/lib/leave.lua reads. */
static void write_prepared(const struct workflow_entry *entry, struct buffer *text)
{
    enum { SIZES = 48 }; /* bytes of both numbers and the blanks */
    buffer_init(text, entry->job.size + entry->record.size + entry->element.size + SIZES);
    if (entry->job.size == 0)
        return;
    buffer_printf(text, "%zu %zu ", entry->job.size, entry->record.size);
    buffer_append(text, entry->job);
    buffer_append(text, entry->record);
    buffer_append(text, entry->element);
}

/* ---- begin ---- */

static enum status status_of(int64_t code)
{
    if (code >= 0)
        return STATUS_OK;
    if (code == RESULT_NOT_FOUND)
        return STATUS_NOT_FOUND;
    return code == RESULT_TAKEN ? STATUS_EXISTS : STATUS_FULL;
}

/* A call with two texts of its own. */
struct prepared {
    struct store_call call;
    struct buffer one, other;
};

static enum status read_begun(const struct redis_reply *result, struct workflow_begun *begun)
{
    int64_t code = redis_reply_integer(result);
    if (code < 0)
        return status_of(code);
    if (redis_reply_size(result) < 2)
        return reply_refuse("begin");
    begun->is_new = redis_reply_integer(redis_reply_at(result, 0)) == 1;
    begun->made_ms = redis_reply_integer(redis_reply_at(result, 1));
    if (!begun->is_new)
        begun->first_job = redis_reply_text(redis_reply_at(result, 2));
    return STATUS_OK;
}

static void begin_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct prepared *prepared = (struct prepared *)call;
    struct workflow_begun begun = {.made_ms = 0};
    if (status == STATUS_OK)
        status = read_begun(result, &begun);
    CALL_FN(call, workflow_begun_fn)(call->arg, status, status == STATUS_OK ? &begun : NULL);
    buffer_fini(&prepared->one);
    buffer_fini(&prepared->other);
}

void workflow_begin(struct store *store, const struct workflow_begin *begin, workflow_begun_fn *fn, void *arg)
{
    struct prepared *prepared = NEW(struct prepared);
    struct store_call *call = &prepared->call;
    store_call_init(call, store_shard_of(store, begin->id), SHARD_BATCH_BEGIN, begin_end, ANY_FN(fn), arg);
    write_prepared(&begin->if_failed, &prepared->one);
    write_prepared(&begin->if_cancelled, &prepared->other);
    store_call_text(call, begin->id);
    store_call_text(call, begin->settings);
    store_call_text(call, begin->parent);
    store_call_text(call, buffer_slice(&prepared->one));
    store_call_text(call, buffer_slice(&prepared->other));
    store_call_text(call, begin->replaces ? SLICE("1") : SLICE("0"));
    store_call_text(call, begin->from);
    store_call_number(call, (int64_t)begin->kept);
    /* Redis stores the kind of each element in one more byte. */
    store_call_number(call, (int64_t)(begin->kept_bytes + begin->kept));
    add_entry(&begin->first, call);
    store_call_text(call, begin->first.step);
    store_call_text(call, begin->parent_step);
    call->bytes += begin->kept_bytes;
    store_call_send(call);
}

/* ---- append ---- */

static void append_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    size_t count = status == STATUS_OK ? redis_reply_size(result) : 0;
    struct slice *firsts = count ? NEW_ARRAY(struct slice, count) : NULL;
    if (status == STATUS_OK && count && (int64_t)count != call->note)
        status = reply_refuse("append");
    else if (status == STATUS_OK && !count)
        status = status_of(redis_reply_integer(result));
    for (size_t i = 0; i < count; i++)
        firsts[i] = redis_reply_text(redis_reply_at(result, i));
    CALL_FN(call, workflow_appended_fn)(call->arg, status, status == STATUS_OK ? firsts : NULL);
    free(firsts);
}

void workflow_append(struct store *store, struct slice id, const struct workflow_entry *entries, size_t count,
                     workflow_appended_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_new(store_shard_of(store, id), SHARD_BATCH_APPEND, append_end, ANY_FN(fn), arg);
    call->note = (int64_t)count; /* for append_end */
    store_call_text(call, id);
    store_call_number(call, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        add_entry(&entries[i], call);
        store_call_text(call, entries[i].hook);
        store_call_text(call, entries[i].step);
    }
    call->bytes += count * BATCH_JOB_WEIGHT;
    store_call_send(call);
}

/* ---- end ---- */

static void made_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    int64_t made_ms = redis_reply_integer(result);
    if (status == STATUS_OK)
        status = status_of(made_ms);
    CALL_FN(call, workflow_fn)(call->arg, status, status == STATUS_OK ? made_ms : 0);
}

static void conclude_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    made_end(call, status, result);
    buffer_fini(&((struct prepared *)call)->one);
}

void workflow_end(struct store *store, struct slice id, enum workflow_state state, struct slice result,
                  const struct workflow_entry *for_parent, workflow_fn *fn, void *arg)
{
    static const struct workflow_entry none = {.role = WORKFLOW_STEP};
    struct prepared *prepared = NEW(struct prepared);
    struct store_call *call = &prepared->call;
    store_call_init(call, store_shard_of(store, id), SHARD_BATCH_CONCLUDE, conclude_end, ANY_FN(fn), arg);
    write_prepared(for_parent ? for_parent : &none, &prepared->one);
    store_call_text(call, id);
    store_call_text(call, state == WORKFLOW_SUCCEEDED ? SLICE("succeeded") : SLICE("cancelled"));
    store_call_text(call, result);
    store_call_text(call, buffer_slice(&prepared->one));
    store_call_send(call);
}
