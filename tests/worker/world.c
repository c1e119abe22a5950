#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#include "job/lease_text.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/job_id.h"
#include "store/alert.h"
#include "worker/world.h"

#define BEGIN_US INT64_C(1000000000)

enum { TIMERS_MAX = 64, HOOKS_MAX = 8, CALLS_MAX = 4096, POSTS_MAX = 256, SHARDS_MAX = 4, EVENTS_MAX = 256 };

/* ---- the clock ---- */

static int64_t clock_us, redis_ahead_ms;

int64_t clock_boot_us(void)
{
    return clock_us;
}

int64_t clock_steady_us(void)
{
    return clock_us;
}

int64_t clock_wall_ms(void)
{
    return clock_us / 1000;
}

int64_t clock_wall_us(void)
{
    return clock_wall_ms() * 1000;
}

void world_step_redis_clock(int64_t ms)
{
    redis_ahead_ms += ms;
}

int64_t world_redis_ms(void)
{
    return clock_us / 1000 + redis_ahead_ms;
}

/* ---- the loop ---- */

struct timer {
    loop_fn *fn;
    void *arg;
    bool is_used, is_running;
    int64_t at_us;
};

struct hook {
    loop_fn *fn;
    void *arg;
};

static struct timer timers[TIMERS_MAX];
static struct hook hooks[HOOKS_MAX];

struct hook *hook_new(struct loop *loop, enum loop_phase phase, loop_fn *fn, void *arg)
{
    (void)loop, (void)phase;
    for (struct hook *hook = hooks; hook < hooks + HOOKS_MAX; hook++)
        if (!hook->fn) {
            *hook = (struct hook){fn, arg};
            return hook;
        }
    ck_abort_msg("too many hooks");
}

void hook_free(struct hook *hook)
{
    if (hook)
        hook->fn = NULL;
}

struct timer *timer_new(struct loop *loop, loop_fn *fn, void *arg)
{
    (void)loop;
    for (struct timer *timer = timers; timer < timers + TIMERS_MAX; timer++)
        if (!timer->is_used) {
            *timer = (struct timer){.fn = fn, .arg = arg, .is_used = true};
            return timer;
        }
    ck_abort_msg("too many timers");
}

void timer_start(struct timer *timer, int64_t after_us)
{
    timer->is_running = true;
    timer->at_us = clock_us + (after_us > 0 ? after_us : 0);
}

void timer_start_aligned(struct timer *timer, int64_t after_us)
{
    timer_start(timer, after_us);
}

void timer_stop(struct timer *timer)
{
    timer->is_running = false;
}

bool timer_is_armed(const struct timer *timer)
{
    return timer->is_running;
}

void timer_arm(struct timer *timer, int64_t after_us)
{
    if (!timer->is_running)
        timer_start(timer, after_us);
}

void timer_free(struct timer *timer)
{
    if (timer)
        *timer = (struct timer){.is_used = false};
}

static struct timer *next_timer(void)
{
    struct timer *next = NULL;
    for (struct timer *timer = timers; timer < timers + TIMERS_MAX; timer++)
        if (timer->is_running && (!next || timer->at_us < next->at_us))
            next = timer;
    return next;
}

int64_t world_next_timer_us(void)
{
    const struct timer *next = next_timer();
    return next ? next->at_us - clock_us : -1;
}

void world_pass(int64_t us)
{
    int64_t end_us = clock_us + us;
    int turns = 0;
    for (struct timer *timer; (timer = next_timer()) && timer->at_us <= end_us;) {
        ck_assert_msg(++turns < 100000, "timers strike without an end");
        if (timer->at_us > clock_us)
            clock_us = timer->at_us;
        timer->is_running = false;
        timer->fn(timer->arg);
        world_end_turn();
    }
    clock_us = end_us;
}

void world_end_turn(void)
{
    for (struct hook *hook = hooks; hook < hooks + HOOKS_MAX; hook++)
        if (hook->fn)
            hook->fn(hook->arg);
}

/* ---- random numbers: each differs from the one before ---- */

static uint32_t random_state;

void random_fill(void *bytes, size_t size)
{
    unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 17;
        random_state ^= random_state << 5;
        at[i] = (unsigned char)random_state;
    }
}

/* ---- the metrics and the log ---- */

static uint64_t counters[METRICS_COUNTER_COUNT];
static size_t ends[METRICS_END_COUNT], in_flight;
static const char *events[EVENTS_MAX];
static size_t event_count;

void metrics_count(struct metrics *metrics, enum metrics_counter counter, uint64_t by)
{
    (void)metrics;
    counters[counter] += by;
}

void metrics_receivers(struct metrics *metrics, size_t open, size_t limited)
{
    (void)metrics, (void)open, (void)limited;
}

void metrics_attempt(struct metrics *metrics, struct slice topic, enum metrics_result result,
                     int64_t duration_us)
{
    (void)metrics, (void)topic, (void)result, (void)duration_us;
}

void metrics_lateness(struct metrics *metrics, int64_t late_us, int64_t held_us)
{
    (void)metrics, (void)late_us, (void)held_us;
}

void metrics_exemplify(struct metrics *metrics, enum metrics_exemplified which, int64_t us,
                       struct slice context, int64_t wall_us)
{
    (void)metrics, (void)which, (void)us, (void)context, (void)wall_us;
}

void metrics_fire_lateness(struct metrics *board, int64_t late_us)
{
    (void)board, (void)late_us;
}

void metrics_accepted(struct metrics *board, struct slice topic)
{
    (void)board, (void)topic;
}

void metrics_ended(struct metrics *metrics, struct slice topic, enum metrics_end end)
{
    (void)metrics, (void)topic;
    ends[end]++;
}

void metrics_in_flight(struct metrics *metrics, size_t attempts)
{
    (void)metrics;
    in_flight = attempts;
}

uint64_t world_counter(enum metrics_counter counter)
{
    return counters[counter];
}

size_t world_ends(enum metrics_end end)
{
    return ends[end];
}

size_t world_in_flight(void)
{
    return in_flight;
}

bool log_is_on(enum log_level level)
{
    return level >= LOG_LEVEL_INFO;
}

void log_event(enum log_level level, const char *event, const struct log_field *fields, size_t count)
{
    (void)level, (void)fields, (void)count;
    ck_assert_uint_lt(event_count, EVENTS_MAX);
    events[event_count++] = event;
}

size_t world_logged(const char *event)
{
    size_t count = 0;
    for (size_t i = 0; i < event_count; i++)
        count += strcmp(events[i], event) == 0;
    return count;
}

/* ---- shards ---- */

struct shard {
    size_t number;
    bool is_newer;
    loop_fn *on_up[STORE_UP_LISTENERS];
    void *up_arg[STORE_UP_LISTENERS];
    size_t ups;
    loop_fn *on_bell_up, *on_receivers, *on_lock_left, *on_openings_wanted, *on_subscribed;
    void *bell_up_arg, *receivers_arg, *lock_left_arg, *openings_wanted_arg, *subscribed_arg;
    shard_wake_fn *on_wake, *on_fire_wake;
    void *wake_arg, *fire_wake_arg;
};

static struct shard shards[SHARDS_MAX];
static int64_t max_in_flight_topic;
static size_t shard_count;

void world_set_shards(size_t count)
{
    ck_assert_uint_le(count, SHARDS_MAX);
    shard_count = count;
}

struct shard *world_shard(size_t number)
{
    return &shards[number];
}

int64_t store_max_in_flight_topic(const struct store *store)
{
    (void)store;
    return max_in_flight_topic;
}

void world_set_max_in_flight_topic(int64_t max)
{
    max_in_flight_topic = max;
}

size_t store_shards(const struct store *store)
{
    (void)store;
    return shard_count;
}

struct shard *store_shard(const struct store *store, size_t number)
{
    (void)store;
    return &shards[number];
}

struct shard *store_shard_of(const struct store *store, struct slice id)
{
    (void)store, (void)id;
    return &shards[0];
}

bool store_is_redis(const struct store *store, const struct address *address, uint16_t port)
{
    (void)store, (void)address, (void)port;
    return false;
}

void world_raise_format(bool is_newer)
{
    for (size_t i = 0; i < SHARDS_MAX; i++)
        shards[i].is_newer = is_newer;
}

bool shard_is_newer(const struct shard *shard)
{
    return shard->is_newer;
}

size_t shard_number(const struct shard *shard)
{
    return shard->number;
}

void shard_on_up(struct shard *shard, loop_fn *fn, void *arg)
{
    ck_assert_uint_lt(shard->ups, STORE_UP_LISTENERS);
    shard->on_up[shard->ups] = fn, shard->up_arg[shard->ups++] = arg;
}

void shard_on_bell_up(struct shard *shard, loop_fn *fn, void *arg)
{
    shard->on_bell_up = fn, shard->bell_up_arg = arg;
}

void shard_on_receivers(struct shard *shard, loop_fn *fn, void *arg)
{
    shard->on_receivers = fn, shard->receivers_arg = arg;
}

void shard_on_wake(struct shard *shard, shard_wake_fn *fn, void *arg)
{
    shard->on_wake = fn, shard->wake_arg = arg;
}

void shard_on_lock_left(struct shard *shard, loop_fn *fn, void *arg)
{
    shard->on_lock_left = fn, shard->lock_left_arg = arg;
}

void shard_on_openings_wanted(struct shard *shard, loop_fn *fn, void *arg)
{
    shard->on_openings_wanted = fn, shard->openings_wanted_arg = arg;
}

void shard_on_subscribed(struct shard *shard, loop_fn *fn, void *arg)
{
    shard->on_subscribed = fn, shard->subscribed_arg = arg;
}

void world_come_up(size_t number)
{
    const struct shard *shard = &shards[number];
    for (size_t i = 0; i < shard->ups; i++)
        shard->on_up[i](shard->up_arg[i]);
}

void world_wake(size_t number, int64_t due_ms)
{
    shards[number].on_wake(shards[number].wake_arg, due_ms);
}

void world_wake_fire(size_t number, int64_t next_ms)
{
    shards[number].on_fire_wake(shards[number].fire_wake_arg, next_ms);
}

void world_subscribe(size_t number)
{
    shards[number].on_subscribed(shards[number].subscribed_arg);
}

void world_leave_lock(size_t number)
{
    shards[number].on_lock_left(shards[number].lock_left_arg);
}

void world_want_openings(size_t number)
{
    shards[number].on_openings_wanted(shards[number].openings_wanted_arg);
}

/* ---- calls ---- */

static struct world_call calls[CALLS_MAX];
static size_t call_count;
static struct nonce nonce;

static void copy(char *to, size_t room, struct slice text)
{
    ck_assert_uint_lt(text.size, room);
    snprintf(to, room, "%.*s", SLICE_ARG(text));
}

static struct world_call *add_call(enum world_kind kind, const struct shard *shard, void *arg)
{
    ck_assert_uint_lt(call_count, CALLS_MAX);
    struct world_call *call = &calls[call_count++];
    *call = (struct world_call){
        .kind = kind, .is_under_way = true, .shard = shard->number, .at_us = clock_us, .arg = arg};
    return call;
}

static struct world_call *find_call(enum world_kind kind)
{
    for (size_t i = 0; i < call_count; i++)
        if (calls[i].kind == kind && calls[i].is_under_way)
            return &calls[i];
    ck_abort_msg("no call of kind %d is under way", kind);
}

static const struct world_call *take_call(enum world_kind kind)
{
    struct world_call *call = find_call(kind);
    call->is_under_way = false;
    return call;
}

const struct world_call *world_call(enum world_kind kind)
{
    return find_call(kind);
}

size_t world_under_way(enum world_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < call_count; i++)
        count += calls[i].kind == kind && calls[i].is_under_way;
    return count;
}

size_t world_made(enum world_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < call_count; i++)
        count += calls[i].kind == kind;
    return count;
}

void shard_claim(struct shard *shard, size_t max, enum shard_claim_kind kind, shard_claim_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_CLAIM, shard, arg);
    call->max = max, call->claim_kind = kind, call->fn.claim = fn;
}

static struct world_call *add_lease_call(enum world_kind kind, const struct shard *shard,
                                         const struct lease *lease, shard_done_fn *fn, void *arg)
{
    struct world_call *call = add_call(kind, shard, arg);
    copy(call->id, sizeof call->id, lease->id);
    copy(call->nonce, sizeof call->nonce, slice_of(lease->nonce.text));
    call->fn.done = fn;
    return call;
}

static struct world_call *add_end_call(enum world_kind kind, const struct shard *shard,
                                       const struct lease *lease, const struct shard_end *end,
                                       shard_done_fn *fn, void *arg)
{
    struct world_call *call = add_lease_call(kind, shard, lease, fn, arg);
    copy(call->record, sizeof call->record, end->record);
    copy(call->line, sizeof call->line, end->attempt);
    call->may_wait = end->may_wait;
    for (size_t i = 0; i < end->follow.count; i++) {
        copy(call->follow_id, sizeof call->follow_id, end->follow.jobs[i].id);
        copy(call->follow_record, sizeof call->follow_record, end->follow.jobs[i].record);
    }
    return call;
}

void shard_complete(struct shard *shard, const struct lease *lease, const struct shard_end *end,
                    shard_done_fn *fn, void *arg)
{
    add_end_call(WORLD_COMPLETE, shard, lease, end, fn, arg);
}

void shard_retry(struct shard *shard, const struct lease *lease, int64_t wait_ms, const struct shard_end *end,
                 shard_done_fn *fn, void *arg)
{
    add_end_call(WORLD_RETRY, shard, lease, end, fn, arg)->wait_ms = wait_ms;
}

void shard_bury(struct shard *shard, const struct lease *lease, const struct shard_end *end,
                shard_done_fn *fn, void *arg)
{
    add_end_call(WORLD_BURY, shard, lease, end, fn, arg);
}

void shard_release(struct shard *shard, const struct lease *lease, const struct shard_hold *hold,
                   shard_done_fn *fn, void *arg)
{
    struct world_call *call = add_lease_call(WORLD_RELEASE, shard, lease, fn, arg);
    call->wait_ms = hold->wait_ms, call->claimed_ms = hold->claimed_ms;
    call->is_by_setting = hold->is_by_setting;
    call->lacks_url = hold->lacks_url;
    copy(call->receiver, sizeof call->receiver, hold->receiver);
}

void shard_arrive(struct shard *shard, struct slice id, workflow_input_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_ARRIVE, shard, arg);
    copy(call->id, sizeof call->id, id);
    call->fn.arrive = fn;
}

void shard_resume(struct shard *shard, struct slice receiver, size_t max, shard_resume_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_RESUME, shard, arg);
    call->fn.resume = fn, call->max = max;
    copy(call->receiver, sizeof call->receiver, receiver);
}

void shard_renew(struct shard *shard, const struct lease *lease, shard_done_fn *fn, void *arg)
{
    add_lease_call(WORLD_RENEW, shard, lease, fn, arg);
}

void shard_defer(struct shard *shard, const struct lease *lease, const struct shard_deferral *deferral,
                 shard_done_fn *fn, void *arg)
{
    struct world_call *call = add_lease_call(WORLD_DEFER, shard, lease, fn, arg);
    call->wait_ms = deferral->lease_ms, call->claimed_ms = deferral->began_ms;
}

bool shard_defer_nonce(struct nonce *its_nonce)
{
    struct nonce first = *its_nonce;
    return snprintf(its_nonce->text, sizeof its_nonce->text, "p-%s", first.text) <
           (int)sizeof its_nonce->text;
}

void shard_defer_token(const struct shard *shard, const struct lease *lease, int64_t began_ms,
                       struct buffer *token)
{
    (void)shard;
    defer_token_write(SLICE("secret"), lease->id, slice_of(lease->nonce.text), began_ms, token);
}

bool shard_has_waiters(const struct shard *shard)
{
    (void)shard;
    return false;
}

void shard_wait_bell(struct shard *shard, shard_done_fn *fn, void *arg)
{
    add_call(WORLD_BELL, shard, arg)->fn.done = fn;
}

void shard_carry(struct shard *shard, const struct shard_carry *carry, shard_carry_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_CARRY, shard, arg);
    call->carry = *carry;
    copy(call->me, sizeof call->me, carry->me);
    copy(call->stuck_owner, sizeof call->stuck_owner, carry->stuck_owner);
    call->fn.carry = fn;
}

void shard_recover(struct shard *shard, enum lease_holder holder, int64_t expected_ms, shard_lost_fn *fn,
                   void *arg)
{
    struct world_call *call =
        add_call(holder == LEASE_OF_WORKER ? WORLD_RECOVER_WORKERS : WORLD_RECOVER, shard, arg);
    call->expected_ms = expected_ms, call->fn.lost = fn;
}

void shard_list_expired(struct shard *shard, int64_t expected_ms, shard_lost_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_EXPIRED, shard, arg);
    call->expected_ms = expected_ms, call->fn.lost = fn;
}

void shard_end_lost(struct shard *shard, const struct shard_lost_job *job, int64_t now_ms,
                    const struct retry_schedule *schedule, shard_done_fn *fn, void *arg)
{
    (void)now_ms, (void)schedule;
    add_lease_call(WORLD_END_LOST, shard, &(struct lease){job->id, job->nonce}, fn, arg);
}

void shard_openings(struct shard *shard, const struct shard_opening *known, size_t count,
                    shard_openings_fn *fn, void *arg)
{
    (void)shard, (void)known, (void)count, (void)fn, (void)arg;
    ck_abort_msg("no test has topics with windows");
}

/* The first look at alerts gets no answer, so there are no others. */
void store_alerts(struct store *store, store_alerts_fn *fn, void *arg)
{
    (void)store, (void)fn, (void)arg;
}

void shard_symptoms(struct shard *shard, const struct store_alert_subjects *subjects, shard_symptoms_fn *fn,
                    void *arg)
{
    (void)shard, (void)subjects, (void)fn, (void)arg;
    ck_abort_msg("no test has alerts");
}

void store_change_alerts(struct store *store, int64_t now_us, const struct store_alert_change *changes,
                         size_t count, store_change_alerts_fn *fn, void *arg)
{
    (void)store, (void)now_us, (void)changes, (void)count, (void)fn, (void)arg;
    ck_abort_msg("no test has alerts");
}

const struct redis_info *store_redis_info_of(const struct store *store, size_t shard)
{
    (void)store, (void)shard;
    ck_abort_msg("no test has alerts");
}

bool durability_covers(struct durability given, struct durability wanted)
{
    return given.replicas >= wanted.replicas && (given.is_synced || !wanted.is_synced);
}

bool store_is_ready(const struct store *store, struct problem *problem)
{
    (void)store, (void)problem;
    return true;
}

void shard_forget(struct shard *shard, shard_forget_fn *fn, void *arg)
{
    add_call(WORLD_FORGET, shard, arg)->fn.forget = fn;
}

void outbox_read(struct shard *shard, size_t in_hand, outbox_read_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_OUTBOX_READ, shard, arg);
    call->fn.outbox_read = fn;
    call->max = in_hand;
}

struct outbox_batch {
    size_t count;
    bool is_stale;
};

struct outbox_batch *outbox_batch_new(const struct shard *shard, const struct outbox_read *read,
                                      size_t in_hand)
{
    struct outbox_batch *batch = NEW(struct outbox_batch);
    (void)shard;
    (void)in_hand;
    batch->count = read->count;
    batch->is_stale = read->disturbed > 0;
    return batch;
}

bool outbox_batch_is_current(const struct shard *shard, const struct outbox_batch *batch)
{
    (void)shard;
    return !batch->is_stale;
}

void outbox_batch_free(struct outbox_batch *batch)
{
    free(batch);
}

struct slice outbox_id(const struct outbox_text *text)
{
    return text->field;
}

void outbox_remove(struct shard *shard, const struct outbox_batch *batch, outbox_removed_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_OUTBOX_REMOVE, shard, arg);
    call->fn.outbox_removed = fn;
    call->max = batch->count;
}

static int64_t pruned_ms;

void history_prune(struct history *history, int64_t now_ms)
{
    (void)history;
    pruned_ms = now_ms;
}

int64_t world_pruned_ms(void)
{
    return pruned_ms;
}

void history_append(struct history *history, const struct history_entry *entries, size_t count,
                    history_done_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_APPEND, world_shard(0), arg);
    (void)history;
    call->fn.append = fn;
    call->max = count;
    copy(call->id, sizeof call->id, entries[0].id);
}

/* Members of the call: max is the number of lines to remove, expected_ms their place. */
void trail_read(struct shard *shard, int64_t removed, size_t count, trail_read_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_TRAIL, shard, arg);
    call->fn.trail = fn;
    call->max = count;
    call->expected_ms = removed;
}

void history_note(struct history *history, const struct slice *lines, size_t count, history_done_fn *fn,
                  void *arg)
{
    struct world_call *call = add_call(WORLD_NOTE, world_shard(0), arg);
    (void)history, (void)lines;
    call->fn.append = fn;
    call->max = count;
}

void shard_sweep(struct shard *shard, shard_sweep_fn *fn, void *arg)
{
    add_call(WORLD_SWEEP, shard, arg)->fn.sweep = fn;
}

void shard_reoffer(struct shard *shard, int64_t step_ms, shard_reoffer_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_REOFFER, shard, arg);
    call->fn.reoffer = fn;
    call->wait_ms = step_ms;
}

/* In this world, changes of patterns are written to the first shard first. */
size_t store_patterns_shard(const struct store *store)
{
    (void)store;
    return 0;
}

void store_mend_patterns(struct store *store, store_mend_patterns_fn *fn, void *arg)
{
    (void)store;
    add_call(WORLD_MEND_PATTERNS, world_shard(0), arg)->fn.mend_patterns = fn;
}

void shard_survey(struct shard *shard, const struct shard_survey *survey, shard_survey_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_SURVEY, shard, arg);
    copy(call->cursor, sizeof call->cursor, survey->cursor);
    call->fn.survey = fn;
}

void shard_audit(struct shard *shard, store_audit_fn *fn, void *arg)
{
    add_call(WORLD_AUDIT, shard, arg)->fn.audit = fn;
}

void shard_mend(struct shard *shard, struct slice walk, struct slice cursor, shard_mend_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_MEND, shard, arg);
    copy(call->walk, sizeof call->walk, walk);
    copy(call->cursor, sizeof call->cursor, cursor);
    call->fn.mend = fn;
}

void shard_on_fire_wake(struct shard *shard, shard_wake_fn *fn, void *arg)
{
    shard->on_fire_wake = fn, shard->fire_wake_arg = arg;
}

void shard_fires(struct shard *shard, size_t max, shard_fires_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_FIRES, shard, arg);
    call->max = max;
    call->fn.fires = fn;
}

void shard_fire(struct shard *shard, const struct store_fire *fire, store_fire_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_FIRE, shard, arg);
    copy(call->id, sizeof call->id, fire->id);
    copy(call->job, sizeof call->job, fire->job);
    copy(call->record, sizeof call->record, fire->record);
    for (size_t i = 0, size = 0; i < fire->count && size < sizeof call->record; i++)
        size += (size_t)snprintf(call->record + size, sizeof call->record - size, "%.*s %.*s\n",
                                 SLICE_ARG(fire->jobs[i].endpoint), SLICE_ARG(fire->jobs[i].record));
    call->fire = *fire;
    call->fire.id = slice_of(call->id);
    call->fire.job = slice_of(call->job);
    call->fire.record = slice_of(call->record);
    call->fire.tag = (struct slice){0};
    call->fn.fire = fn;
}

/* Keeps the call. Roles read only groups here: groups of duepost's own API, or sibling topics, in which other
 * forms of delivery store their groups. id is the name of the group or of the sibling topic. */
void store_topics(struct store *store, const struct store_topics *topics, store_topics_fn *fn, void *arg)
{
    struct world_call *call = add_call(WORLD_GROUP, &shards[0], arg);
    (void)store;
    ck_assert_int_eq(topics->are_groups, !topic_is_sibling(topics->topic));
    copy(call->id, sizeof call->id, topics->topic);
    call->fn.topics = fn;
}

void world_answer(enum world_kind kind, enum status status)
{
    const struct world_call *call = take_call(kind);
    ck_assert(kind >= WORLD_COMPLETE && kind <= WORLD_BELL);
    call->fn.done(call->arg, status);
}

void world_answer_claim(enum status status, const struct shard_claimed *jobs, size_t count, size_t more)
{
    const struct world_call *call = take_call(WORLD_CLAIM);
    struct shard_claim claim = {.nonce = &nonce,
                                .now_us = world_redis_ms() * 1000,
                                .jobs = jobs,
                                .count = count,
                                .more = more,
                                .next_due_ms = 77};
    snprintf(nonce.text, sizeof nonce.text, "n%zu", world_made(WORLD_CLAIM));
    call->fn.claim(call->arg, status, &claim);
}

void world_answer_arrive(enum status status, struct workflow_input input)
{
    const struct world_call *call = take_call(WORLD_ARRIVE);
    call->fn.arrive(call->arg, status, status == STATUS_OK ? &input : NULL);
}

void world_answer_carry(const char *owner, struct shard_carried carried)
{
    const struct world_call *call = take_call(WORLD_CARRY);
    carried.now_us = clock_us + redis_ahead_ms * 1000;
    carried.owner = slice_of(owner ? owner : call->me);
    carried.next_fire_ms = -1;
    call->fn.carry(call->arg, STATUS_OK, &carried);
}

void world_fail_carry(enum status status)
{
    const struct world_call *call = take_call(WORLD_CARRY);
    struct shard_carried nothing = {.now_us = 0};
    call->fn.carry(call->arg, status, &nothing);
}

void world_answer_recover(enum status status, struct shard_lost lost)
{
    const struct world_call *call = take_call(WORLD_RECOVER);
    call->fn.lost(call->arg, status, &lost);
}

void world_answer_recover_workers(enum status status, struct shard_lost lost)
{
    const struct world_call *call = take_call(WORLD_RECOVER_WORKERS);
    call->fn.lost(call->arg, status, &lost);
}

void world_answer_forget(enum status status, bool is_full)
{
    const struct world_call *call = take_call(WORLD_FORGET);
    call->fn.forget(call->arg, status, is_full);
}

void world_answer_outbox_read(enum status status, const struct outbox_read *read)
{
    const struct world_call *call = take_call(WORLD_OUTBOX_READ);
    call->fn.outbox_read(call->arg, status, read);
}

void world_answer_outbox_remove(enum status status, size_t removed)
{
    const struct world_call *call = take_call(WORLD_OUTBOX_REMOVE);
    call->fn.outbox_removed(call->arg, status, removed);
}

void world_answer_append(enum status status, const char *why)
{
    const struct world_call *call = take_call(WORLD_APPEND);
    call->fn.append(call->arg, status, why);
}

void world_answer_trail(enum status status, const struct trail_read *read)
{
    const struct world_call *call = take_call(WORLD_TRAIL);
    call->fn.trail(call->arg, status, read);
}

void world_answer_note(enum status status, const char *why)
{
    const struct world_call *call = take_call(WORLD_NOTE);
    call->fn.append(call->arg, status, why);
}

void world_answer_sweep(enum status status, struct shard_swept swept)
{
    const struct world_call *call = take_call(WORLD_SWEEP);
    call->fn.sweep(call->arg, status, &swept);
}

void world_answer_reoffer(enum status status, size_t count, bool is_full)
{
    const struct world_call *call = take_call(WORLD_REOFFER);
    call->fn.reoffer(call->arg, status, count, is_full);
}

void world_answer_fires(enum status status, struct shard_fires fires)
{
    const struct world_call *call = take_call(WORLD_FIRES);
    fires.now_ms = world_redis_ms();
    call->fn.fires(call->arg, status, &fires);
}

void world_answer_fire(enum status status)
{
    const struct world_call *call = take_call(WORLD_FIRE);
    call->fn.fire(call->arg, status, call->fire.job, call->fire.due_ms);
}

void world_answer_group(enum status status, const char *text)
{
    const struct world_call *call = take_call(WORLD_GROUP);
    struct topic group = {.settings = slice_of(text)};
    call->fn.topics(call->arg, status, &group, status == STATUS_OK && text[0] ? 1 : 0,
                    (struct topic_cursor){.shard = 0});
}

void world_answer_mend_patterns(enum status status, size_t count)
{
    const struct world_call *call = take_call(WORLD_MEND_PATTERNS);
    call->fn.mend_patterns(call->arg, status, count);
}

void world_answer_survey(enum status status, const char *cursor)
{
    const struct world_call *call = take_call(WORLD_SURVEY);
    struct shard_survey survey = {.cursor = slice_of(cursor), .oldest_due_ms = -1};
    call->fn.survey(call->arg, status, &survey);
}

void world_answer_resume(enum status status, size_t count)
{
    const struct world_call *call = take_call(WORLD_RESUME);
    call->fn.resume(call->arg, status, count);
}

void world_answer_audit(enum status status, struct store_counts counts)
{
    const struct world_call *call = take_call(WORLD_AUDIT);
    call->fn.audit(call->arg, status, &counts);
}

void world_answer_mend(enum status status, const char *cursor, size_t mended)
{
    static const struct slice names[] = {{"one", 3}, {"two", 3}, {"three", 5}};
    const struct world_call *call = take_call(WORLD_MEND);
    ck_assert_uint_le(mended, sizeof names / sizeof *names);
    call->fn.mend(call->arg, status, slice_of(cursor), names, mended);
}

struct shard_claimed world_job(const char *id, const char *record, const char *settings)
{
    return (struct shard_claimed){.id = slice_of(id),
                                  .record = slice_of(record),
                                  .settings = slice_of(settings),
                                  .due_ms = world_redis_ms(),
                                  .free_ms = world_redis_ms()};
}

/* ---- access tokens: Redis is silent ---- */

void store_access_ask(struct store *store, struct slice digest, int64_t busy_ms, store_access_fn *fn,
                      void *arg)
{
    (void)store, (void)digest, (void)busy_ms, (void)fn, (void)arg;
}

void store_access_keep(struct store *store, struct slice digest, struct slice token, int64_t ms,
                       store_access_fn *fn, void *arg)
{
    (void)store, (void)digest, (void)token, (void)ms, (void)fn, (void)arg;
}

void store_access_fail(struct store *store, struct slice digest, int64_t fails, store_access_fn *fn,
                       void *arg)
{
    (void)store, (void)digest, (void)fails, (void)fn, (void)arg;
}

void store_access_drop(struct store *store, struct slice digest, struct slice token, store_access_fn *fn,
                       void *arg)
{
    (void)store, (void)digest, (void)token, (void)fn, (void)arg;
}

/* ---- the HTTP client ---- */

struct http_call {
    struct http_call_request request;
    bool was_sent, is_over;
    int status; /* status of the answer; 0: not known yet */
};

static struct http_call posts[POSTS_MAX];
static size_t post_count, sent_count;

struct http_call *http_call(struct http_client *client, const struct http_call_request *request)
{
    (void)client;
    ck_assert_uint_lt(post_count, POSTS_MAX);
    struct http_call *post = &posts[post_count++];
    *post = (struct http_call){.request = *request};
    return post;
}

bool http_call_hurry(struct http_call *post)
{
    return post->status > 0;
}

void http_call_abort(struct http_call *post)
{
    ck_assert(!post->is_over);
    post->is_over = true;
}

/* A client is a byte on the heap, so that a test sees which one sends a request. */
struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options)
{
    (void)loop, (void)options;
    return malloc(1);
}

void http_client_free(struct http_client *client)
{
    free(client);
}

bool http_client_has_proxy(const struct http_client *client)
{
    (void)client;
    return false;
}

static struct http_call *oldest_post(void)
{
    for (size_t i = 0; i < post_count; i++)
        if (!posts[i].is_over)
            return &posts[i];
    ck_abort_msg("no post is under way");
}

size_t world_posts(void)
{
    size_t count = 0;
    for (size_t i = 0; i < post_count; i++)
        count += !posts[i].is_over;
    return count;
}

size_t world_sent(void)
{
    return sent_count;
}

static void end_post(struct http_call *post, struct http_outcome outcome)
{
    post->is_over = true;
    post->request.on_done(post->request.arg, &outcome);
}

bool world_send(void)
{
    for (size_t i = 0; i < post_count; i++) {
        struct http_call *post = &posts[i];
        if (post->is_over || post->was_sent)
            continue;
        post->was_sent = post->request.may_send(post->request.arg);
        sent_count += post->was_sent;
        if (!post->was_sent)
            end_post(post, (struct http_outcome){.error = FAILURE_UNSENT, .retry_after_ms = -1});
        return post->was_sent;
    }
    ck_abort_msg("no post waits to be sent");
}

void world_end_post(struct http_outcome outcome)
{
    end_post(oldest_post(), outcome);
}

void world_answer_post(int status)
{
    world_end_post((struct http_outcome){.status = status, .retry_after_ms = -1, .was_sent = true});
}

void world_begin_answer(int status)
{
    oldest_post()->status = status;
}

const struct http_call_request *world_request(void)
{
    return &oldest_post()->request;
}

/* ---- receivers: the last report and the last read, and their answers ---- */

static struct world_asked asked;

static struct world_reading reading;

void store_report(struct store *store, const struct store_report *report, store_report_fn *fn, void *arg)
{
    (void)store;
    ck_assert(!asked.fn);
    asked.report = *report, asked.fn = fn, asked.arg = arg;
}

void store_note_certificate(struct store *store, struct slice name, int64_t until_ms,
                            store_certificate_fn *fn, void *arg)
{
    (void)store, (void)name, (void)until_ms, (void)fn, (void)arg;
    ck_abort_msg("no receiver of a test has TLS");
}

void store_news(struct store *store, size_t shard, int64_t version, store_news_fn *fn, void *arg)
{
    (void)store, (void)shard;
    ck_assert(!reading.fn);
    reading.version = version, reading.fn = fn, reading.arg = arg;
}

struct receiver_record world_closed(void)
{
    return (struct receiver_record){
        .name = slice_of(WORLD_RECEIVER), .cause = SLICE("503"), .now_us = clock_us};
}

struct receiver_record world_open(int64_t left_ms)
{
    struct receiver_record receiver = world_closed();
    receiver.failures = 20;
    receiver.opened_ms = BEGIN_US / 1000;
    receiver.wait_ms = 30000;
    receiver.probe_ms = clock_us / 1000 + left_ms;
    return receiver;
}

struct receiver_record world_limited(int64_t limit)
{
    struct receiver_record receiver = world_closed();
    receiver.limit = limit;
    return receiver;
}

void world_answer_report(enum status status, int64_t version, int64_t probe, struct receiver_record receiver)
{
    struct store_reported reported = {.probe = probe, .version = version, .receiver = &receiver};
    store_report_fn *fn = asked.fn;
    ck_assert(fn);
    asked.fn = NULL;
    fn(asked.arg, status, &reported);
}

void world_answer_reading(enum status status, int64_t version, struct receiver_record receiver)
{
    store_news_fn *fn = reading.fn;
    ck_assert(fn);
    reading.fn = NULL;
    fn(reading.arg, status, &receiver, status == STATUS_OK, version, version);
}

const struct world_asked *world_asked(void)
{
    return &asked;
}

const struct world_reading *world_reading(void)
{
    return &reading;
}

/* ---- the beginning ---- */

void world_begin(void)
{
    clock_us = BEGIN_US;
    redis_ahead_ms = 0;
    random_state = 2463534242;
    memset(timers, 0, sizeof timers);
    memset(hooks, 0, sizeof hooks);
    memset(shards, 0, sizeof shards);
    for (size_t i = 0; i < SHARDS_MAX; i++)
        shards[i].number = i;
    shard_count = 1;
    max_in_flight_topic = 256;
    call_count = post_count = sent_count = event_count = in_flight = 0;
    memset(counters, 0, sizeof counters);
    memset(ends, 0, sizeof ends);
    asked = (struct world_asked){.fn = NULL};
    reading = (struct world_reading){.fn = NULL};
}
