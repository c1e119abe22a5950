/* shards.c - a store, which consists of the shards of one Redis: their connections, primaries and facts. */
#include "store/store.h"

#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/crc16.h"
#include "base/memory.h"
#include "io/cluster.h"
#include "io/sentinel.h"
#include "job/job_id.h"
#include "store/redis_nodes.h"
#include "store/shard_private.h"

/* A shard and its store. */
struct member {
    struct store *store;
    struct shard *shard;
};

struct store {
    struct loop *loop;
    struct store_options options;
    struct member *members; /* options.shards members */
    /* The source of the primaries' addresses. If both are NULL, the configured address is the primary. */
    struct sentinel *sentinel;
    struct cluster *cluster;
    struct redis_nodes *redis_nodes;
    struct store_facts facts;    /* facts of all shards together */
    const struct shard *refused; /* a shard that this duepost cannot use at all; NULL: none */
    struct {
        loop_fn *fn;
        void *arg;
    } on_change;
};

/* ---- finding shards ---- */

size_t store_shard_number(const struct store *store, struct slice topic)
{
    return shard_number(store_shard_of(store, topic));
}

size_t store_shards(const struct store *store)
{
    return store->options.shards;
}

struct shard *store_shard(const struct store *store, size_t number)
{
    return store->members[number].shard;
}

struct shard *store_shard_of(const struct store *store, struct slice id)
{
    if (store->options.shards == 1)
        return store_shard(store, 0);
    return store_shard(store, crc16(topic_owner(id)) % store->options.shards);
}

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
    const struct member *member = arg;
    redis_nodes_note(member->store->redis_nodes, node);
}

/* Reads an error of a node of the Cluster, which may name the owner of a shard. */
static void on_error(void *arg, struct slice error)
{
    const struct member *member = arg;
    struct cluster *cluster = member->store->cluster;
    if (slice_starts_with(error, SLICE("MOVED ")))
        cluster_note_moved(cluster, shard_number(member->shard), error);
    else if (slice_starts_with(error, SLICE("CLUSTERDOWN ")) || slice_starts_with(error, SLICE("READONLY ")))
        cluster_recheck(cluster);
}

static void on_recheck(void *arg)
{
    const struct store *store = ((const struct member *)arg)->store;
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

static void add_facts(struct store_facts *sum, const struct store_facts *facts)
{
    sum->is_known = sum->is_known && facts->is_known;
    sum->has_aof = sum->has_aof && facts->has_aof;
    sum->is_trusted = sum->is_trusted || facts->is_trusted;
    sum->is_fsync_hidden = sum->is_fsync_hidden || facts->is_fsync_hidden;
    sum->in_force.is_synced = sum->in_force.is_synced && facts->in_force.is_synced;
    if (facts->used_bytes > sum->used_bytes) {
        sum->used_bytes = facts->used_bytes;
        sum->max_bytes = facts->max_bytes;
        sum->system_bytes = facts->system_bytes;
    }
    if (facts->in_force.replicas < sum->in_force.replicas)
        sum->in_force.replicas = facts->in_force.replicas;
}

/* If the first shard has the layout of this duepost, allows other shards whose data has no layout to get it.
 * Otherwise, a duepost with a wrong number of shards could create shards that no other duepost uses. */
static void lay_out_others(const struct store *store)
{
    const struct facts *first = store_shard(store, 0)->facts;
    if (store->options.is_read_only || !facts_is_laid_out(first) || facts_refusal(first))
        return;
    for (size_t i = 1; i < store->options.shards; i++)
        facts_lay_out(store_shard(store, i)->facts);
}

static void on_shard_change(void *arg)
{
    const struct member *member = arg;
    struct store *store = member->store;
    store->facts = *facts_get(store_shard(store, 0)->facts);
    if (store->options.shards > 1)
        store->facts.cpu_us = 0; /* unknown, because several shards may be on one node */
    store->refused = NULL;
    for (size_t i = 0; i < store->options.shards; i++) {
        const struct shard *shard = store_shard(store, i);
        add_facts(&store->facts, facts_get(shard->facts));
        if (facts_refusal(shard->facts) && !store->refused)
            store->refused = shard;
    }
    lay_out_others(store);
    if (store->on_change.fn)
        store->on_change.fn(store->on_change.arg);
}

const struct store_facts *store_facts(const struct store *store)
{
    return &store->facts;
}

void store_refresh_facts(struct store *store)
{
    if (store->options.shards == 1)
        facts_refresh(store_shard(store, 0)->facts);
}

const struct store_facts *store_facts_of(const struct store *store, size_t shard)
{
    return facts_get(store_shard(store, shard)->facts);
}

int64_t store_now_ms(const struct store *store)
{
    int64_t clock_us = store_facts_of(store, 0)->clock_us;
    return clock_us ? (clock_boot_us() + clock_us) / 1000 : clock_wall_ms();
}

void store_durability_configured(const struct store *store, char text[DURABILITY_TEXT_MAX])
{
    if (store->options.is_durability_set)
        durability_format(store->options.durability, text);
    else
        snprintf(text, DURABILITY_TEXT_MAX, "auto");
}

void store_facts_durability(const struct store_facts *facts, char text[DURABILITY_TEXT_MAX])
{
    bool is_hidden = facts->is_fsync_hidden && !facts->is_trusted;
    if (!facts->is_known || (is_hidden && facts->in_force.replicas == 0))
        snprintf(text, DURABILITY_TEXT_MAX, "unknown");
    else
        durability_format(facts->in_force, text);
}

const char *store_facts_risk(const struct store_facts *facts)
{
    if (facts->in_force.is_synced)
        return NULL;
    return facts->is_fsync_hidden ? "Redis refuses CONFIG GET appendfsync"
                                  : "Redis does not have appendonly yes and appendfsync always";
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
    problem_set(problem, "%s", facts_refusal(store->refused->facts));
    name_shard(store, store->refused, problem);
    return true;
}

bool store_is_denied(const struct store *store, struct problem *problem)
{
    for (size_t i = 0; i < store->options.shards; i++) {
        const struct shard *shard = store_shard(store, i);
        if (facts_denial(shard->facts)) {
            problem_set(problem, "%s", facts_denial(shard->facts));
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
    struct member *member = &store->members[number];
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
    store->members = NEW_ARRAY(struct member, options->shards);
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
