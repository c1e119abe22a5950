/* send.c - schedules, reads and cancels the jobs that are sent to a group. */
#include <assert.h>

#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

enum {
    UNSEND_WEIGHT = BATCH_BYTES_MAX / 4, /* heavy, because a send may have 100 jobs */
    SEEN_PARTS = 3,                      /* endpoint, state, time */
    CODE_PARTS = 2,                      /* endpoint, code */
    FIRST_OF_REPLACED = 4,               /* index of the first due time */
};

/* ---- send ---- */

struct send {
    struct batch_item item;
    struct shard *shard;
    struct store_send call;
    store_sent_fn *fn;
    void *arg;
};

static void send_add(struct store *store, enum shard_batch batch, const struct store_send *call,
                     store_sent_fn *fn, void *arg)
{
    struct send *send = NEW(struct send);
    assert(call->count <= STORE_SEND_MAX);
    send->item.bytes = call->count * BATCH_JOB_WEIGHT;
    for (size_t i = 0; i < call->count; i++)
        send->item.bytes += 2 * call->jobs[i].record.size;
    send->shard = store_shard_of(store, call->id);
    send->call = *call;
    send->fn = fn;
    send->arg = arg;
    batch_add(&send->shard->batches[batch], &send->item);
}

void store_send(struct store *store, const struct store_send *call, store_sent_fn *fn, void *arg)
{
    send_add(store, SHARD_BATCH_SEND, call, fn, arg);
}

static void add_parts(const struct send *send, struct script_call *call, struct slice third)
{
    script_call_text(call, send->call.id);
    script_call_when(call, send->call.when);
    script_call_text(call, third);
    script_call_text(call, send->call.mark);
    script_call_text(call, send->call.group);
    script_call_number(call, (int64_t)send->call.count);
    for (size_t i = 0; i < send->call.count; i++) {
        script_call_text(call, send->call.jobs[i].endpoint);
        script_call_text(call, send->call.jobs[i].record);
    }
}

static void send_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct send *send = (const struct send *)item;
    add_parts(send, call, send->call.once.size ? send->call.once : SLICE("-"));
}

/* Reads endpoint, state, time, ... from index first on. Returns false if no script of sends can have sent
 * this reply. */
static bool read_states(const struct redis_reply *reply, size_t first, struct store_sent *sent)
{
    size_t size = redis_reply_size(reply);
    if ((size - first) % SEEN_PARTS || size - first > (size_t)SEEN_PARTS * STORE_SEND_MAX)
        return false;
    for (size_t at = first; at < size; at += SEEN_PARTS) {
        struct store_sent_job *job = &sent->jobs[sent->count++];
        struct slice state = redis_reply_text(redis_reply_at(reply, at + 1));
        job->endpoint = redis_reply_text(redis_reply_at(reply, at));
        job->has_ended = slice_equal(state, SLICE("ended"));
        job->at_ms = redis_reply_integer(redis_reply_at(reply, at + 2));
        if (!job->has_ended && !reply_read_state(state, &job->state))
            return false;
    }
    return true;
}

/* Reads the due times of new jobs, from index first on. */
static bool read_new(const struct send *send, const struct redis_reply *result, size_t first,
                     struct store_sent *sent)
{
    if (redis_reply_size(result) != send->call.count + first)
        return false;
    for (size_t i = 0; i < send->call.count; i++) {
        sent->jobs[sent->count++] =
            (struct store_sent_job){.endpoint = send->call.jobs[i].endpoint,
                                    .state = JOB_STATE_DELAYED,
                                    .at_ms = redis_reply_integer(redis_reply_at(result, i + first))};
    }
    return true;
}

/* Reads the id and the endpoints of the first answer under an idempotency key. */
static bool read_repeated(const struct redis_reply *result, struct store_sent *sent)
{
    struct slice endpoint, rest;
    int64_t due_ms = redis_reply_integer(redis_reply_at(result, 1));
    bool has_more = slice_cut(redis_reply_text(redis_reply_at(result, 2)), '\n', &sent->id, &rest);
    while (has_more && sent->count < STORE_SEND_MAX) {
        has_more = slice_cut(rest, ' ', &endpoint, &rest);
        sent->jobs[sent->count++] =
            (struct store_sent_job){.endpoint = endpoint, .state = JOB_STATE_DELAYED, .at_ms = due_ms};
    }
    return sent->count > 0;
}

static enum status read_sent(const struct send *send, const struct redis_reply *result,
                             struct store_sent *sent)
{
    struct slice word = redis_reply_text(redis_reply_at(result, 0));
    bool is_read = false;
    enum status status = STATUS_OK;
    if (slice_equal(word, SLICE("sent"))) {
        is_read = read_new(send, result, 1, sent);
    } else if (slice_equal(word, SLICE("same"))) {
        is_read = read_states(result, 1, sent);
        sent->is_same = true;
    } else if (slice_equal(word, SLICE("repeated"))) {
        is_read = read_repeated(result, sent);
        status = STATUS_REPEATED;
    } else if (slice_equal(word, SLICE("taken"))) {
        sent->taken = redis_reply_text(redis_reply_at(result, 1));
        is_read = sent->taken.size > 0;
        status = STATUS_EXISTS;
    }
    return is_read ? status : reply_refuse("send");
}

static void send_end_item(struct batch_item *item, enum status status, int64_t now_us,
                          const struct redis_reply *result)
{
    struct send *send = (struct send *)item;
    struct store_sent_job jobs[STORE_SEND_MAX];
    struct store_sent sent = {.id = send->call.id, .jobs = jobs};
    int64_t code = redis_reply_integer(result);
    (void)now_us;
    if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY)
        status = read_sent(send, result, &sent);
    else if (status == STATUS_OK)
        status = code == RESULT_FULL        ? STATUS_FULL
                 : code == RESULT_REUSED    ? STATUS_REUSED
                 : code == RESULT_NOT_FOUND ? STATUS_NOT_FOUND
                 : code == RESULT_EXPIRED   ? STATUS_EXPIRED
                                            : reply_refuse("send");
    send->fn(send->arg, status, &sent);
    free(send);
}

const struct batch_kind send_kind = {SCRIPT_SEND,      OWNER_CALLS_MAX, true,
                                     shard_add_limits, send_add_item,   send_end_item};

/* ---- replace ---- */

void store_replace_sent(struct store *store, const struct store_send *call, store_sent_fn *fn, void *arg)
{
    assert(call->count > 0);
    send_add(store, SHARD_BATCH_REPLACE_SEND, call, fn, arg);
}

static void replace_send_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct send *send = (const struct send *)item;
    add_parts(send, call, slice_of(send->call.is_only_new ? "!" : ""));
}

static enum status read_replaced(const struct send *send, const struct redis_reply *result,
                                 struct store_sent *sent)
{
    struct slice word = redis_reply_text(redis_reply_at(result, 0));
    int64_t replaced = redis_reply_integer(redis_reply_at(result, 1));
    int64_t leased = redis_reply_integer(redis_reply_at(result, 2));
    int64_t cancelled = redis_reply_integer(redis_reply_at(result, 3));
    if (!slice_equal(word, SLICE("replaced")) || replaced < 0 || replaced > (int64_t)send->call.count ||
        leased < 0 || leased > replaced || cancelled < 0 || cancelled > STORE_SEND_MAX ||
        !read_new(send, result, FIRST_OF_REPLACED, sent))
        return reply_refuse("replace_send");
    sent->replaced = (size_t)replaced;
    sent->replaced_leased = (size_t)leased;
    sent->cancelled = (size_t)cancelled;
    sent->was_there = replaced + cancelled > 0;
    return STATUS_OK;
}

static void replace_send_end_item(struct batch_item *item, enum status status, int64_t now_us,
                                  const struct redis_reply *result)
{
    struct send *send = (struct send *)item;
    struct store_sent_job jobs[STORE_SEND_MAX];
    struct store_sent sent = {.id = send->call.id, .jobs = jobs};
    int64_t code = redis_reply_integer(result);
    bool is_array = redis_reply_kind(result) == REDIS_KIND_ARRAY;
    (void)now_us;
    if (status == STATUS_OK && !is_array && code == RESULT_AGAIN) {
        batch_add(&send->shard->batches[SHARD_BATCH_REPLACE_SEND], item);
        return;
    }
    if (status == STATUS_OK && is_array)
        status = read_replaced(send, result, &sent);
    else if (status == STATUS_OK)
        status = code == RESULT_FULL          ? STATUS_FULL
                 : code == RESULT_NOT_AS_SEEN ? STATUS_STALE
                 : code == RESULT_EXPIRED     ? STATUS_EXPIRED
                                              : reply_refuse("replace_send");
    send->fn(send->arg, status, &sent);
    free(send);
}

const struct batch_kind replace_send_kind = {
    SCRIPT_REPLACE_SEND, OWNER_CALLS_MAX,       true,
    shard_add_max_jobs,  replace_send_add_item, replace_send_end_item};

/* ---- read ---- */

struct seeing {
    struct slice id;
    store_sent_fn *fn;
    void *arg;
};

static void on_seen(void *arg, enum status status, const struct redis_reply *reply)
{
    struct seeing *seeing = arg;
    struct store_sent_job jobs[STORE_SEND_MAX];
    struct store_sent sent = {.id = seeing->id, .jobs = jobs};
    if (status == STATUS_OK && (redis_reply_size(reply) == 0 || !read_states(reply, 1, &sent)))
        status = reply_refuse("sent");
    if (status == STATUS_OK && sent.count == 0)
        status = STATUS_NOT_FOUND;
    seeing->fn(seeing->arg, status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status, &sent);
    free(seeing);
}

void store_read_sent(struct store *store, struct slice id, struct slice group, store_sent_fn *fn, void *arg)
{
    struct seeing *seeing = NEW(struct seeing);
    *seeing = (struct seeing){id, fn, arg};
    struct shard *shard = store_shard_of(store, id);
    struct script_call *call = shard_call(shard, SCRIPT_SENT);
    script_call_text(call, id);
    script_call_text(call, group);
    script_call_send(call, shard->reads, on_seen, seeing);
}

/* ---- cancel ---- */

struct unsend {
    struct batch_item item;
    struct shard *shard;
    struct slice id, group;
    store_unsent_fn *fn;
    void *arg;
    struct store_unsent unsent; /* the sums of all calls */
};

void store_unsend(struct store *store, struct slice id, struct slice group, store_unsent_fn *fn, void *arg)
{
    struct unsend *unsend = NEW(struct unsend);
    unsend->item.bytes = UNSEND_WEIGHT;
    unsend->shard = store_shard_of(store, id);
    unsend->id = id;
    unsend->group = group;
    unsend->fn = fn;
    unsend->arg = arg;
    batch_add(&unsend->shard->batches[SHARD_BATCH_UNSEND], &unsend->item);
}

static void unsend_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct unsend *unsend = (const struct unsend *)item;
    script_call_text(call, unsend->id);
    script_call_text(call, unsend->group);
}

/* Adds the results of one call. Returns whether the call must be repeated for the remaining jobs. */
static bool add_codes(const struct redis_reply *result, struct store_unsent *unsent)
{
    bool is_partial = false;
    for (size_t at = 0; at + 1 < redis_reply_size(result); at += CODE_PARTS) {
        int64_t code = redis_reply_integer(redis_reply_at(result, at + 1));
        unsent->cancelled += code >= 0;
        unsent->leased += code == 1;
        is_partial |= code == RESULT_AGAIN;
    }
    return is_partial;
}

static void unsend_end_item(struct batch_item *item, enum status status, int64_t now_us,
                            const struct redis_reply *result)
{
    struct unsend *unsend = (struct unsend *)item;
    (void)now_us;
    if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY &&
        add_codes(result, &unsend->unsent)) {
        batch_add(&unsend->shard->batches[SHARD_BATCH_UNSEND], item);
        return;
    }
    if (status == STATUS_OK && unsend->unsent.cancelled == 0)
        status = STATUS_NOT_FOUND;
    unsend->fn(unsend->arg, status, &unsend->unsent);
    free(unsend);
}

const struct batch_kind unsend_kind = {SCRIPT_UNSEND, OWNER_CALLS_MAX, true,
                                       NULL,          unsend_add_item, unsend_end_item};
