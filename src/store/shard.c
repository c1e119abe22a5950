#include "store/store.h"

#include <assert.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "io/sentinel.h"
#include "store/store_private.h"

/* Longest waits for one reply. A claim or an outcome that takes longer than a lease is worthless. */
#define REPLY_DEADLINE_US INT64_C(3000000)
#define BELL_DEADLINE_US  (REPLY_DEADLINE_US + INT64_C(1000000)) /* BLPOP itself waits a second */

enum { KEY_MAX = 512 };

const char *job_state_word(enum job_state state)
{
    static const char *const words[] = {"delayed", "ready", "leased", "dead"};
    return words[state];
}

struct script_call *store_call(struct store *store, enum script_id script)
{
    struct script_call *call = script_call_new(script, buffer_slice(&store->jobs_key));
    script_call_number(call, store->options.max_in_flight_topic);
    metrics_count(store->options.metrics, METRICS_COUNTER_COMMANDS, 1);
    return call;
}

/* ---- connections ---- */

static void tell_change(void *arg)
{
    struct store *store = arg;
    if (store->on_change.fn)
        store->on_change.fn(store->on_change.arg);
}

static void log_down(const char *which, const char *why)
{
    log_warning("redis_lost", LOG_TEXT("connection", which), LOG_TEXT("why", why));
}

static void on_changes_up(void *arg)
{
    struct store *store = arg;
    script_load_all(store->changes);
    tell_change(store);
}

static void on_changes_down(void *arg, const char *why)
{
    log_down("changes", why);
    tell_change(arg);
}

static void on_reads_up(void *arg)
{
    struct store *store = arg;
    log_info("redis_connected", LOG_TEXT("prefix", store->options.prefix));
    facts_start(store->facts);
}

static void on_reads_down(void *arg, const char *why)
{
    struct store *store = arg;
    log_down("reads", why);
    facts_stop(store->facts);
    tell_change(store);
}

static void on_delivery_up(void *arg)
{
    struct store *store = arg;
    for (size_t i = 0; i < STORE_UP_LISTENERS && store->on_up[i].fn; i++)
        store->on_up[i].fn(store->on_up[i].arg);
}

static void on_worker_down(void *arg, const char *why)
{
    (void)arg;
    log_down("worker", why);
}

static void on_bell_down(void *arg, const char *why)
{
    (void)arg;
    log_down("bell", why);
}

static void on_wake_message(void *arg, struct slice channel, struct slice text)
{
    struct store *store = arg;
    uint64_t due_ms;
    (void)channel;
    if (store->on_wake.fn && slice_to_number(text, INT64_MAX, &due_ms))
        store->on_wake.fn(store->on_wake.arg, (int64_t)due_ms);
}

static void on_subscriber_up(void *arg)
{
    struct store *store = arg;
    redis_subscribe(store->subscriber, buffer_slice(&store->wake_channel), on_wake_message, store);
}

static void on_subscriber_down(void *arg, const char *why)
{
    (void)arg;
    log_down("subscriber", why); /* what is missed meanwhile, the carry worker's tick finds */
}

static struct redis_link *connect_link(struct store *store, int64_t deadline_us, loop_fn *on_up,
                                       void (*on_down)(void *, const char *))
{
    struct redis_link_events events = {on_up, on_down, store, store->sentinel ? sentinel_find : NULL,
                                       store->sentinel};
    return redis_link_new(store->loop, store->options.redis, deadline_us, events);
}

/* The Sentinels name another primary. What the old one still answers would be lost with it. */
static void on_switch(void *arg)
{
    struct store *store = arg;
    struct redis_link *links[] = {store->changes, store->reads, store->worker, store->bell,
                                  store->subscriber};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        redis_link_reset(links[i], "another Redis is the primary now");
}

/* ---- life ---- */

static void on_turn_end(void *arg)
{
    struct store *store = arg;
    for (int i = 0; i < STORE_BATCH_COUNT; i++)
        batch_flush(&store->batches[i]);
    claim_flush(store);
}

static void init_batches(struct store *store)
{
    static const struct batch_kind *const kinds[STORE_BATCH_COUNT] = {
        [STORE_BATCH_SCHEDULE] = &schedule_kind, [STORE_BATCH_CANCEL] = &cancel_kind,
        [STORE_BATCH_RUN] = &run_kind,           [STORE_BATCH_READ] = &read_kind,
        [STORE_BATCH_COMPLETE] = &complete_kind, [STORE_BATCH_RETRY] = &retry_kind,
        [STORE_BATCH_BURY] = &bury_kind,         [STORE_BATCH_RELEASE] = &release_kind,
        [STORE_BATCH_RENEW] = &renew_kind,
    };
    for (int i = 0; i < STORE_BATCH_COUNT; i++)
        batch_init(&store->batches[i], kinds[i], store,
                   i < STORE_BATCH_READ    ? store->changes
                   : i == STORE_BATCH_READ ? store->reads
                                           : store->worker);
}

static void init_key(struct store *store, struct buffer *key, const char *name)
{
    buffer_init(key, KEY_MAX);
    buffer_printf(key, "%s{0}:%s", store->options.prefix, name);
}

struct store *store_new(struct loop *loop, const struct store_options *options)
{
    struct store *store = NEW(struct store);
    uint64_t random;
    random_fill(&random, sizeof random);
    snprintf(store->nonce_prefix, sizeof store->nonce_prefix, "%016llx", (unsigned long long)random);
    store->loop = loop;
    store->options = *options;
    init_key(store, &store->jobs_key, "jobs");
    init_key(store, &store->ready_key, "ready");
    init_key(store, &store->wake_channel, "wake");
    if (options->redis->sentinel_count)
        store->sentinel = sentinel_new(loop, options->redis, on_switch, store);
    store->changes = connect_link(store, REPLY_DEADLINE_US, on_changes_up, on_changes_down);
    store->reads = connect_link(store, REPLY_DEADLINE_US, on_reads_up, on_reads_down);
    store->worker = connect_link(store, REPLY_DEADLINE_US, on_delivery_up, on_worker_down);
    store->bell = connect_link(store, BELL_DEADLINE_US, on_delivery_up, on_bell_down);
    store->subscriber = connect_link(store, REPLY_DEADLINE_US, on_subscriber_up, on_subscriber_down);
    store->facts = facts_new(loop, store->reads, buffer_slice(&store->jobs_key), tell_change, store);
    init_batches(store);
    store->gather = hook_new(loop, LOOP_PHASE_GATHER, on_turn_end, store);
    return store;
}

void store_free(struct store *store)
{
    if (!store)
        return;
    hook_free(store->gather);
    redis_link_free(store->changes);
    redis_link_free(store->reads);
    redis_link_free(store->worker);
    redis_link_free(store->bell);
    redis_link_free(store->subscriber);
    sentinel_free(store->sentinel);
    store->changes = NULL; /* what the last callbacks ask finds it away */
    for (int i = 0; i < STORE_BATCH_COUNT; i++)
        batch_fini(&store->batches[i]);
    facts_free(store->facts);
    buffer_fini(&store->jobs_key);
    buffer_fini(&store->ready_key);
    buffer_fini(&store->wake_channel);
    free(store);
}

void store_set_limits(struct store *store, int64_t max_in_flight_topic, int64_t max_jobs)
{
    store->options.max_in_flight_topic = max_in_flight_topic;
    store->options.max_jobs = max_jobs;
}

/* ---- is it there? ---- */

const struct store_facts *store_facts(const struct store *store)
{
    return facts_get(store->facts);
}

bool store_is_refused(const struct store *store, struct problem *problem)
{
    const char *refusal = facts_refusal(store->facts);
    if (refusal)
        problem_set(problem, "%s", refusal);
    return refusal;
}

void store_facts_durability(const struct store_facts *facts, char text[DURABILITY_TEXT_MAX])
{
    if (facts->is_fsync_hidden && facts->in_force.replicas == 0)
        snprintf(text, DURABILITY_TEXT_MAX, "unknown");
    else
        durability_format(facts->in_force, text);
}

static void tell_shortfall(const struct store *store, const struct store_facts *facts,
                           struct problem *problem)
{
    char wanted[DURABILITY_TEXT_MAX], given[DURABILITY_TEXT_MAX];
    bool lacks_fsync = store->options.durability.is_synced && !facts->in_force.is_synced;
    durability_format(store->options.durability, wanted);
    store_facts_durability(facts, given);
    problem_set(problem, "durability %s is configured, but Redis gives %s: %s", wanted, given,
                !lacks_fsync             ? "too few replicas are online"
                : facts->is_fsync_hidden ? "it does not let duepost ask (CONFIG GET appendfsync)"
                                         : "it needs appendonly yes and appendfsync always");
}

bool store_is_ready(const struct store *store, struct problem *problem)
{
    const struct store_facts *facts = store_facts(store);
    if (!store->changes || !redis_link_is_up(store->changes)) {
        const char *why = store->changes ? redis_link_why(store->changes) : "duepost stops";
        problem_set(problem, "Redis is away: %s", why[0] ? why : "not connected yet");
        return false;
    }
    if (facts_trouble(store->facts)) {
        problem_set(problem, "Redis refuses: %s", facts_trouble(store->facts));
        return false;
    }
    if (!facts->is_known) {
        problem_set(problem, "Redis has not said yet what it is (duepost needs the command INFO)");
        return false;
    }
    if (store_is_refused(store, problem))
        return false;
    if (strcmp(facts->role, "master") != 0) {
        problem_set(problem, "this Redis is a replica, which takes no writes");
        return false;
    }
    if (store->options.is_durability_set && !durability_covers(facts->in_force, store->options.durability)) {
        tell_shortfall(store, facts, problem);
        return false;
    }
    return true;
}

void store_on_change(struct store *store, loop_fn *fn, void *arg)
{
    store->on_change.fn = fn;
    store->on_change.arg = arg;
}

void store_on_up(struct store *store, loop_fn *fn, void *arg)
{
    size_t i = 0;
    while (i < STORE_UP_LISTENERS && store->on_up[i].fn)
        i++;
    assert(i < STORE_UP_LISTENERS);
    store->on_up[i].fn = fn;
    store->on_up[i].arg = arg;
}

void store_on_wake(struct store *store, store_wake_fn *fn, void *arg)
{
    store->on_wake.fn = fn;
    store->on_wake.arg = arg;
}
