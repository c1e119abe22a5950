/* shard.c - the connections of a shard, its listeners, the end of a turn, and whether it can be used. */
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "io/redis/discovery.h"
#include "store/store_private.h"
#include "store/clock.h"

/* Maximum times to wait for one reply. A claim or an outcome whose reply takes longer than a lease is
 * useless. */
#define REPLY_DEADLINE_US INT64_C(3000000)
#define BELL_DEADLINE_US  (REPLY_DEADLINE_US + INT64_C(1000000) * SHARD_BELL_SECONDS)

enum { KEY_MAX = 512, TAG_MAX = 16 };

/* ---- connections ---- */

static void tell_change(void *arg)
{
    struct shard *shard = arg;
    shard->events.on_change(shard->events.arg);
}

bool shard_is_newer(const struct shard *shard)
{
    return redis_state_get(shard->redis_state)->format > STORE_FORMAT_MAX;
}

static void on_lost(const struct shard *shard, const char *which, const char *why)
{
    log_warning("redis_lost", LOG_NUMBER("shard", shard->number), LOG_TEXT("connection", which),
                LOG_TEXT("why", why));
    shard_recheck(shard);
}

static void on_changes_up(void *arg)
{
    struct shard *shard = arg;
    script_note_link_up();
    tell_change(shard);
}

static void on_changes_down(void *arg, const char *why)
{
    on_lost(arg, "changes", why);
    tell_change(arg);
}

static void on_reads_up(void *arg)
{
    struct shard *shard = arg;
    log_info("redis_connected", LOG_TEXT("prefix", shard->options->prefix),
             LOG_NUMBER("shard", shard->number));
    redis_state_start(shard->redis_state);
}

static void on_reads_down(void *arg, const char *why)
{
    struct shard *shard = arg;
    on_lost(shard, "reads", why);
    redis_state_stop(shard->redis_state);
    tell_change(shard);
}

static void on_worker_up(void *arg)
{
    struct shard *shard = arg;
    shard->worker_connections++;
    for (size_t i = 0; i < STORE_UP_LISTENERS && shard->on_up[i].fn; i++)
        shard->on_up[i].fn(shard->on_up[i].arg);
    claim_abandon_lost(shard);
}

static void on_bell_up(void *arg)
{
    const struct shard *shard = arg;
    if (shard->on_bell_up.fn)
        shard->on_bell_up.fn(shard->on_bell_up.arg);
}

static void on_worker_down(void *arg, const char *why)
{
    on_lost(arg, "worker", why);
}

static void on_bell_down(void *arg, const char *why)
{
    on_lost(arg, "bell", why);
}

static void note_subscription(const struct shard *shard)
{
    redis_state_note_subscription(shard->redis_state, false);
    if (shard->on_subscribed.fn)
        shard->on_subscribed.fn(shard->on_subscribed.arg);
}

static void on_wake_message(void *arg, struct slice channel, struct slice text)
{
    struct shard *shard = arg;
    uint64_t due_ms;
    (void)channel;
    if (text.size == 0)
        note_subscription(shard);
    if (shard->on_pull_wake.fn && (text.size == 0 || slice_starts_with(text, SLICE("pull "))))
        shard->on_pull_wake.fn(shard->on_pull_wake.arg, slice_skip(text, text.size ? 5 : 0));
    if (shard->on_job_wake.fn && (text.size == 0 || slice_starts_with(text, SLICE("ended ")) ||
                                  slice_starts_with(text, SLICE("moved "))))
        shard->on_job_wake.fn(shard->on_job_wake.arg, slice_skip(text, text.size ? 6 : 0),
                              slice_starts_with(text, SLICE("ended ")));
    if (shard->on_stream_wake.fn && (text.size == 0 || slice_starts_with(text, SLICE("stream "))))
        shard->on_stream_wake.fn(shard->on_stream_wake.arg, slice_skip(text, text.size ? 7 : 0));
    if (shard->on_receivers.fn && slice_equal(text, SLICE("receivers")))
        shard->on_receivers.fn(shard->on_receivers.arg);
    if (shard->on_lock_left.fn && slice_equal(text, SLICE("carry")))
        shard->on_lock_left.fn(shard->on_lock_left.arg);
    if (shard->on_openings_wanted.fn && slice_equal(text, SLICE("openings")))
        shard->on_openings_wanted.fn(shard->on_openings_wanted.arg);
    if (clock_is_manual() && slice_starts_with(text, SLICE("clock ")) &&
        slice_to_number(slice_skip(text, 6), INT64_MAX, &due_ms)) {
        clock_turn_to((int64_t)due_ms);
        if (shard->on_wake.fn)
            shard->on_wake.fn(shard->on_wake.arg, clock_turned_us() / 1000);
    }
    if (shard->on_fire_wake.fn && slice_starts_with(text, SLICE("fire ")) &&
        slice_to_number(slice_skip(text, 5), INT64_MAX, &due_ms))
        shard->on_fire_wake.fn(shard->on_fire_wake.arg, (int64_t)due_ms);
    if (shard->on_wake.fn && slice_to_number(text, INT64_MAX, &due_ms))
        shard->on_wake.fn(shard->on_wake.arg, (int64_t)due_ms);
}

static void on_subscriber_up(void *arg)
{
    struct shard *shard = arg;
    redis_subscribe(shard->subscriber, buffer_slice(&shard->wake_channel), on_wake_message, shard);
}

static void on_subscriber_down(void *arg, const char *why)
{
    const struct shard *shard = arg;
    /* Until the subscription is restored, there are no wake-ups; the carry worker then works at its tick,
     * once a second. */
    on_lost(shard, "subscriber", why);
    if (rights_deny(slice_of(why)))
        redis_state_note_subscription(shard->redis_state, true);
}

static void on_error(void *arg, struct slice error)
{
    const struct shard *shard = arg;
    if (shard->events.on_error)
        shard->events.on_error(shard->events.arg, error);
}

/* Handles errors on all connections except that of redis_state.c, which finds out about missing rights
 * itself. */
static void on_work_error(void *arg, struct slice error)
{
    const struct shard *shard = arg;
    if (rights_deny(error))
        redis_state_note_denial(shard->redis_state);
    if (slice_starts_with(error, SLICE(SCRIPT_NEWER_FORMAT " ")) && !shard_is_newer(shard))
        redis_state_recheck(shard->redis_state);
    on_error(arg, error);
}

static void on_peer(void *arg, const struct redis_node *node)
{
    const struct shard *shard = arg;
    shard->events.on_peer(shard->events.arg, node);
}

static struct redis_link *connect_link(struct shard *shard, int64_t deadline_us, loop_fn *on_up,
                                       void (*on_down)(void *, const char *),
                                       void (*on_refused)(void *, struct slice))
{
    struct redis_link_events events = {
        .on_up = on_up,
        .on_down = on_down,
        .arg = shard,
        .on_peer = on_peer,
        .find = shard->events.find,
        .find_arg = shard->events.find_arg,
        .on_error = on_refused,
    };
    return redis_link_new(shard->loop, shard->options->redis, deadline_us, events);
}

static void on_live_message(void *arg, struct slice channel, struct slice text)
{
    const struct shard *shard = arg;
    (void)channel;
    if (text.size)
        shard->on_live.fn(shard->on_live.arg, text);
}

static void on_live_up(void *arg)
{
    struct shard *shard = arg;
    redis_subscribe(shard->live, buffer_slice(&shard->live_channel), on_live_message, shard);
}

static void on_live_down(void *arg, const char *why)
{
    (void)arg;
    /* The connection is restored automatically, and duepost works without it. */
    log_debug("live_channel_lost", LOG_TEXT("why", why));
}

void shard_listen_live(struct shard *shard, void (*fn)(void *arg, struct slice text), void *arg)
{
    shard->on_live.fn = fn;
    shard->on_live.arg = arg;
    shard->live = connect_link(shard, REPLY_DEADLINE_US, on_live_up, on_live_down, on_error);
}

void shard_move(struct shard *shard)
{
    struct redis_link *links[] = {shard->changes, shard->reads, shard->worker, shard->bell,
                                  shard->subscriber};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        redis_link_move(links[i], "another Redis is the primary now");
    if (shard->live)
        redis_link_move(shard->live, "another Redis is the primary now");
}

/* ---- new, close, free ---- */

static void on_patience_over(void *arg)
{
    struct shard *shard = arg;
    shard->is_patience_over = true;
}

/* Returns whether all calls that could be sent now may wait. */
static bool may_wait(const struct shard *shard)
{
    size_t count = 0;
    if (shard->is_patience_over || shard->claim.is_wanted)
        return false;
    for (int i = 0; i < SHARD_BATCH_COUNT; i++) {
        if (!batch_may_wait(&shard->batches[i]))
            return false;
        count += shard->batches[i].count;
    }
    return count > 0;
}

static void on_turn_end(void *arg)
{
    struct shard *shard = arg;
    if (may_wait(shard)) {
        timer_arm(shard->patience, SHARD_PATIENCE_US);
        return;
    }
    shard->is_patience_over = false;
    timer_stop(shard->patience);
    for (int i = 0; i < SHARD_BATCH_COUNT; i++)
        batch_flush(&shard->batches[i]);
    claim_flush(shard);
}

static void init_batches(struct shard *shard)
{
#define KIND(name, script, most, is_confirmed, add_shared, link)                                             \
    static const struct batch_kind kind_##name = {SCRIPT_##script, most, is_confirmed, add_shared};          \
    batch_init(&shard->batches[SHARD_BATCH_##name], &kind_##name, shard, shard->link);
    SHARD_BATCHES(KIND)
#undef KIND
    list_init(&shard->cancels);
}

static void init_key(const struct shard *shard, struct buffer *key, const char *name)
{
    buffer_init(key, KEY_MAX);
    buffer_printf(key, "%s{%zu}:%s", shard->options->prefix, shard->number, name);
}

struct shard *shard_new(struct loop *loop, const struct store_options *options, size_t number,
                        const struct shard_events *events)
{
    struct shard *shard = NEW(struct shard);
    uint64_t random;
    if (options->is_read_only)
        script_keep_others();
    random_fill(&random, sizeof random);
    snprintf(shard->nonce_prefix, sizeof shard->nonce_prefix, "%016llx", (unsigned long long)random);
    shard->loop = loop;
    shard->options = options;
    shard->number = number;
    shard->events = *events;
    init_key(shard, &shard->jobs_key, "jobs");
    init_key(shard, &shard->ready_key, "ready");
    init_key(shard, &shard->wake_channel, "wake");
    init_key(shard, &shard->live_channel, "live");
    shard->changes = connect_link(shard, REPLY_DEADLINE_US, on_changes_up, on_changes_down, on_work_error);
    shard->reads = connect_link(shard, REPLY_DEADLINE_US, on_reads_up, on_reads_down, on_error);
    shard->worker = connect_link(shard, REPLY_DEADLINE_US, on_worker_up, on_worker_down, on_work_error);
    shard->bell = connect_link(shard, BELL_DEADLINE_US, on_bell_up, on_bell_down, on_work_error);
    shard->subscriber =
        connect_link(shard, REPLY_DEADLINE_US, on_subscriber_up, on_subscriber_down, on_error);
    shard->redis_state = redis_state_new(loop, shard->reads, buffer_slice(&shard->jobs_key), options,
                                         number == 0 && !options->is_read_only, tell_change, shard);
    init_batches(shard);
    list_init(&shard->lost_claims);
    shard->patience = timer_new(loop, on_patience_over, shard);
    shard->gather = hook_new(loop, LOOP_PHASE_GATHER, on_turn_end, shard);
    return shard;
}

void shard_close(struct shard *shard)
{
    hook_free(shard->gather);
    timer_free(shard->patience);
    redis_link_free(shard->changes);
    redis_link_free(shard->reads);
    redis_link_free(shard->worker);
    redis_link_free(shard->bell);
    redis_link_free(shard->subscriber);
    redis_link_free(shard->live);
    shard->live = NULL;
    shard->changes = NULL; /* the last callbacks may make further calls, which must fail */
    for (int i = 0; i < SHARD_BATCH_COUNT; i++)
        batch_fini(&shard->batches[i]);
}

void shard_free(struct shard *shard)
{
    claim_forget_lost(shard);
    redis_state_free(shard->redis_state);
    buffer_fini(&shard->jobs_key);
    buffer_fini(&shard->ready_key);
    buffer_fini(&shard->wake_channel);
    buffer_fini(&shard->live_channel);
    free(shard);
}

uint16_t shard_slot(size_t number)
{
    char tag[TAG_MAX];
    snprintf(tag, sizeof tag, "%zu", number);
    return crc16(slice_of(tag)) % CLUSTER_SLOTS;
}

/* ---- availability ---- */

static void tell_shortfall(const struct shard *shard, const struct redis_info *info, struct problem *problem)
{
    char wanted[DURABILITY_TEXT_MAX], given[DURABILITY_TEXT_MAX];
    bool lacks_fsync = shard->options->durability.is_synced && !info->in_force.is_synced;
    durability_format(shard->options->durability, wanted);
    redis_info_durability(info, given);
    problem_set(problem, "durability %s is configured, but Redis provides %s: %s", wanted, given,
                !lacks_fsync            ? "too few replicas are online"
                : info->is_fsync_hidden ? "it refuses CONFIG GET appendfsync; if it has "
                                          "appendonly yes and appendfsync always, set --trust-durability on"
                                        : "it needs appendonly yes and appendfsync always");
}

static void tell_absence(const struct shard *shard, struct problem *problem)
{
    const char *why = shard->changes ? redis_link_why(shard->changes) : "duepost stops";
    const char *outage = shard->options->outage ? atomic_load(shard->options->outage) : NULL;
    char line[RIGHTS_LINE_MAX];
    rights_format_line(shard->options, line);
    if (rights_deny(slice_of(why)))
        problem_set(problem, "Redis refuses: %.120s; run on Redis: %.360s", why, line);
    else
        problem_set(problem, "Redis is away: %s", outage ? outage : why[0] ? why : "not connected yet");
}

bool shard_is_recording(const struct shard *shard, struct problem *problem)
{
    const struct redis_info *info = redis_state_get(shard->redis_state);
    if (!shard->changes || !redis_link_is_up(shard->changes)) {
        tell_absence(shard, problem);
        return false;
    }
    if (redis_state_refusal(shard->redis_state)) {
        problem_set(problem, "%s", redis_state_refusal(shard->redis_state));
        return false;
    }
    if (info->role[0] && strcmp(info->role, "master") != 0) {
        problem_set(problem, "this Redis is a replica, which accepts no writes");
        return false;
    }
    if (!info->is_known) {
        problem_set(problem, "Redis has not answered INFO yet; duepost waits for the answer");
        return false;
    }
    if (redis_state_trouble(shard->redis_state)) {
        problem_set(problem, "Redis refuses: %s", redis_state_trouble(shard->redis_state));
        return false;
    }
    if (!redis_state_is_laid_out(shard->redis_state) && !shard->options->is_read_only) {
        problem_set(problem, "shard 0 has not reported the number of shards yet");
        return false;
    }
    if (shard->options->is_durability_set && shard->options->durability.is_synced &&
        !info->in_force.is_synced) {
        tell_shortfall(shard, info, problem);
        return false;
    }
    return true;
}

bool shard_is_ready(const struct shard *shard, struct problem *problem)
{
    if (!shard_is_recording(shard, problem))
        return false;
    if (!redis_state_give_durability(shard->redis_state)) {
        tell_shortfall(shard, redis_state_get(shard->redis_state), problem);
        return false;
    }
    return true;
}

void shard_on_up(struct shard *shard, loop_fn *fn, void *arg)
{
    size_t i = 0;
    while (i < STORE_UP_LISTENERS && shard->on_up[i].fn)
        i++;
    assert(i < STORE_UP_LISTENERS);
    shard->on_up[i].fn = fn;
    shard->on_up[i].arg = arg;
}

void shard_on_bell_up(struct shard *shard, loop_fn *fn, void *arg)
{
    shard->on_bell_up.fn = fn;
    shard->on_bell_up.arg = arg;
}

void shard_on_receivers(struct shard *shard, loop_fn *fn, void *arg)
{
    shard->on_receivers.fn = fn;
    shard->on_receivers.arg = arg;
}

void shard_on_wake(struct shard *shard, shard_wake_fn *fn, void *arg)
{
    shard->on_wake.fn = fn;
    shard->on_wake.arg = arg;
}

void shard_on_fire_wake(struct shard *shard, shard_wake_fn *fn, void *arg)
{
    shard->on_fire_wake.fn = fn;
    shard->on_fire_wake.arg = arg;
}

void shard_on_lock_left(struct shard *shard, loop_fn *fn, void *arg)
{
    shard->on_lock_left.fn = fn;
    shard->on_lock_left.arg = arg;
}

void shard_on_openings_wanted(struct shard *shard, loop_fn *fn, void *arg)
{
    shard->on_openings_wanted.fn = fn;
    shard->on_openings_wanted.arg = arg;
}

void shard_on_subscribed(struct shard *shard, loop_fn *fn, void *arg)
{
    shard->on_subscribed.fn = fn;
    shard->on_subscribed.arg = arg;
}
