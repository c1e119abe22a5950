/* send.c - schedules, reads and cancels the jobs that are sent to a group. */
#include <assert.h>

#include "base/memory.h"
#include "job/group.h"
#include "store/store_private.h"

enum {
    UNSEND_WEIGHT = BATCH_BYTES_MAX / 4, /* heavy, because a send may have 100 jobs */
    SEEN_PARTS = 3,                      /* endpoint, state, time */
    CODE_PARTS = 2,                      /* endpoint, code */
    FIRST_OF_REPLACED = 4,               /* index of the first due time */
};

/* ---- send ---- */

struct send {
    struct store_call call;
    struct store_send what;
};

/* Reads endpoint, state, time, ... from index first on. Returns false if no script of sends can have sent
 * this reply. */
static bool read_states(const struct redis_reply *reply, size_t first, struct store_sent *sent)
{
    size_t size = redis_reply_size(reply);
    if ((size - first) % SEEN_PARTS || size - first > (size_t)SEEN_PARTS * STORE_SEND_MAX)
        return false;
    for (size_t at = first; at < size; at += SEEN_PARTS) {
        struct sent_job *job = &sent->jobs[sent->count++];
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
    if (redis_reply_size(result) != send->what.count + first)
        return false;
    for (size_t i = 0; i < send->what.count; i++) {
        sent->jobs[sent->count++] =
            (struct sent_job){.endpoint = send->what.jobs[i].endpoint,
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
            (struct sent_job){.endpoint = endpoint, .state = JOB_STATE_DELAYED, .at_ms = due_ms};
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

static void send_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    const struct send *send = (const struct send *)call;
    struct sent_job jobs[STORE_SEND_MAX];
    struct store_sent sent = {.id = send->what.id, .jobs = jobs};
    int64_t code = redis_reply_integer(result);
    if (status == STATUS_OK && reply_names_quota(call->shard, result))
        status = STATUS_QUOTA;
    else if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY)
        status = read_sent(send, result, &sent);
    else if (status == STATUS_OK)
        status = code == RESULT_FULL        ? STATUS_FULL
                 : code == RESULT_REUSED    ? STATUS_REUSED
                 : code == RESULT_NOT_FOUND ? STATUS_NOT_FOUND
                 : code == RESULT_EXPIRED   ? STATUS_EXPIRED
                                            : reply_refuse("send");
    CALL_FN(call, store_sent_fn)(call->arg, status, &sent);
}

/* third: the third argument of the batch's script */
static void send_jobs(struct store *store, enum shard_batch batch, const struct store_send *what,
                      struct slice third, store_call_end_fn *end, store_sent_fn *fn, void *arg)
{
    struct send *send = NEW(struct send);
    struct store_call *call = &send->call;
    assert(what->count <= STORE_SEND_MAX);
    store_call_init(call, store_shard_of(store, what->id), batch, end, ANY_FN(fn), arg);
    send->what = *what;
    store_call_text(call, what->id);
    store_call_when(call, what->when);
    store_call_text(call, third);
    store_call_text(call, what->mark);
    store_call_text(call, what->group);
    store_call_number(call, (int64_t)what->count);
    for (size_t i = 0; i < what->count; i++) {
        store_call_text(call, what->jobs[i].endpoint);
        store_call_text(call, what->jobs[i].record);
        call->bytes += what->jobs[i].record.size + BATCH_JOB_WEIGHT;
    }
    store_call_send(call);
}

void store_send(struct store *store, const struct store_send *what, store_sent_fn *fn, void *arg)
{
    send_jobs(store, SHARD_BATCH_SEND, what, what->once.size ? what->once : SLICE("-"), send_end, fn, arg);
}

/* ---- replace ---- */

static enum status read_replaced(const struct send *send, const struct redis_reply *result,
                                 struct store_sent *sent)
{
    struct slice word = redis_reply_text(redis_reply_at(result, 0));
    int64_t replaced = redis_reply_integer(redis_reply_at(result, 1));
    int64_t leased = redis_reply_integer(redis_reply_at(result, 2));
    int64_t cancelled = redis_reply_integer(redis_reply_at(result, 3));
    if (!slice_equal(word, SLICE("replaced")) || replaced < 0 || replaced > (int64_t)send->what.count ||
        leased < 0 || leased > replaced || cancelled < 0 || cancelled > STORE_SEND_MAX ||
        !read_new(send, result, FIRST_OF_REPLACED, sent))
        return reply_refuse("replace_send");
    sent->replaced = (size_t)replaced;
    sent->replaced_leased = (size_t)leased;
    sent->cancelled = (size_t)cancelled;
    sent->was_there = replaced + cancelled > 0;
    return STATUS_OK;
}

static void replace_send_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    const struct send *send = (const struct send *)call;
    struct sent_job jobs[STORE_SEND_MAX];
    struct store_sent sent = {.id = send->what.id, .jobs = jobs};
    int64_t code = redis_reply_integer(result);
    if (status == STATUS_OK && reply_names_quota(call->shard, result))
        status = STATUS_QUOTA;
    else if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY)
        status = read_replaced(send, result, &sent);
    else if (status == STATUS_OK)
        status = code == RESULT_FULL          ? STATUS_FULL
                 : code == RESULT_NOT_AS_SEEN ? STATUS_STALE
                 : code == RESULT_EXPIRED     ? STATUS_EXPIRED
                                              : reply_refuse("replace_send");
    CALL_FN(call, store_sent_fn)(call->arg, status, &sent);
}

void store_replace_sent(struct store *store, const struct store_send *what, store_sent_fn *fn, void *arg)
{
    assert(what->count > 0);
    send_jobs(store, SHARD_BATCH_REPLACE_SEND, what, slice_of(what->is_only_new ? "!" : ""), replace_send_end,
              fn, arg);
}

/* ---- read ---- */

static void seen_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct sent_job jobs[STORE_SEND_MAX];
    struct store_sent sent = {.id = store_call_argument(call, 0), .jobs = jobs};
    if (status == STATUS_OK && (redis_reply_size(reply) == 0 || !read_states(reply, 1, &sent)))
        status = reply_refuse("sent");
    if (status == STATUS_OK && sent.count == 0)
        status = STATUS_NOT_FOUND;
    CALL_FN(call, store_sent_fn)(call->arg, status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status, &sent);
}

void store_read_sent(struct store *store, struct slice id, struct slice group, store_sent_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, id);
    struct store_call *call = store_call_alone(shard, SCRIPT_SENT, shard->reads, seen_end, ANY_FN(fn), arg);
    store_call_text(call, id);
    store_call_text(call, group);
    store_call_send(call);
}

/* ---- cancel ---- */

struct unsend {
    struct store_call call;
    struct store_unsent unsent; /* the sums of all calls */
};

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

static void unsend_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct unsend *unsend = (struct unsend *)call;
    if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY &&
        add_codes(result, &unsend->unsent)) {
        store_call_send(call);
        return;
    }
    if (status == STATUS_OK && unsend->unsent.cancelled == 0)
        status = STATUS_NOT_FOUND;
    CALL_FN(call, store_unsent_fn)(call->arg, status, &unsend->unsent);
}

void store_unsend(struct store *store, struct slice id, struct slice group, store_unsent_fn *fn, void *arg)
{
    struct unsend *unsend = NEW(struct unsend);
    struct store_call *call = &unsend->call;
    store_call_init(call, store_shard_of(store, id), SHARD_BATCH_UNSEND, unsend_end, ANY_FN(fn), arg);
    store_call_text(call, id);
    store_call_text(call, group);
    call->bytes += UNSEND_WEIGHT;
    store_call_send(call);
}
