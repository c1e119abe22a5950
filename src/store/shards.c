/* shards.c - a store, which consists of the shards of one Redis: their connections, primaries and state. */
#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/system.h"
#include "io/redis/discovery.h"
#include "store/store_private.h"
#include "store/clock.h"

/* ---- finding primaries ---- */

static void on_sentinel_switch(void *arg)
{
    const struct store *store = arg;
    shard_move(store_shard(store, 0));
}

static void on_slot_switch(void *arg, size_t index)
{
    const struct store *store = arg;
    shard_move(store_shard(store, index));
}

static void on_node(void *arg, const struct redis_node *node)
{
    const struct store *store = arg;
    redis_nodes_note(store->redis_nodes, node);
}

static void on_peer(void *arg, const struct redis_node *node)
{
    const struct store_member *member = arg;
    redis_nodes_note(member->store->redis_nodes, node);
}

/* Reads an error of a node of the Cluster, which may name the owner of a shard. */
static void on_error(void *arg, struct slice error)
{
    const struct store_member *member = arg;
    struct cluster *cluster = member->store->cluster;
    if (slice_starts_with(error, SLICE("MOVED ")))
        cluster_note_moved(cluster, shard_number(member->shard), error);
    else if (slice_starts_with(error, SLICE("CLUSTERDOWN ")) || slice_starts_with(error, SLICE("READONLY ")))
        cluster_recheck(cluster);
}

static void on_recheck(void *arg)
{
    const struct store *store = ((const struct store_member *)arg)->store;
    if (store->cluster)
        cluster_recheck(store->cluster);
    else
        sentinel_recheck(store->sentinel);
}

static void follow_cluster(struct store *store)
{
    struct cluster_events events = {.on_switch = on_slot_switch, .on_node = on_node, .arg = store};
    uint16_t slots[STORE_SHARDS_MAX];
    for (size_t i = 0; i < store->options.shards; i++)
        slots[i] = shard_slot(i);
    store->cluster = cluster_new(store->loop, store->options.redis, slots, store->options.shards, events);
}

static void follow_primaries(struct store *store)
{
    const struct redis_address *redis = store->options.redis;
    struct sentinel_events events = {.on_switch = on_sentinel_switch, .on_node = on_node, .arg = store};
    if (redis->is_cluster)
        follow_cluster(store);
    else if (redis->seed_count)
        store->sentinel = sentinel_new(store->loop, redis, events);
}

bool store_is_redis(const struct store *store, const struct address *address, uint16_t port)
{
    return redis_nodes_have(store->redis_nodes, address, port);
}

/* ---- state of Redis ---- */

static void add_info(struct redis_info *sum, const struct redis_info *info)
{
    sum->is_known = sum->is_known && info->is_known;
    sum->has_aof = sum->has_aof && info->has_aof;
    sum->is_trusted = sum->is_trusted || info->is_trusted;
    sum->is_fsync_hidden = sum->is_fsync_hidden || info->is_fsync_hidden;
    sum->in_force.is_synced = sum->in_force.is_synced && info->in_force.is_synced;
    if (info->used_bytes > sum->used_bytes) {
        sum->used_bytes = info->used_bytes;
        sum->max_bytes = info->max_bytes;
        sum->system_bytes = info->system_bytes;
    }
    if (info->in_force.replicas < sum->in_force.replicas)
        sum->in_force.replicas = info->in_force.replicas;
}

/* If the first shard has the layout of this duepost, allows other shards whose data has no layout to get it.
 * Otherwise, a duepost with a wrong number of shards could create shards that no other duepost uses. */
static void lay_out_others(const struct store *store)
{
    const struct redis_state *first = store_shard(store, 0)->redis_state;
    if (store->options.is_read_only || !redis_state_is_laid_out(first) || redis_state_refusal(first))
        return;
    for (size_t i = 1; i < store->options.shards; i++)
        redis_state_lay_out(store_shard(store, i)->redis_state);
}

static void on_shard_change(void *arg)
{
    const struct store_member *member = arg;
    struct store *store = member->store;
    store->info = *redis_state_get(store_shard(store, 0)->redis_state);
    if (store->options.shards > 1)
        store->info.cpu_us = 0; /* unknown, because several shards may be on one node */
    store->refused = NULL;
    for (size_t i = 0; i < store->options.shards; i++) {
        const struct shard *shard = store_shard(store, i);
        add_info(&store->info, redis_state_get(shard->redis_state));
        if (redis_state_refusal(shard->redis_state) && !store->refused)
            store->refused = shard;
    }
    lay_out_others(store);
    if (store->on_change.fn)
        store->on_change.fn(store->on_change.arg);
}

const struct redis_info *store_redis_info(const struct store *store)
{
    return &store->info;
}

void store_refresh_redis_info(struct store *store)
{
    if (store->options.shards == 1)
        redis_state_refresh(store_shard(store, 0)->redis_state);
}

const struct redis_info *store_redis_info_of(const struct store *store, size_t shard)
{
    return redis_state_get(store_shard(store, shard)->redis_state);
}

int64_t store_now_ms(const struct store *store)
{
    int64_t clock_us = store_redis_info_of(store, 0)->clock_us;
    if (clock_turned_us())
        return clock_turned_us() / 1000;
    return clock_us ? (clock_boot_us() + clock_us) / 1000 : clock_wall_ms();
}

void store_durability_configured(const struct store *store, char text[DURABILITY_TEXT_MAX])
{
    if (store->options.is_durability_set)
        durability_format(store->options.durability, text);
    else
        snprintf(text, DURABILITY_TEXT_MAX, "auto");
}

/* Adds the number of the shard to the problem if there are several shards. */
static void name_shard(const struct store *store, const struct shard *shard, struct problem *problem)
{
    struct problem why = *problem;
    if (store->options.shards > 1)
        problem_set(problem, "shard %zu: %.400s", shard_number(shard), why.text);
}

bool store_is_refused(const struct store *store, struct problem *problem)
{
    if (!store->refused)
        return false;
    problem_set(problem, "%s", redis_state_refusal(store->refused->redis_state));
    name_shard(store, store->refused, problem);
    return true;
}

bool store_is_denied(const struct store *store, struct problem *problem)
{
    for (size_t i = 0; i < store->options.shards; i++) {
        const struct shard *shard = store_shard(store, i);
        if (redis_state_denial(shard->redis_state)) {
            problem_set(problem, "%s", redis_state_denial(shard->redis_state));
            name_shard(store, shard, problem);
            return true;
        }
    }
    return false;
}

static bool is_shard_ready(const struct store *store, const struct shard *shard, struct problem *problem)
{
    if (shard_is_ready(shard, problem))
        return true;
    name_shard(store, shard, problem);
    return false;
}

bool store_is_ready(const struct store *store, struct problem *problem)
{
    for (size_t i = 0; i < store->options.shards; i++)
        if (!is_shard_ready(store, store_shard(store, i), problem))
            return false;
    return true;
}

bool store_is_ready_for(const struct store *store, struct slice id, struct problem *problem)
{
    /* If a shard has another layout, topics may be in other shards than this duepost expects. */
    return !store_is_refused(store, problem) && is_shard_ready(store, store_shard_of(store, id), problem);
}

bool store_is_recording_for(const struct store *store, struct slice id, struct problem *problem)
{
    const struct shard *shard = store_shard_of(store, id);
    if (store_is_refused(store, problem))
        return false;
    if (shard_is_recording(shard, problem))
        return true;
    name_shard(store, shard, problem);
    return false;
}

void store_on_change(struct store *store, loop_fn *fn, void *arg)
{
    store->on_change.fn = fn;
    store->on_change.arg = arg;
}

/* ---- new, free ---- */

static void start_shard(struct store *store, size_t number)
{
    struct store_member *member = &store->members[number];
    struct shard_events events = {.on_change = on_shard_change, .on_peer = on_peer, .arg = member};
    if (store->cluster) {
        events.on_error = on_error;
        events.on_recheck = on_recheck;
        events.find = cluster_find;
        events.find_arg = cluster_slot(store->cluster, number);
    } else if (store->sentinel) {
        events.on_recheck = on_recheck;
        events.find = sentinel_find;
        events.find_arg = store->sentinel;
    }
    member->store = store;
    member->shard = shard_new(store->loop, &store->options, number, &events);
}

struct store *store_new(struct loop *loop, const struct store_options *options)
{
    struct store *store = NEW(struct store);
    assert(options->shards >= 1 && options->shards <= STORE_SHARDS_MAX);
    store->loop = loop;
    store->options = *options;
    store->redis_nodes = redis_nodes_new(loop);
    store->members = NEW_ARRAY(struct store_member, options->shards);
    follow_primaries(store);
    for (size_t i = 0; i < options->shards; i++)
        start_shard(store, i);
    return store;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->options.shards; i++) /* all shards are closed before any is freed, because
                                                          the last callbacks of one shard may call another */
        shard_close(store_shard(store, i));
    for (size_t i = 0; i < store->options.shards; i++)
        shard_free(store_shard(store, i));
    sentinel_free(store->sentinel);
    cluster_free(store->cluster);
    redis_nodes_free(store->redis_nodes);
    free(store->members);
    free(store);
}

const struct topic_quota *store_quota(const struct store *store, struct slice id)
{
    return &store_shard_of(store, id)->quota;
}

int64_t store_max_in_flight_topic(const struct store *store)
{
    return store->options.max_in_flight_topic;
}

void store_set_limits(struct store *store, const struct store_options *options)
{
    store->options.max_in_flight_topic = options->max_in_flight_topic;
    store->options.max_jobs = options->max_jobs;
    store->options.dead_max = options->dead_max;
    store->options.dead_max_age_ms = options->dead_max_age_ms;
}

/* ---- counts ---- */

struct sum {
    struct store_counts counts;
    size_t awaited; /* shards that have not answered yet */
    enum status status;
    store_audit_fn *fn;
    void *arg;
};

static void on_audited(void *arg, enum status status, const struct store_counts *counts)
{
    struct sum *sum = arg;
    if (status != STATUS_OK)
        sum->status = status;
    sum->counts.jobs += counts->jobs;
    sum->counts.waiting += counts->waiting;
    sum->counts.leased += counts->leased;
    sum->counts.dead += counts->dead;
    sum->counts.topics += counts->topics;
    sum->counts.ready += counts->ready;
    sum->counts.held += counts->held;
    sum->counts.pulled += counts->pulled;
    if (counts->late_ms > sum->counts.late_ms)
        sum->counts.late_ms = counts->late_ms;
    if (counts->due_age_ms < 0 || sum->counts.due_age_ms < 0)
        sum->counts.due_age_ms = -1;
    else if (counts->due_age_ms > sum->counts.due_age_ms)
        sum->counts.due_age_ms = counts->due_age_ms;
    sum->counts.histories += counts->histories;
    sum->counts.kept += counts->kept;
    sum->counts.outbox += counts->outbox;
    sum->counts.outbox_bytes += counts->outbox_bytes;
    sum->counts.outbox_dropped += counts->outbox_dropped;
    if (counts->outbox_age_ms > sum->counts.outbox_age_ms)
        sum->counts.outbox_age_ms = counts->outbox_age_ms;
    if (--sum->awaited > 0)
        return;
    sum->fn(sum->arg, sum->status, &sum->counts);
    free(sum);
}

void store_audit(struct store *store, store_audit_fn *fn, void *arg)
{
    struct sum *sum = NEW(struct sum);
    *sum = (struct sum){.awaited = store->options.shards, .status = STATUS_OK, .fn = fn, .arg = arg};
    for (size_t i = 0; i < store->options.shards; i++)
        shard_audit(store_shard(store, i), on_audited, sum);
}

/* ---- the channel of figures ---- */

static void on_published(void *arg, const struct redis_reply *reply)
{
    (void)arg;
    (void)reply; /* the reply is not needed, because a message may be lost */
}

void store_listen_live(struct store *store, store_live_fn *fn, void *arg)
{
    shard_listen_live(store_shard(store, 0), fn, arg);
}

void store_publish_live(struct store *store, struct slice text)
{
    struct shard *shard = store_shard(store, 0);
    const struct slice command[] = {SLICE("PUBLISH"), buffer_slice(&shard->live_channel), text};
    if (shard->changes && redis_link_is_up(shard->reads))
        redis_send(shard->reads, sizeof command / sizeof *command, command, on_published, NULL);
}

/* ---- a key that is written and removed again, for duepost check ---- */

static void trial_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    (void)result;
    CALL_FN(call, store_try_fn)(call->arg, status, call->now_us);
}

void store_try_write(struct store *store, size_t shard, store_try_fn *fn, void *arg)
{
    store_call_send(store_call_new(store_shard(store, shard), SHARD_BATCH_TRIAL, trial_end, ANY_FN(fn), arg));
}
