/* limit.c - reads and writes the limits that several topics share, and the keys of a topic. */
#include "job/topic/topic_patterns.h"
#include "store/store_private.h"

enum {
    LIMITS_MAX = 100, /* maximum number of limits in one call */
    FIRST_LIMIT = 2,  /* index of the first limit in a reply */
    LIMIT_PARTS = 6,
    FIRST_NAME = 2, /* index of the first name in the reply of a refused removal */
    FIRST_LANE = 3, /* index of the first key in a reply */
    LANE_PARTS = 7,
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

/* ---- keys ---- */

static enum topic_hold hold_of(struct slice word)
{
    static const struct {
        const char *word;
        enum topic_hold hold;
    } words[] = {{"paused", HOLD_PAUSED},
                 {"maxInFlight", HOLD_IN_FLIGHT},
                 {"order", HOLD_LINE},
                 {"rate", HOLD_RATE},
                 {"batch", HOLD_BATCH}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (slice_equal(word, slice_of(words[i].word)))
            return words[i].hold;
    return HOLD_NONE;
}

static void lanes_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct topic_lane lanes[STORE_LANES_MAX];
    size_t count = 0;
    char room[STORE_LANE_PLACE_MAX + 1];
    struct buffer after = buffer_of(room, sizeof room);
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_LANE)
        status = reply_refuse("keys");
    for (size_t at = FIRST_LANE; status == STATUS_OK && at + LANE_PARTS <= redis_reply_size(reply);
         at += LANE_PARTS) {
        struct topic_lane lane = {
            .key = redis_reply_text(redis_reply_at(reply, at)),
            .settings = redis_reply_text(redis_reply_at(reply, at + 1)),
            .pending = redis_reply_integer(redis_reply_at(reply, at + 2)),
            .in_flight = redis_reply_integer(redis_reply_at(reply, at + 3)),
            .topic_in_flight = redis_reply_integer(redis_reply_at(reply, 2)),
            .due_ms = redis_reply_integer(redis_reply_at(reply, at + 4)),
            .held_until_ms = redis_reply_integer(redis_reply_at(reply, at + 5)), /* 0 if it is 'inf' */
            .hold = hold_of(redis_reply_text(redis_reply_at(reply, at + 6))),
            .now_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000,
        };
        if (count == STORE_LANES_MAX) {
            status = reply_refuse("keys");
            break;
        }
        /* Another program may have written the key. The page continues behind it. */
        buffer_clear(&after);
        buffer_append_number(&after, lane.pending);
        buffer_append_byte(&after, ' ');
        buffer_append(&after, lane.key);
        if (lane.key.size == 0 || lane_key_is_valid(lane.key))
            lanes[count++] = lane;
    }
    bool has_more =
        status == STATUS_OK && !after.failed && redis_reply_integer(redis_reply_at(reply, 1)) == 1;
    CALL_FN(call, store_lanes_fn)
    (call->arg, status, lanes, count, has_more ? buffer_slice(&after) : SLICE(""));
}

void store_lanes(struct store *store, const struct store_lanes *lanes, store_lanes_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, lanes->topic);
    struct store_call *call = store_call_alone(shard, SCRIPT_KEYS, shard->reads, lanes_end, ANY_FN(fn), arg);
    store_call_text(call, lanes->topic);
    store_call_text(call, lanes->key);
    store_call_number(call, lanes->is_one);
    store_call_text(call, lanes->after);
    store_call_number(call, lanes->max < STORE_LANES_MAX ? (int64_t)lanes->max : STORE_LANES_MAX);
    store_call_send(call);
}

static void lane_set_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    if (status_is_done(status) && redis_reply_integer(result) != LIMIT_DONE)
        status = STATUS_STALE;
    CALL_FN(call, store_set_text_fn)(call->arg, status);
}

void store_set_lane(struct store *store, struct slice topic, struct slice key, struct slice old_text,
                    struct slice new_text, store_set_text_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_new(store_shard_of(store, topic), SHARD_BATCH_KEY, lane_set_end, ANY_FN(fn), arg);
    store_call_text(call, topic);
    store_call_text(call, key);
    store_call_text(call, old_text);
    store_call_text(call, new_text);
    store_call_fill_run(call, false);
    store_call_send(call);
}
