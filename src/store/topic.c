/* topic.c - reads topics and groups, and changes their texts: the settings of a topic, the text of a group,
 * and the settings of topic patterns. */
#include <assert.h>

#include "base/memory.h"
#include "job/topic/topic_patterns.h"
#include "store/store_private.h"

enum {
    TOPICS_MAX = 100, /* maximum number of topics in one call, which takes Redis about a millisecond */
    FIRST_TOPIC = 2,  /* index of the first topic in a reply */
    TOPIC_PARTS = 23,
    GROUP_PARTS = 2, /* name, text */
};

/* ---- reading topics and groups ---- */

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
        .has_quota = redis_reply_integer(redis_reply_at(reply, at + 20)) >= 0,
        .quota = redis_reply_integer(redis_reply_at(reply, at + 20)),
        .opens_ms = redis_reply_integer(redis_reply_at(reply, at + 21)),
        .is_gathering = redis_reply_integer(redis_reply_at(reply, at + 22)) == 1,
        .lacks_zone = redis_reply_integer(redis_reply_at(reply, at + 22)) == 2,
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

/* ---- writing their texts ---- */

static void text_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    int64_t code = redis_reply_integer(result);
    if (status_is_done(status) && code != 1)
        status = code == RESULT_NO_LIMIT ? STATUS_NO_LIMIT : STATUS_STALE;
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

enum { FIRST_PATTERN = 2 /* index of the first pattern in a reply */ };

size_t store_patterns_shard(const struct store *store)
{
    return shard_number(store_shard_of(store, SLICE("*")));
}

/* ---- reading patterns ---- */

static void patterns_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct store_pattern patterns[STORE_PATTERNS_MAX];
    struct store_patterns found = {.version = redis_reply_integer(redis_reply_at(reply, 1)),
                                   .patterns = patterns};
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_PATTERN)
        status = reply_refuse("patterns");
    for (size_t at = FIRST_PATTERN; status == STATUS_OK && at + 1 < redis_reply_size(reply); at += 2) {
        if (!topic_pattern_is_open(redis_reply_text(redis_reply_at(reply, at))))
            continue; /* another program has written this pattern; the next change of patterns removes it */
        if (found.count == STORE_PATTERNS_MAX)
            status = reply_refuse("patterns");
        else
            patterns[found.count++] = (struct store_pattern){redis_reply_text(redis_reply_at(reply, at)),
                                                             redis_reply_text(redis_reply_at(reply, at + 1))};
    }
    CALL_FN(call, store_patterns_fn)(call->arg, status, &found);
}

static void patterns_read(struct shard *shard, bool is_version_only, store_patterns_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_alone(shard, SCRIPT_PATTERNS, shard->reads, patterns_end, ANY_FN(fn), arg);
    store_call_number(call, is_version_only);
    store_call_send(call);
}

void store_patterns(struct store *store, store_patterns_fn *fn, void *arg)
{
    patterns_read(store_shard(store, store_patterns_shard(store)), false, fn, arg);
}

/* ---- writing patterns: each shard has a copy of all of them ---- */

/* Called with the version that the shard has, or 0 if the change was refused. */
typedef void patterns_written_fn(void *arg, enum status, int64_t version);

static void written_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    int64_t version = redis_reply_integer(result);
    if (status_is_done(status) && version <= 0)
        status = version == RESULT_NO_LIMIT ? STATUS_NO_LIMIT : STATUS_STALE;
    CALL_FN(call, patterns_written_fn)(call->arg, status, version);
}

/* is_copy: replaces any lower version; otherwise only the version that was read */
static void patterns_write(struct shard *shard, const struct store_patterns *patterns, bool is_copy,
                           patterns_written_fn *fn, void *arg)
{
    struct store_call *call = store_call_new(shard, SHARD_BATCH_PATTERNS, written_end, ANY_FN(fn), arg);
    if (is_copy)
        store_call_text(call, SLICE(""));
    store_call_number(call, patterns->version);
    if (!is_copy)
        store_call_text(call, SLICE(""));
    store_call_number(call, patterns->count > 0 ? STORE_FORMAT_PATTERNS : 0);
    store_call_number(call, (int64_t)patterns->count);
    for (size_t i = 0; i < patterns->count; i++) {
        store_call_text(call, patterns->patterns[i].name);
        store_call_text(call, patterns->patterns[i].text);
    }
    store_call_fill_run(call, false);
    store_call_send(call);
}

/* A change is written to one shard first, which decides the order of changes, and then to all other shards.
 */
struct change {
    struct store *store;
    struct store_patterns patterns;
    size_t awaited;
    enum status status;
    store_set_text_fn *fn;
    void *arg;
};

static void on_copied(void *arg, enum status status, int64_t version)
{
    struct change *change = arg;
    (void)version; /* any version is fine, because a later change may already have been copied */
    if (status != STATUS_OK)
        change->status = STATUS_UNKNOWN; /* the outcome is unknown, because the first shard has the change */
    if (--change->awaited > 0)
        return;
    change->fn(change->arg, change->status);
    free(change);
}

static void on_first_written(void *arg, enum status status, int64_t version)
{
    struct change *change = arg;
    size_t shards = store_shards(change->store), home = store_patterns_shard(change->store);
    if (status != STATUS_OK || shards == 1) {
        change->fn(change->arg, status);
        free(change);
        return;
    }
    change->patterns.version = version;
    change->awaited = shards - 1;
    for (size_t i = 0; i < shards; i++)
        if (i != home)
            patterns_write(store_shard(change->store, i), &change->patterns, true, on_copied, change);
}

void store_set_patterns(struct store *store, const struct store_patterns *patterns, store_set_text_fn *fn,
                        void *arg)
{
    struct change *change = NEW(struct change);
    *change =
        (struct change){.store = store, .patterns = *patterns, .status = STATUS_OK, .fn = fn, .arg = arg};
    patterns_write(store_shard(store, store_patterns_shard(store)), &change->patterns, false,
                   on_first_written, change);
}

/* ---- mending copies of patterns that differ ---- */

/* Mending copies the newest patterns to shards that have older ones. It reads the versions of all shards,
 * then reads the patterns of a shard with the highest version, and writes these patterns to the shards
 * with lower versions. */
struct mending {
    struct store *store;
    size_t awaited, count;
    enum status status;
    store_mend_patterns_fn *fn;
    void *arg;
    struct store_patterns highest; /* the patterns with the highest version; owned */
    struct store_pattern patterns[STORE_PATTERNS_MAX];
    struct mending_shard {
        struct mending *mending;
        int64_t version;
    } shards[];
};

static void mending_end(struct mending *mending)
{
    mending->fn(mending->arg, mending->status, mending->count);
    for (size_t i = 0; i < mending->highest.count; i++) {
        free((char *)(uintptr_t)mending->patterns[i].name.data);
        free((char *)(uintptr_t)mending->patterns[i].text.data);
    }
    free(mending);
}

static void on_mended(void *arg, enum status status, int64_t version)
{
    struct mending *mending = arg;
    (void)version;
    if (status == STATUS_OK)
        mending->count++;
    else
        mending->status = status;
    if (--mending->awaited == 0)
        mending_end(mending);
}

static void on_highest(void *arg, enum status status, const struct store_patterns *found)
{
    struct mending *mending = arg;
    mending->status = status;
    /* This 1 is for this function, so that no callback ends the mending before all calls are sent. */
    mending->awaited = 1;
    mending->highest = (struct store_patterns){.version = found->version, .patterns = mending->patterns};
    for (size_t i = 0; status == STATUS_OK && i < found->count; i++, mending->highest.count++)
        mending->patterns[i] =
            (struct store_pattern){{slice_dup(found->patterns[i].name), found->patterns[i].name.size},
                                   {slice_dup(found->patterns[i].text), found->patterns[i].text.size}};
    for (size_t i = 0; status == STATUS_OK && i < store_shards(mending->store); i++) {
        if (mending->shards[i].version >= found->version)
            continue;
        mending->awaited++;
        patterns_write(store_shard(mending->store, i), &mending->highest, true, on_mended, mending);
    }
    if (--mending->awaited == 0)
        mending_end(mending);
}

static void on_version(void *arg, enum status status, const struct store_patterns *found)
{
    struct mending_shard *shard = arg;
    struct mending *mending = shard->mending;
    size_t shards = store_shards(mending->store), highest = 0;
    shard->version = found->version;
    if (status != STATUS_OK)
        mending->status = status;
    if (--mending->awaited > 0)
        return;
    bool are_equal = true;
    for (size_t i = 0; i < shards; i++) {
        are_equal = are_equal && mending->shards[i].version == mending->shards[0].version;
        if (mending->shards[i].version > mending->shards[highest].version)
            highest = i;
    }
    if (mending->status != STATUS_OK || are_equal)
        mending_end(mending);
    else
        patterns_read(store_shard(mending->store, highest), false, on_highest, mending);
}

void store_mend_patterns(struct store *store, store_mend_patterns_fn *fn, void *arg)
{
    size_t shards = store_shards(store);
    struct mending *mending = memory_new(sizeof *mending + shards * sizeof *mending->shards);
    *mending = (struct mending){.store = store, .awaited = shards, .status = STATUS_OK, .fn = fn, .arg = arg};
    for (size_t i = 0; i < shards; i++) {
        mending->shards[i] = (struct mending_shard){mending, 0};
        patterns_read(store_shard(store, i), true, on_version, &mending->shards[i]);
    }
}
