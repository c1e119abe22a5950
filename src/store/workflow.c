/* workflow.c - begins workflows, appends to them and ends them, waits for events, and reads the results of
 * steps for the request of a job. */
#include "base/memory.h"
#include "base/seal.h"
#include "job/job.h"
#include "store/store_private.h"
#include "store/workflow.h"

/* ---- changes ---- */

/* ---- entries ---- */

static void add_entry(const struct workflow_entry *entry, struct slice owner, struct store_call *call)
{
    static const struct slice letters[] = {[WORKFLOW_STEP] = SLICE_INIT("s"),
                                           [WORKFLOW_CALL] = SLICE_INIT("c"),
                                           [WORKFLOW_ANSWER] = SLICE_INIT("a")};
    store_call_text(call, letters[entry->role]);
    store_call_text(call, entry->job);
    store_call_when(call, entry->when);
    store_call_text(call, entry->record);
    store_call_secret(call, owner, entry->element);
}

/* Writes an entry in the form that add_prepared in scripts/lib/workflow_ends.lua reads. */
static void write_prepared(const struct workflow_entry *entry, struct slice owner, struct buffer *text)
{
    enum { SIZES = 48 }; /* bytes of both numbers and the blanks */
    buffer_init(text, entry->job.size + entry->record.size + SEAL_SIZE(entry->element.size) + SIZES);
    if (entry->job.size == 0)
        return;
    buffer_printf(text, "%zu %zu ", entry->job.size, entry->record.size);
    buffer_append(text, entry->job);
    buffer_append(text, entry->record);
    sealed_value_append(text, owner, entry->element);
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
    if (status == STATUS_OK && reply_names_quota(call->shard, result))
        status = STATUS_QUOTA;
    else if (status == STATUS_OK)
        status = read_begun(result, &begun);
    CALL_FN(call, workflow_begun_fn)(call->arg, status, status == STATUS_OK ? &begun : NULL);
    buffer_fini(&prepared->one);
    buffer_fini(&prepared->other);
}

void workflow_begin(struct store *store, const struct workflow_begin *begin, workflow_begun_fn *fn, void *arg)
{
    struct prepared *prepared = NEW(struct prepared);
    struct store_call *call = &prepared->call;
    char room[WORKFLOW_SEAL_MAX];
    struct slice owner = workflow_seal_owner(begin->id, room);
    store_call_init(call, store_shard_of(store, begin->id), SHARD_BATCH_BEGIN, begin_end, ANY_FN(fn), arg);
    write_prepared(&begin->if_failed, owner, &prepared->one);
    write_prepared(&begin->if_cancelled, owner, &prepared->other);
    store_call_text(call, begin->id);
    store_call_secret(call, owner, begin->settings);
    store_call_text(call, begin->parent);
    store_call_text(call, buffer_slice(&prepared->one));
    store_call_text(call, buffer_slice(&prepared->other));
    store_call_text(call, begin->replaces ? SLICE("1") : SLICE("0"));
    store_call_text(call, begin->from);
    store_call_number(call, (int64_t)begin->kept);
    /* Redis stores the kind of each element in one more byte. */
    store_call_number(call, (int64_t)(begin->kept_bytes + begin->kept));
    add_entry(&begin->first, owner, call);
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
    char room[WORKFLOW_SEAL_MAX];
    struct slice owner = workflow_seal_owner(id, room);
    call->note = (int64_t)count; /* for append_end */
    store_call_text(call, id);
    store_call_number(call, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        add_entry(&entries[i], owner, call);
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
    char room[WORKFLOW_SEAL_MAX];
    struct slice owner = workflow_seal_owner(id, room);
    store_call_init(call, store_shard_of(store, id), SHARD_BATCH_CONCLUDE, conclude_end, ANY_FN(fn), arg);
    write_prepared(for_parent ? for_parent : &none, owner, &prepared->one);
    store_call_text(call, id);
    store_call_text(call, state == WORKFLOW_SUCCEEDED ? SLICE("succeeded") : SLICE("cancelled"));
    store_call_secret(call, owner, result);
    store_call_text(call, buffer_slice(&prepared->one));
    store_call_send(call);
}

/* ---- waits ---- */

/* Weight of a call that fills a run, so that each run of wait.lua and notify.lua has only one. */
enum { ALONE = BATCH_BYTES_MAX };

/* ---- wait ---- */

static enum status read_waiting(const struct redis_reply *result, struct workflow_waiting *waiting)
{
    if (redis_reply_size(result) == 1) {
        waiting->kept = redis_reply_text(redis_reply_at(result, 0));
        return STATUS_STALE;
    }
    int64_t code = redis_reply_integer(result);
    if (code == RESULT_NOT_FOUND)
        return STATUS_NOT_FOUND;
    if (code == RESULT_TAKEN)
        return STATUS_EXISTS;
    if (code < 1)
        return STATUS_FULL;
    waiting->has_taken = code == 2;
    return STATUS_OK;
}

static void wait_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct workflow_waiting waiting = {.has_taken = false};
    if (status == STATUS_OK)
        status = read_waiting(result, &waiting);
    CALL_FN(call, workflow_waiting_fn)(call->arg, status, &waiting);
}

void workflow_wait(struct store *store, const struct workflow_wait *wait, workflow_waiting_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_new(store_shard_of(store, wait->id), SHARD_BATCH_WAIT, wait_end, ANY_FN(fn), arg);
    const struct workflow_entry *with_kept = wait->with_kept.job.size ? &wait->with_kept : &wait->deadline;
    char room[WORKFLOW_SEAL_MAX];
    struct slice owner = workflow_seal_owner(wait->id, room);
    store_call_text(call, wait->id);
    store_call_text(call, wait->event);
    store_call_secret(call, owner, wait->text);
    store_call_text(call, wait->deadline.job);
    store_call_when(call, wait->deadline.when);
    store_call_text(call, wait->deadline.record);
    store_call_secret(call, owner, wait->deadline.element);
    store_call_text(call, wait->kept);
    store_call_text(call, with_kept->job);
    store_call_text(call, with_kept->record);
    store_call_secret(call, owner, with_kept->element);
    store_call_text(call, wait->deadline.step);
    call->bytes += ALONE;
    store_call_send(call);
}

/* ---- waiters ---- */

enum { FIRST_WAITER = 2 /* place of the first waiter in the reply */ };

static void waiters_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct slice next = SLICE("");
    size_t count = 0;
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_WAITER)
        status = reply_refuse("waiters");
    if (status == STATUS_OK) {
        count = (redis_reply_size(reply) - FIRST_WAITER) / 2;
        next = redis_reply_text(redis_reply_at(reply, 1));
    }
    struct workflow_waiter *waiters = NEW_ARRAY(struct workflow_waiter, count + 1);
    char room[WORKFLOW_SEAL_MAX];
    for (size_t i = 0; i < count; i++) {
        struct slice job = redis_reply_text(redis_reply_at(reply, FIRST_WAITER + 2 * i));
        struct slice text = redis_reply_text(redis_reply_at(reply, FIRST_WAITER + 2 * i + 1));
        struct slice owner = workflow_seal_owner(store_call_argument(call, 0), room);
        waiters[i] = (struct workflow_waiter){job, sealed_values_open(&call->secrets, owner, text)};
    }
    if (call->secrets.lacks_key) /* an event must not pass by a waiter */
        status = STATUS_UNAVAILABLE;
    CALL_FN(call, workflow_waiters_fn)
    (call->arg, status == STATUS_OK ? STATUS_OK : STATUS_UNAVAILABLE, waiters, count, next);
    free(waiters);
}

void workflow_waiters(struct store *store, const struct workflow_waiters_query *query,
                      workflow_waiters_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, query->owner);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_WAITERS, shard->reads, waiters_end, ANY_FN(fn), arg);
    store_call_text(call, query->owner);
    store_call_text(call, query->event);
    store_call_text(call, query->id);
    store_call_number(call, (int64_t)query->max);
    store_call_text(call, query->from);
    store_call_send(call);
}

/* ---- notify ---- */

static enum status status_of_kept(int64_t kept)
{
    switch (kept) {
    case RESULT_NOT_FOUND:
        return STATUS_NOT_FOUND;
    case RESULT_FULL:
        return STATUS_FULL;
    case RESULT_AGAIN:
        return STATUS_STALE;
    default:
        return STATUS_OK;
    }
}

/* call->note: the number of notices */
static void notify_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    size_t count = (size_t)call->note;
    bool *was_waiting = NEW_ARRAY(bool, count + 1);
    struct workflow_notified notified = {.was_waiting = was_waiting, .count = count};
    if (status == STATUS_OK && redis_reply_size(result) != count + 1)
        status = reply_refuse("notify");
    if (status == STATUS_OK) {
        int64_t kept = redis_reply_integer(redis_reply_at(result, 0));
        status = status_of_kept(kept);
        notified.is_kept = kept == 1;
    }
    for (size_t i = 0; status == STATUS_OK && i < count; i++)
        was_waiting[i] = redis_reply_integer(redis_reply_at(result, i + 1)) == 1;
    CALL_FN(call, workflow_notified_fn)(call->arg, status, &notified);
    free(was_waiting);
}

void workflow_notify(struct store *store, const struct workflow_notify *notify, workflow_notified_fn *fn,
                     void *arg)
{
    struct shard *shard = store_shard_of(store, notify->owner);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_NOTIFY, notify_end, ANY_FN(fn), arg);
    char room[WORKFLOW_SEAL_MAX];
    struct slice owner = workflow_seal_owner(notify->owner, room);
    call->note = (int64_t)notify->count;
    store_call_text(call, notify->owner);
    store_call_text(call, notify->event);
    store_call_text(call, notify->id);
    store_call_secret(call, owner, notify->data);
    for (size_t i = 0; i < notify->count; i++) {
        store_call_text(call, notify->notices[i].waiter);
        store_call_text(call, notify->notices[i].entry.job);
        store_call_text(call, notify->notices[i].entry.record);
        store_call_secret(call, owner, notify->notices[i].entry.element);
    }
    call->bytes += ALONE;
    store_call_send(call);
}

/* ---- the elements for a request ---- */

enum {
    /* Size that a call counts as, so that a run has few calls: each may get a long list. */
    INPUT_BYTES = 256 * 1024,
};

static bool workflow_input_kind_read(struct slice word, enum workflow_input_kind *kind)
{
    static const struct slice words[] = {
        [INPUT_OWN] = SLICE_INIT("own"),   [INPUT_LIST] = SLICE_INIT("list"),
        [INPUT_LONG] = SLICE_INIT("long"), [INPUT_DONE] = SLICE_INIT("done"),
        [INPUT_OVER] = SLICE_INIT("over"), [INPUT_UNREADABLE] = SLICE_INIT("unreadable")};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (slice_equal(word, words[i])) {
            *kind = (enum workflow_input_kind)i;
            return true;
        }
    }
    return false;
}

/* Writes the results of steps as a JSON array: the elements whose first byte, the kind, is 's', without
 * this byte. */
static void write_elements(const struct redis_reply *elements, struct slice owner,
                           struct sealed_values *values, struct buffer *array)
{
    bool is_first = true;
    buffer_append_byte(array, '[');
    for (size_t i = 0; i < redis_reply_size(elements); i++) {
        struct slice element = redis_reply_text(redis_reply_at(elements, i));
        if (!slice_starts_with(element, SLICE("s")))
            continue;
        if (!is_first)
            buffer_append_byte(array, ',');
        buffer_append(array, sealed_values_open(values, owner, slice_skip(element, 1)));
        is_first = false;
    }
    buffer_append_byte(array, ']');
}

static enum status read_input(const struct redis_reply *result, struct slice owner,
                              struct sealed_values *values, struct buffer *array,
                              struct workflow_input *input)
{
    if (!workflow_input_kind_read(redis_reply_text(redis_reply_at(result, 0)), &input->kind))
        return reply_refuse("arrive");
    if (input->kind >= INPUT_DONE)
        return STATUS_OK;
    if (redis_reply_size(result) < 3)
        return reply_refuse("arrive");
    input->made_ms = redis_reply_integer(redis_reply_at(result, 1));
    write_elements(redis_reply_at(result, 2), owner, values, array);
    input->elements = buffer_slice(array);
    if (values->has_shut) /* this process lacks a key, so the attempt releases the job */
        return STATUS_UNAVAILABLE;
    return array->failed ? STATUS_NO_MEMORY : STATUS_OK;
}

/* The job of a workflow is in a sibling topic of the owner. */
static struct slice arrive_owner(const struct store_call *call, char room[WORKFLOW_SEAL_MAX])
{
    struct slice topic, owner, ignored;
    slice_cut(store_call_argument(call, 0), '/', &topic, &ignored);
    slice_cut(topic, '~', &owner, &ignored);
    return workflow_seal_owner(owner, room);
}

static void input_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct workflow_input input = {.kind = INPUT_OVER};
    char room[WORKFLOW_SEAL_MAX];
    struct buffer array;
    buffer_init_fallible(&array, JOB_RECORD_MAX);
    if (status == STATUS_OK)
        status = read_input(result, arrive_owner(call, room), &call->secrets, &array, &input);
    CALL_FN(call, workflow_input_fn)(call->arg, status, status == STATUS_OK ? &input : NULL);
    buffer_fini(&array);
}

void shard_arrive(struct shard *shard, struct slice id, workflow_input_fn *fn, void *arg)
{
    struct store_call *call = store_call_new(shard, SHARD_BATCH_ARRIVE, input_end, ANY_FN(fn), arg);
    store_call_text(call, id);
    call->bytes += INPUT_BYTES;
    store_call_send(call);
}
