/* workflow.c - begins, continues and ends workflows. */
#include "store/workflow.h"

#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

/* ---- entries ---- */

static size_t entry_bytes(const struct workflow_entry *entry)
{
    return entry->job.size + entry->record.size + entry->element.size + entry->hook.size +
           BATCH_ITEM_OVERHEAD;
}

static void add_entry(const struct workflow_entry *entry, struct script_call *call)
{
    static const struct slice letters[] = {[WORKFLOW_STEP] = SLICE_INIT("s"),
                                           [WORKFLOW_CALL] = SLICE_INIT("c"),
                                           [WORKFLOW_ANSWER] = SLICE_INIT("a")};
    script_call_text(call, letters[entry->role]);
    script_call_text(call, entry->job);
    script_call_when(call, entry->when);
    script_call_text(call, entry->record);
    script_call_text(call, entry->element);
}

/* Writes an entry in the form that add_prepared in scripts/lib/leave.lua reads. */
static void write_prepared(const struct workflow_entry *entry, struct buffer *text)
{
    buffer_init(text, entry_bytes(entry));
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

struct begin_item {
    struct batch_item item;
    struct batch *batch;
    struct workflow_begin begin;
    struct buffer if_failed, if_cancelled;
    workflow_begun_fn *fn;
    void *arg;
};

static void begin_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct begin_item *entry = (const struct begin_item *)item;
    script_call_text(call, entry->begin.id);
    script_call_text(call, entry->begin.settings);
    script_call_text(call, entry->begin.parent);
    script_call_text(call, buffer_slice(&entry->if_failed));
    script_call_text(call, buffer_slice(&entry->if_cancelled));
    script_call_text(call, entry->begin.replaces ? SLICE("1") : SLICE("0"));
    script_call_text(call, entry->begin.from);
    script_call_number(call, (int64_t)entry->begin.kept);
    script_call_number(
        call, (int64_t)(entry->begin.kept_bytes +
                        entry->begin.kept)); /* Redis stores the kind of each element in one more byte */
    add_entry(&entry->begin.first, call);
}

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

static void begin_end_item(struct batch_item *item, enum status status, int64_t now_us,
                           const struct redis_reply *result)
{
    struct begin_item *entry = (struct begin_item *)item;
    struct workflow_begun begun = {.made_ms = 0};
    (void)now_us;
    if (status == STATUS_OK && redis_reply_integer(result) == RESULT_AGAIN) {
        batch_add(entry->batch, item);
        return;
    }
    if (status == STATUS_OK)
        status = read_begun(result, &begun);
    entry->fn(entry->arg, status, status == STATUS_OK ? &begun : NULL);
    buffer_fini(&entry->if_failed);
    buffer_fini(&entry->if_cancelled);
    free(entry);
}

const struct batch_kind begin_kind = {SCRIPT_BEGIN,       OWNER_CALLS_MAX, true,
                                      shard_add_max_jobs, begin_add_item,  begin_end_item};

void workflow_begin(struct store *store, const struct workflow_begin *begin, workflow_begun_fn *fn, void *arg)
{
    struct begin_item *entry = NEW(struct begin_item);
    entry->begin = *begin;
    entry->fn = fn;
    entry->arg = arg;
    write_prepared(&begin->if_failed, &entry->if_failed);
    write_prepared(&begin->if_cancelled, &entry->if_cancelled);
    entry->item.bytes = begin->id.size + begin->settings.size + entry->if_failed.size +
                        entry->if_cancelled.size + begin->kept_bytes + entry_bytes(&begin->first);
    entry->batch = &store_shard_of(store, begin->id)->batches[SHARD_BATCH_BEGIN];
    batch_add(entry->batch, &entry->item);
}

/* ---- append ---- */

struct append_item {
    struct batch_item item;
    struct slice id;
    const struct workflow_entry *entries;
    size_t count;
    workflow_fn *fn;
    void *arg;
};

static void append_entry(const struct workflow_entry *entry, struct script_call *call)
{
    add_entry(entry, call);
    script_call_text(call, entry->hook);
}

static void append_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct append_item *entry = (const struct append_item *)item;
    script_call_text(call, entry->id);
    script_call_number(call, (int64_t)entry->count);
    for (size_t i = 0; i < entry->count; i++)
        append_entry(&entry->entries[i], call);
}

static void append_end_item(struct batch_item *item, enum status status, int64_t now_us,
                            const struct redis_reply *result)
{
    struct append_item *entry = (struct append_item *)item;
    int64_t made_ms = redis_reply_integer(result);
    (void)now_us;
    if (status == STATUS_OK)
        status = status_of(made_ms);
    entry->fn(entry->arg, status, status == STATUS_OK ? made_ms : 0);
    free(entry);
}

const struct batch_kind append_kind = {SCRIPT_APPEND,      OWNER_CALLS_MAX, true,
                                       shard_add_max_jobs, append_add_item, append_end_item};

void workflow_append(struct store *store, struct slice id, const struct workflow_entry *entries, size_t count,
                     workflow_fn *fn, void *arg)
{
    struct append_item *entry = NEW(struct append_item);
    entry->id = id;
    entry->entries = entries;
    entry->count = count;
    entry->fn = fn;
    entry->arg = arg;
    entry->item.bytes = id.size + BATCH_ITEM_OVERHEAD;
    for (size_t i = 0; i < count; i++)
        entry->item.bytes += entry_bytes(&entries[i]) + BATCH_JOB_WEIGHT;
    batch_add(&store_shard_of(store, id)->batches[SHARD_BATCH_APPEND], &entry->item);
}

/* ---- end ---- */

struct end_item {
    struct batch_item item;
    struct batch *batch;
    struct slice id, state, result;
    struct buffer for_parent;
    workflow_fn *fn;
    void *arg;
};

static void conclude_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct end_item *entry = (const struct end_item *)item;
    script_call_text(call, entry->id);
    script_call_text(call, entry->state);
    script_call_text(call, entry->result);
    script_call_text(call, buffer_slice(&entry->for_parent));
}

static void conclude_end_item(struct batch_item *item, enum status status, int64_t now_us,
                              const struct redis_reply *result)
{
    struct end_item *entry = (struct end_item *)item;
    int64_t made_ms = redis_reply_integer(result);
    (void)now_us;
    if (status == STATUS_OK && made_ms == RESULT_AGAIN) {
        batch_add(entry->batch, item);
        return;
    }
    if (status == STATUS_OK)
        status = status_of(made_ms);
    entry->fn(entry->arg, status, status == STATUS_OK ? made_ms : 0);
    buffer_fini(&entry->for_parent);
    free(entry);
}

const struct batch_kind conclude_kind = {SCRIPT_CONCLUDE,   OWNER_CALLS_MAX,  true, NULL,
                                         conclude_add_item, conclude_end_item};

void workflow_end(struct store *store, struct slice id, enum workflow_state state, struct slice result,
                  const struct workflow_entry *for_parent, workflow_fn *fn, void *arg)
{
    static const struct workflow_entry none = {.role = WORKFLOW_STEP};
    struct end_item *entry = NEW(struct end_item);
    entry->id = id;
    entry->state = state == WORKFLOW_SUCCEEDED ? SLICE("succeeded") : SLICE("cancelled");
    entry->result = result;
    entry->fn = fn;
    entry->arg = arg;
    write_prepared(for_parent ? for_parent : &none, &entry->for_parent);
    entry->item.bytes = id.size + result.size + entry->for_parent.size + BATCH_ITEM_OVERHEAD;
    entry->batch = &store_shard_of(store, id)->batches[SHARD_BATCH_CONCLUDE];
    batch_add(entry->batch, &entry->item);
}
