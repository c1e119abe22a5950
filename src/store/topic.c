/* topic.c - reads topics and groups, and changes their texts: the settings of a topic, the text of a group.
 */
#include <assert.h>

#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

enum {
    TOPICS_MAX = 100, /* maximum number of topics in one call, which takes Redis about a millisecond */
    FIRST_TOPIC = 2,  /* index of the first topic in a reply */
    TOPIC_PARTS = 20,
    GROUP_PARTS = 2, /* name, text */
};

/* ---- reading ---- */

struct topic_walk {
    const struct store *store;
    struct store_topics topics; /* from.shard is the shard of the current call */
    store_topics_fn *fn;
    void *arg;
};

static void ask(struct topic_walk *);

/* Reads a topic or a group. A group has its text where a topic has its settings. */
static struct topic read_topic(const struct redis_reply *reply, size_t at, bool is_group)
{
    if (is_group)
        return (struct topic){.name = redis_reply_text(redis_reply_at(reply, at)),
                              .settings = redis_reply_text(redis_reply_at(reply, at + 1)),
                              .now_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000};
    return (struct topic){
        .name = redis_reply_text(redis_reply_at(reply, at)),
        .settings = redis_reply_text(redis_reply_at(reply, at + 1)),
        .delayed = redis_reply_integer(redis_reply_at(reply, at + 2)),
        .ready = redis_reply_integer(redis_reply_at(reply, at + 3)),
        .leased = redis_reply_integer(redis_reply_at(reply, at + 4)),
        .dead = redis_reply_integer(redis_reply_at(reply, at + 5)),
        .due_ms = redis_reply_integer(redis_reply_at(reply, at + 6)),
        .held_ms = redis_reply_integer(redis_reply_at(reply, at + 7)),
        .held = redis_reply_integer(redis_reply_at(reply, at + 8)),
        .hour = {.delivered = redis_reply_integer(redis_reply_at(reply, at + 9)),
                 .retried = redis_reply_integer(redis_reply_at(reply, at + 10)),
                 .dead = redis_reply_integer(redis_reply_at(reply, at + 11))},
        .own = redis_reply_text(redis_reply_at(reply, at + 12)),
        .pattern = redis_reply_text(redis_reply_at(reply, at + 13)),
        .head = redis_reply_text(redis_reply_at(reply, at + 14)),
        .window = {.began_ms = redis_reply_integer(redis_reply_at(reply, at + 15)),
                   .attempts = redis_reply_integer(redis_reply_at(reply, at + 16))},
        .lacks_url = redis_reply_integer(redis_reply_at(reply, at + 17)) == 1,
        .fails = redis_reply_integer(redis_reply_at(reply, at + 18)) == 1,
        .last_answer = redis_reply_text(redis_reply_at(reply, at + 19)),
        .now_ms = redis_reply_integer(redis_reply_at(reply, 0)) / 1000,
    };
}

static struct topic_cursor next_of(const struct topic_walk *walk, bool has_more, const struct topic *last)
{
    size_t shard = walk->topics.from.shard;
    if (has_more)
        return (struct topic_cursor){shard, last->name};
    bool has_next_shard = walk->topics.topic.size == 0 && shard + 1 < store_shards(walk->store);
    return (struct topic_cursor){has_next_shard ? shard + 1 : 0, {NULL, 0}};
}

static void on_topics(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct topic_walk *walk = call->arg;
    struct topic_cursor next = {.shard = 0};
    struct topic *topics = NULL;
    bool is_group = walk->topics.are_groups;
    size_t count = 0, kept = 0, parts = is_group ? GROUP_PARTS : TOPIC_PARTS;
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_TOPIC)
        status = reply_refuse("topics");
    if (status == STATUS_OK) {
        count = (redis_reply_size(reply) - FIRST_TOPIC) / parts;
        topics = calloc(count + 1, sizeof *topics);
        if (!topics) {
            walk->fn(walk->arg, STATUS_NO_MEMORY, NULL, 0, next);
            free(walk);
            return;
        }
        for (size_t i = 0; i < count; i++)
            topics[i] = read_topic(reply, FIRST_TOPIC + i * parts, is_group);
        if (count == 1 && !is_group)
            topics[0].leased_ms = redis_reply_integer(redis_reply_at(reply, FIRST_TOPIC + parts));
        if (!walk->topics.is_urgent)
            next = next_of(walk, count > 0 && redis_reply_integer(redis_reply_at(reply, 1)) == 1,
                           topics + (count > 0 ? count - 1 : 0));
        for (size_t i = 0; i < count; i++)
            if (reply_has_topic(topics[i].name))
                topics[kept++] = topics[i];
    }
    /* If this shard has no topics, continues with the next shard instead of returning an empty page, as
     * list.c does. */
    if (status == STATUS_OK && count == 0 && next.shard > walk->topics.from.shard) {
        walk->topics.from = next;
        ask(walk);
    } else {
        walk->fn(walk->arg, status, topics, kept, next);
        free(walk);
    }
    free(topics);
}

static void ask(struct topic_walk *walk)
{
    const struct store_topics *topics = &walk->topics;
    struct shard *shard = store_shard(walk->store, topics->from.shard);
    enum script_id script = topics->are_groups ? SCRIPT_GROUPS : SCRIPT_TOPICS;
    struct store_call *call = store_call_alone(shard, script, shard->reads, on_topics, NULL, walk);
    store_call_text(call, topics->topic);
    store_call_text(call, topics->from.name);
    store_call_number(call, topics->max < TOPICS_MAX ? (int64_t)topics->max : TOPICS_MAX);
    if (!topics->are_groups)
        store_call_number(call, topics->are_failing ? 2 : topics->is_urgent);
    store_call_send(call);
}

void store_topics(struct store *store, const struct store_topics *topics, store_topics_fn *fn, void *arg)
{
    struct topic_walk *walk = NEW(struct topic_walk);
    *walk = (struct topic_walk){.store = store, .topics = *topics, .fn = fn, .arg = arg};
    if (topics->topic.size)
        walk->topics.from.shard = store_shard_of(store, topics->topic)->number;
    assert(walk->topics.from.shard < store_shards(store));
    ask(walk);
}

/* ---- writing ---- */

static void text_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    if (status == STATUS_OK && redis_reply_integer(result) != 1)
        status = STATUS_STALE;
    CALL_FN(call, store_set_text_fn)(call->arg, status);
}

/* Replaces the text that the caller has read, of a topic's settings or of a group. */
static void set_text(struct store *store, enum shard_batch batch, struct slice name, struct slice old_text,
                     struct slice new_text, store_set_text_fn *fn, void *arg)
{
    struct store_call *call = store_call_new(store_shard_of(store, name), batch, text_end, ANY_FN(fn), arg);
    store_call_text(call, name);
    store_call_text(call, old_text);
    store_call_text(call, new_text);
    store_call_send(call);
}

void store_set_topic(struct store *store, struct slice topic, struct slice old_settings,
                     struct slice new_settings, store_set_text_fn *fn, void *arg)
{
    set_text(store, SHARD_BATCH_SETTINGS, topic, old_settings, new_settings, fn, arg);
}

void store_set_group(struct store *store, struct slice name, struct slice old_text, struct slice new_text,
                     store_set_text_fn *fn, void *arg)
{
    set_text(store, SHARD_BATCH_GROUP, name, old_text, new_text, fn, arg);
}
