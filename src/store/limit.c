/* limit.c - reads and writes the limits that several topics share. */
#include "job/topic/topic_patterns.h"
#include "store/store_private.h"

enum {
    LIMITS_MAX = 100, /* maximum number of limits in one call */
    FIRST_LIMIT = 2,  /* index of the first limit in a reply */
    LIMIT_PARTS = 6,
    FIRST_NAME = 2, /* index of the first name in the reply of a refused removal */
};

/* Results of limit_set.lua. */
enum { LIMIT_CHANGED = 0, LIMIT_DONE = 1, LIMIT_IN_USE = 2 };

static struct shard *shard_of_limits(const struct store *store)
{
    return store_shard(store, 0);
}

static struct limit read_limit(const struct redis_reply *reply, size_t at)
{
    return (struct limit){
        .name = redis_reply_text(redis_reply_at(reply, at)),
        .settings = redis_reply_text(redis_reply_at(reply, at + 1)),
        .in_flight = redis_reply_integer(redis_reply_at(reply, at + 2)),
        .waiting = redis_reply_integer(redis_reply_at(reply, at + 3)),
        .next_ms = redis_reply_integer(redis_reply_at(reply, at + 4)),
        .topics = redis_reply_text(redis_reply_at(reply, at + 5)),
        .now_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000,
    };
}

static void limits_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct limit limits[LIMITS_MAX];
    size_t count = 0;
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_LIMIT)
        status = reply_refuse("limits");
    for (size_t at = FIRST_LIMIT; status == STATUS_OK && at + LIMIT_PARTS <= redis_reply_size(reply);
         at += LIMIT_PARTS) {
        struct limit limit = read_limit(reply, at);
        if (count == LIMITS_MAX)
            status = reply_refuse("limits");
        else if (reply_has_topic(limit.name))
            limits[count++] = limit;
    }
    CALL_FN(call, store_limits_fn)
    (call->arg, status, limits, count,
     status == STATUS_OK && count > 0 && redis_reply_integer(redis_reply_at(reply, 1)) == 1);
}

void store_limits(struct store *store, struct slice name, struct slice after, size_t max, store_limits_fn *fn,
                  void *arg)
{
    struct shard *shard = shard_of_limits(store);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_LIMITS, shard->reads, limits_end, ANY_FN(fn), arg);
    store_call_text(call, name);
    store_call_text(call, after);
    store_call_number(call, max < LIMITS_MAX ? (int64_t)max : LIMITS_MAX);
    store_call_send(call);
}

static void set_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct slice names[STORE_LIMIT_NAMES_MAX];
    size_t count = 0;
    int64_t code = redis_reply_integer(redis_reply_at(reply, 1));
    if (status_is_done(status) && code != LIMIT_DONE)
        status = code == LIMIT_IN_USE ? STATUS_IN_USE : STATUS_STALE;
    for (size_t at = FIRST_NAME;
         status == STATUS_IN_USE && at < redis_reply_size(reply) && count < STORE_LIMIT_NAMES_MAX; at++) {
        struct slice name = redis_reply_text(redis_reply_at(reply, at));
        if (topic_pattern_is_open(name) || reply_has_topic(name))
            names[count++] = name;
    }
    CALL_FN(call, store_set_limit_fn)(call->arg, status, names, count);
}

void store_set_limit(struct store *store, struct slice name, struct slice old_text, struct slice new_text,
                     store_set_limit_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_new(shard_of_limits(store), SHARD_BATCH_LIMIT, set_end, ANY_FN(fn), arg);
    store_call_text(call, name);
    store_call_text(call, old_text);
    store_call_text(call, new_text);
    store_call_fill_run(call, true);
    store_call_send(call);
}
