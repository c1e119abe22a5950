#include "worker/consumer.h"

#include <assert.h>

#include "base/memory.h"
#include "base/system.h"
#include "job/topic/topic_settings.h"
#include "store/shard.h"
#include "worker/attempt.h"
#include "worker/hold.h"
#include "worker/permit.h"

#define RENEW_AFTER_US INT64_C(2000000)
#define RENEW_TICK_US  INT64_C(500000)
#define RETRY_CLAIM_US INT64_C(500000) /* wait after a failed claim */

enum {
    /* Maximum number of jobs in one claim; fewer than a consumer's slots, so that several consumers share a
       burst of jobs. A claim has room for the largest batch. */
    CLAIM_MAX = TOPIC_BATCH_SIZE_MAX,
    RECORD_FREE_BYTES = 16 * 1024, /* records of this size do not count for max_bytes: the slots limit them */
};

/* The consumer's state for one shard. */
struct lane {
    struct consumer *consumer;
    struct shard *shard;
    struct attempt_context context;
    struct list attempts;   /* attempts that run or are being recorded, in the order of their last renewals */
    struct list unrecorded; /* attempts whose ending Redis did not confirm; they use no slots */
    size_t unrecorded_count;
    bool is_claiming;                /* a claim is under way */
    bool wants_claim;                /* jobs may be due */
    bool is_waiting;                 /* a wait at the doorbell is under way */
    enum shard_claim_kind kind;      /* whether the next or current claim also carries topics */
    consumer_carried_fn *on_carried; /* callback for the result of carrying; NULL: the claim does not carry */
    void *carried_arg;
    size_t claiming;  /* slots that the claim under way uses */
    int64_t claim_us; /* CLOCK_BOOTTIME before the claim under way was sent */
    struct timer *retry;
};

struct consumer {
    struct consumer_options options;
    struct lane *lanes;
    size_t lane_count;
    size_t first; /* lane that claims first in the next turn of the loop */
    struct slots slots;
    struct receivers *receivers;
    struct resumer *resumer;
    struct unserved unserved;
    struct settings_shares shares;
    size_t in_flight; /* number of attempts in all lanes */
    size_t bytes;     /* size of their records over RECORD_FREE_BYTES */
    size_t claims;    /* number of claims under way */
    bool is_draining;
    struct hook *decide;
    struct timer *renew;
    loop_fn *on_drained;
    void *drained_arg;
};

static size_t number_of(const struct lane *lane)
{
    return shard_number(lane->shard);
}

/* ---- attempts ---- */

static void tell_drained(struct consumer *consumer)
{
    if (consumer->is_draining && consumer->in_flight == 0 && consumer->claims == 0 && consumer->on_drained) {
        loop_fn *fn = consumer->on_drained;
        consumer->on_drained = NULL;
        fn(consumer->drained_arg);
    }
}

static size_t counted_bytes(const struct attempt *attempt)
{
    size_t bytes = attempt_bytes(attempt);
    return bytes > RECORD_FREE_BYTES ? bytes : 0;
}

/* Returns whether the attempts in flight are few, compared with the limits of a process and of a topic. */
static bool has_room(const void *arg)
{
    const struct lane *lane = arg;
    const struct consumer *consumer = lane->consumer;
    size_t in_flight = 2 * consumer->in_flight;
    return in_flight <= consumer->options.max_in_flight &&
           (int64_t)in_flight <= store_max_in_flight_topic(consumer->options.store);
}

static void on_attempt_end(void *arg, struct attempt *attempt)
{
    struct lane *lane = arg;
    struct consumer *consumer = lane->consumer;
    consumer->bytes -= counted_bytes(attempt);
    attempt_free(attempt);
    slots_give(&consumer->slots, number_of(lane), 1);
    consumer->in_flight--;
    metrics_in_flight(consumer->options.metrics, consumer->in_flight);
    tell_drained(consumer);
}

static void retry_soon(struct lane *lane)
{
    timer_arm(lane->retry, RETRY_CLAIM_US);
}

static void on_attempt_unrecorded(void *arg, struct attempt *attempt)
{
    struct lane *lane = arg;
    list_remove(&attempt->link);
    list_append(&lane->unrecorded, &attempt->link);
    lane->unrecorded_count++;
    slots_give(&lane->consumer->slots, number_of(lane), 1);
    retry_soon(lane);
}

/* Sends unconfirmed endings again. Called when Redis is reachable again, before anything else is sent. */
static void record_again(struct lane *lane)
{
    struct list again;
    list_move(&lane->unrecorded, &again);
    slots_take(&lane->consumer->slots, number_of(lane), lane->unrecorded_count);
    lane->unrecorded_count = 0;
    for (struct list *link; (link = list_take(&again));) {
        struct attempt *attempt = LIST_ENTRY(link, struct attempt, link);
        list_append(&lane->attempts, &attempt->link);
        attempt_record(attempt);
    }
}

static void consumer_on_up(void *arg)
{
    struct lane *lane = arg;
    timer_stop(lane->retry);
    record_again(lane);
    lane->wants_claim = true;
}

static void renew_lane(struct lane *lane, int64_t before_us)
{
    struct list renewed;
    list_init(&renewed);
    while (!list_is_empty(&lane->attempts)) {
        struct attempt *attempt = LIST_ENTRY(lane->attempts.next, struct attempt, link);
        if (attempt_last_renewal_us(attempt) > before_us)
            break;
        attempt_renew(attempt);
        list_remove(&attempt->link);
        list_append(&renewed, &attempt->link);
    }
    while (!list_is_empty(&renewed))
        list_append(&lane->attempts, list_pop(&renewed));
}

static void on_renew_tick(void *arg)
{
    struct consumer *consumer = arg;
    int64_t before_us = clock_boot_us() - RENEW_AFTER_US;
    for (size_t i = 0; i < consumer->lane_count; i++)
        renew_lane(&consumer->lanes[i], before_us);
    if (consumer->in_flight > 0)
        timer_start(consumer->renew, RENEW_TICK_US);
}

/* ---- claiming ---- */

static void on_bell(void *arg, enum status status)
{
    struct lane *lane = arg;
    lane->is_waiting = false;
    if (status == STATUS_OK)
        lane->wants_claim = true;
    else
        retry_soon(lane);
}

static void start_attempts(struct lane *lane, const struct shard_claim *claim)
{
    struct consumer *consumer = lane->consumer;
    int64_t now_ms = claim->now_us / 1000;
    struct company *company = NULL;
    for (size_t i = 0; i < claim->count; i++) {
        const struct shard_claimed *job = &claim->jobs[i];
        struct attempt *attempt = attempt_start(&lane->context, job, claim->nonce, lane->claim_us, now_ms);
        list_append(&lane->attempts, &attempt->link);
        consumer->in_flight++;
        consumer->bytes += counted_bytes(attempt);
        company_gather(&company, attempt);
        if (!attempt_was_held(attempt))
            metrics_lateness(consumer->options.metrics, (now_ms - job->free_ms) * 1000,
                             (job->free_ms - job->due_ms) * 1000);
    }
    company_gather(&company, NULL);
    metrics_in_flight(consumer->options.metrics, consumer->in_flight);
    if (claim->count > 0)
        timer_arm(consumer->renew, RENEW_TICK_US);
}

/* Warns of a topic that a claim skipped, because its settings need a later version or cannot be read. */
static void warn_of_passed(struct consumer *consumer, const struct shard_claim *claim)
{
    struct topic_settings settings;
    if (claim->passed.size == 0)
        return;
    bool is_readable = topic_settings_read(claim->passed_settings, &settings) == STATUS_OK;
    if (!is_readable)
        unserved_warn(&consumer->unserved, clock_boot_us(), UNSERVED_SETTINGS, claim->passed, SLICE(""));
    else if (settings.lacks.size) /* lacks is empty if this process supports the settings */
        unserved_warn(&consumer->unserved, clock_boot_us(), UNSERVED_TOPIC_LACKS, claim->passed,
                      settings.lacks);
    if (is_readable)
        topic_settings_fini(&settings);
}

static void on_claimed(void *arg, enum status status, const struct shard_claim *claim)
{
    struct lane *lane = arg;
    bool has_carried = lane->kind != SHARD_CLAIM_ONLY;
    struct consumer_carried carried = {
        .now_us = claim->now_us, .sent_us = lane->claim_us, .next_due_ms = claim->next_due_ms};
    slots_give(&lane->consumer->slots, number_of(lane), lane->claiming);
    lane->is_claiming = false;
    lane->claiming = 0;
    lane->consumer->claims--;
    lane->kind = SHARD_CLAIM_ONLY;
    if (has_carried)
        lane->on_carried(lane->carried_arg, status, &carried);
    slots_take(&lane->consumer->slots, number_of(lane), claim->count);
    if (status == STATUS_OK) /* before the attempts below start, because a breaker may be open now and hold
                                their jobs */
        receivers_note_version(lane->consumer->receivers, number_of(lane), claim->receivers, lane->claim_us);
    start_attempts(lane, claim);
    warn_of_passed(lane->consumer, claim);
    if (status == STATUS_OK && claim->more > 0)
        lane->wants_claim = true;
    if (status != STATUS_OK)
        retry_soon(lane);
    tell_drained(lane->consumer);
}

static void claim_jobs(struct lane *lane, size_t count)
{
    struct consumer *consumer = lane->consumer;
    lane->wants_claim = false;
    lane->is_claiming = true;
    lane->claiming = count;
    lane->claim_us = clock_boot_us();
    consumer->claims++;
    slots_take(&consumer->slots, number_of(lane), count);
    shard_claim(lane->shard, count, lane->kind, on_claimed, lane);
}

static bool may_claim(const struct lane *lane)
{
    /* Unrecorded attempts use no slots, but their number is limited too. While the data is newer, the
     * doorbell is for the consumers that can claim. */
    const struct consumer *consumer = lane->consumer;
    return !lane->is_claiming && lane->unrecorded_count < consumer->options.max_in_flight &&
           consumer->bytes < consumer->options.max_bytes && !shard_is_newer(lane->shard);
}

/* Claims, or waits at the doorbell. *sharers is the number of lanes that still want to claim in this turn. */
static void take_turn(struct lane *lane, size_t *sharers)
{
    if (!may_claim(lane))
        return;
    size_t sharing = lane->wants_claim ? (*sharers)-- : 1;
    size_t free = slots_free(&lane->consumer->slots, number_of(lane), sharing);
    if (free == 0)
        return;
    if (lane->wants_claim) {
        claim_jobs(lane, free < CLAIM_MAX ? free : CLAIM_MAX);
    } else if (!lane->is_waiting && !timer_is_armed(lane->retry)) {
        lane->is_waiting = true;
        shard_wait_bell(lane->shard, on_bell, lane);
    }
}

static void consumer_on_turn_end(void *arg)
{
    struct consumer *consumer = arg;
    size_t sharers = 0;
    receivers_send_reports(consumer->receivers);
    if (consumer->is_draining)
        return;
    assert(consumer->lane_count > 0);
    for (size_t i = 0; i < consumer->lane_count; i++)
        sharers += may_claim(&consumer->lanes[i]) && consumer->lanes[i].wants_claim;
    for (size_t i = 0; i < consumer->lane_count; i++)
        take_turn(&consumer->lanes[(consumer->first + i) % consumer->lane_count], &sharers);
    consumer->first = (consumer->first + 1) % consumer->lane_count;
}

bool consumer_carry(struct consumer *consumer, size_t shard, bool is_alone, consumer_carried_fn *fn,
                    void *arg)
{
    struct lane *lane = &consumer->lanes[shard];
    lane->wants_claim = true;
    if (consumer->is_draining || !may_claim(lane) ||
        slots_free(&consumer->slots, shard, consumer->lane_count) == 0)
        return false;
    lane->kind = is_alone ? SHARD_CLAIM_CARRY_ALONE : SHARD_CLAIM_CARRY;
    lane->on_carried = fn;
    lane->carried_arg = arg;
    return true;
}

void consumer_claim(struct consumer *consumer, size_t shard)
{
    consumer->lanes[shard].wants_claim = true;
}

/* ---- life ---- */

static void start_lane(struct loop *loop, struct consumer *consumer, size_t shard)
{
    const struct consumer_options *options = &consumer->options;
    struct lane *lane = &consumer->lanes[shard];
    lane->consumer = consumer;
    lane->shard = store_shard(options->store, shard);
    lane->context = (struct attempt_context){
        .store = options->store,
        .shard = lane->shard,
        .identities = options->identities,
        .policy = &options->policy,
        .receivers = consumer->receivers,
        .unserved = &consumer->unserved,
        .shares = &consumer->shares,
        .metrics = options->metrics,
        .has_room = has_room,
        .on_end = on_attempt_end,
        .on_unrecorded = on_attempt_unrecorded,
        .arg = lane,
    };
    list_init(&lane->attempts);
    list_init(&lane->unrecorded);
    lane->retry = timer_new(loop, consumer_on_up, lane);
    shard_on_up(lane->shard, consumer_on_up, lane);
    shard_on_bell_up(lane->shard, consumer_on_up, lane);
}

static void consumer_on_closed(void *resumer, struct slice receiver)
{
    resumer_resume(resumer, receiver);
}

struct consumer *consumer_new(struct loop *loop, const struct consumer_options *options)
{
    struct consumer *consumer = NEW(struct consumer);
    consumer->options = *options;
    consumer->lane_count = store_shards(options->store);
    consumer->lanes = NEW_ARRAY(struct lane, consumer->lane_count);
    slots_init(&consumer->slots, options->max_in_flight, consumer->lane_count);
    consumer->receivers = receivers_new(loop, options->store, options->metrics);
    consumer->resumer = resumer_new(loop, options->store);
    receivers_on_closed(consumer->receivers, consumer_on_closed, consumer->resumer);
    receivers_turn_off(consumer->receivers, !options->policy.is_breaker_on);
    consumer->renew = timer_new(loop, on_renew_tick, consumer);
    consumer->decide = hook_new(loop, LOOP_PHASE_DECIDE, consumer_on_turn_end, consumer);
    for (size_t i = 0; i < consumer->lane_count; i++)
        start_lane(loop, consumer, i);
    return consumer;
}

void consumer_reload(struct consumer *consumer, const struct attempt_policy *policy, size_t max_in_flight)
{
    consumer->options.policy = *policy;
    receivers_turn_off(consumer->receivers, !policy->is_breaker_on);
    consumer->options.max_in_flight = max_in_flight;
    slots_resize(&consumer->slots, max_in_flight);
}

void consumer_drain(struct consumer *consumer, loop_fn *on_drained, void *arg)
{
    consumer->is_draining = true;
    consumer->on_drained = on_drained;
    consumer->drained_arg = arg;
    tell_drained(consumer);
}

void consumer_cut(struct consumer *consumer)
{
    for (size_t i = 0; i < consumer->lane_count; i++) {
        const struct list *attempts = &consumer->lanes[i].attempts;
        for (struct list *link = attempts->next; link != attempts; link = link->next)
            company_cut(LIST_ENTRY(link, struct attempt, link));
    }
}

static void free_all(struct list *attempts)
{
    while (!list_is_empty(attempts)) {
        struct attempt *attempt = LIST_ENTRY(attempts->next, struct attempt, link);
        company_leave(attempt);
        attempt_free(attempt);
    }
}

void consumer_free(struct consumer *consumer)
{
    if (!consumer)
        return;
    for (size_t i = 0; i < consumer->lane_count; i++) {
        free_all(&consumer->lanes[i].attempts);
        free_all(&consumer->lanes[i].unrecorded);
        timer_free(consumer->lanes[i].retry);
    }
    receivers_free(consumer->receivers);
    resumer_free(consumer->resumer);
    settings_shares_fini(&consumer->shares);
    hook_free(consumer->decide);
    timer_free(consumer->renew);
    slots_fini(&consumer->slots);
    free(consumer->lanes);
    free(consumer);
}

/* ---- slots ---- */

/* Returns the number of slots reserved for each shard. */
static size_t kept(const struct slots *slots)
{
    return slots->shards == 1 ? slots->max : slots->max / 2 / slots->shards;
}

static size_t beyond(size_t used, size_t limit)
{
    return used > limit ? used - limit : 0;
}

void slots_init(struct slots *slots, size_t max, size_t shards)
{
    *slots = (struct slots){.max = max, .shards = shards, .used = NEW_ARRAY(size_t, shards)};
}

void slots_fini(struct slots *slots)
{
    free(slots->used);
}

void slots_resize(struct slots *slots, size_t max)
{
    slots->max = max;
    slots->overdrawn = 0;
    for (size_t i = 0; i < slots->shards; i++)
        slots->overdrawn += beyond(slots->used[i], kept(slots));
}

size_t slots_free(const struct slots *slots, size_t shard, size_t sharers)
{
    size_t common = slots->max - kept(slots) * slots->shards;
    size_t share = (beyond(common, slots->overdrawn) + sharers - 1) / sharers;
    return beyond(kept(slots), slots->used[shard]) + share;
}

static void set_used(struct slots *slots, size_t shard, size_t count)
{
    slots->overdrawn -= beyond(slots->used[shard], kept(slots));
    slots->used[shard] = count;
    slots->overdrawn += beyond(count, kept(slots));
}

void slots_take(struct slots *slots, size_t shard, size_t count)
{
    set_used(slots, shard, slots->used[shard] + count);
}

void slots_give(struct slots *slots, size_t shard, size_t count)
{
    assert(count <= slots->used[shard]);
    set_used(slots, shard, slots->used[shard] - count);
}
