/* access.c - the access tokens that processes share (scripts/access.lua), and when clients' tokens were used
 * last (scripts/used.lua). */
#include <stdlib.h>

#include "base/memory.h"
#include "store/store_private.h"

enum { ACCESS_PARTS = 5 };

static bool read_answer(struct slice word, enum store_access_answer *answer)
{
    static const char *const words[] = {
        [STORE_ACCESS_TOKEN] = "token", [STORE_ACCESS_FETCH] = "fetch", [STORE_ACCESS_BUSY] = "busy",
        [STORE_ACCESS_WAIT] = "wait",   [STORE_ACCESS_DONE] = "done",
    };
    for (*answer = STORE_ACCESS_TOKEN; *answer <= STORE_ACCESS_DONE; ++*answer)
        if (slice_equal(word, slice_of(words[*answer])))
            return true;
    return false;
}

static void access_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct store_access access = {.answer = STORE_ACCESS_DONE};
    if (status == STATUS_OK && (redis_reply_size(reply) != ACCESS_PARTS ||
                                !read_answer(redis_reply_text(redis_reply_at(reply, 1)), &access.answer)))
        status = reply_refuse("access");
    if (status == STATUS_OK) {
        access.ms = access.fails = redis_reply_integer(redis_reply_at(reply, 2));
        access.token = redis_reply_text(redis_reply_at(reply, 3));
        access.age_ms = redis_reply_integer(redis_reply_at(reply, 4));
    }
    CALL_FN(call, store_access_fn)(call->arg, status, status == STATUS_OK ? &access : NULL);
}

static struct store_call *access_call(struct store *store, struct slice digest, const char *what,
                                      store_access_fn *fn, void *arg)
{
    struct shard *shard = store_shard(store, 0);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_ACCESS, shard->worker, access_end, ANY_FN(fn), arg);
    store_call_text(call, digest);
    store_call_text(call, slice_of(what));
    return call;
}

void store_access_ask(struct store *store, struct slice digest, int64_t busy_ms, store_access_fn *fn,
                      void *arg)
{
    struct store_call *call = access_call(store, digest, "ask", fn, arg);
    store_call_number(call, busy_ms);
    store_call_send(call);
}

void store_access_keep(struct store *store, struct slice digest, struct slice token, int64_t ms,
                       store_access_fn *fn, void *arg)
{
    struct store_call *call = access_call(store, digest, "keep", fn, arg);
    store_call_text(call, token);
    store_call_number(call, ms);
    store_call_send(call);
}

void store_access_fail(struct store *store, struct slice digest, int64_t fails, store_access_fn *fn,
                       void *arg)
{
    struct store_call *call = access_call(store, digest, "fail", fn, arg);
    store_call_number(call, fails);
    store_call_send(call);
}

void store_access_drop(struct store *store, struct slice digest, struct slice token, store_access_fn *fn,
                       void *arg)
{
    struct store_call *call = access_call(store, digest, "drop", fn, arg);
    store_call_text(call, token);
    store_call_send(call);
}

/* ---- last uses of clients' tokens ---- */

static void uses_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    size_t count = status == STATUS_OK ? redis_reply_size(reply) - 1 : 0;
    int64_t *times = NEW_ARRAY(int64_t, count ? count : 1);
    if (status == STATUS_OK && count != (size_t)call->note)
        status = reply_refuse("used");
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        uint64_t number;
        if (slice_to_number(redis_reply_text(redis_reply_at(reply, i + 1)), INT64_MAX, &number))
            times[i] = (int64_t)number;
    }
    CALL_FN(call, store_token_uses_fn)(call->arg, status, times);
    free(times);
}

void store_token_uses(struct store *store, const struct slice *names, const int64_t *times, size_t count,
                      store_token_uses_fn *fn, void *arg)
{
    struct shard *shard = store_shard(store, 0);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_USED, times ? shard->worker : shard->reads, uses_end, ANY_FN(fn), arg);
    call->note = times ? 0 : (int64_t)count;
    store_call_number(call, times ? (int64_t)count : 0);
    for (size_t i = 0; i < count; i++) {
        store_call_text(call, names[i]);
        if (times)
            store_call_number(call, times[i]);
    }
    store_call_send(call);
}
