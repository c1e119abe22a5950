#include "worker/receivers.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "store/shard.h"
#include "worker/permit.h"

enum {
    BUCKETS = 4096,
    UNWELL_MAX = 10000, /* as many as a shard keeps; beyond, those heard of longest ago count as well */
};
#define UNWELL_US   INT64_C(3600000000) /* what is older, Redis has forgotten */
#define WAIT_MAX_US INT64_C(600000000)  /* of a breaker; what is further off, a clock's step has made */
#define NEWS_US     INT64_C(50000)      /* at least, from one reading of what is new to the next */

/* What is known of the receivers of a shard. */
struct knowledge {
    struct receivers *receivers;
    size_t shard;
    int64_t version;
    bool is_behind; /* there is, or may be, something newer */
    bool is_asking;
    int64_t asked_us;
};

struct receivers {
    struct store *store;
    struct metrics *metrics;
    struct knowledge *shards;
    struct list buckets[BUCKETS];
    struct list unwell; /* by age_link */
    size_t unwell_count, open_count, limited_count;
    struct list with_news;
    struct hook *decide;
    struct timer *later; /* when what is new may be read again */
};

/* ---- the table ---- */

static struct list *bucket_of(struct receivers *receivers, const char *name)
{
    uint32_t sum = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        sum = (sum ^ (unsigned char)*name) * 16777619u;
    return &receivers->buckets[sum % BUCKETS];
}

static struct receiver *find(struct receivers *receivers, const char *name)
{
    struct list *bucket = bucket_of(receivers, name);
    for (struct list *link = bucket->next; link != bucket; link = link->next) {
        struct receiver *receiver = LIST_ENTRY(link, struct receiver, link);
        if (strcmp(receiver->name, name) == 0)
            return receiver;
    }
    return NULL;
}

struct receiver *receivers_find(struct receivers *receivers, const char *name)
{
    struct receiver *receiver = find(receivers, name);
    if (receiver)
        return receiver;
    size_t size = strlen(name) + 1;
    receiver = memory_new(sizeof *receiver + size);
    receiver->receivers = receivers;
    memcpy(receiver->name, name, size);
    list_init(&receiver->age_link);
    list_init(&receiver->news_link);
    list_append(bucket_of(receivers, name), &receiver->link);
    return receiver;
}

static bool has_news(const struct receiver *receiver)
{
    const struct receiver_news *news = &receiver->news;
    return news->lives || news->failures || news->crowd || news->probe || news->unsent_probe ||
           news->probe_ms;
}

void receiver_settle(struct receiver *receiver)
{
    if (receiver->in_flight > 0 || receiver->is_unwell || receiver->is_reporting || receiver->asker ||
        has_news(receiver))
        return;
    list_remove(&receiver->link);
    free(receiver);
}

struct metrics *receivers_metrics(const struct receivers *receivers)
{
    return receivers->metrics;
}

/* ---- knowing ---- */

static void set_open(struct receiver *receiver, bool is_open)
{
    receiver->receivers->open_count += is_open;
    receiver->receivers->open_count -= receiver->is_open;
    receiver->is_open = is_open;
}

static void set_limit(struct receiver *receiver, int64_t limit)
{
    receiver->receivers->limited_count += limit > 0;
    receiver->receivers->limited_count -= receiver->limit > 0;
    receiver->limit = limit;
}

static void set_unwell(struct receiver *receiver, bool is_unwell)
{
    struct receivers *receivers = receiver->receivers;
    receivers->unwell_count += is_unwell;
    receivers->unwell_count -= receiver->is_unwell;
    receiver->is_unwell = is_unwell;
    list_remove(&receiver->age_link);
    if (is_unwell)
        list_append(&receivers->unwell, &receiver->age_link);
}

static void forget(struct receiver *receiver)
{
    set_open(receiver, false);
    set_limit(receiver, 0);
    set_unwell(receiver, false);
    receiver_settle(receiver);
}

static void forget_oldest(struct receivers *receivers)
{
    while (!list_is_empty(&receivers->unwell)) {
        struct receiver *oldest = LIST_ENTRY(receivers->unwell.next, struct receiver, age_link);
        bool is_old = clock_boot_us() - oldest->heard_us > UNWELL_US;
        if (!is_old && receivers->unwell_count <= UNWELL_MAX)
            break;
        forget(oldest);
    }
}

/* known: NULL when Redis has nothing to say. */
static void learn(struct receiver *receiver, const struct store_receiver *known)
{
    bool is_unwell = known && (known->failures > 0 || known->opened_ms > 0 || known->limit > 0);
    bool is_open = known && known->opened_ms > 0;
    receiver->heard_us = clock_boot_us();
    if (is_open) {
        int64_t left_us = known->probe_ms * 1000 - known->now_us;
        receiver->is_awaited = receiver->is_awaited && receiver->probe_ms == known->probe_ms;
        receiver->probe_ms = known->probe_ms;
        receiver->probe_us = receiver->heard_us + (left_us < WAIT_MAX_US ? left_us : 0);
        receiver->wait_ms = known->wait_ms;
        receiver->probed_us = known->probe == receiver->probe ? receiver->probed_us : receiver->heard_us;
        receiver->probe = known->probe;
    }
    set_open(receiver, is_open);
    set_limit(receiver, known ? known->limit : 0);
    set_unwell(receiver, is_unwell);
}

static void tell_numbers(const struct receivers *receivers)
{
    metrics_receivers(receivers->metrics, receivers->open_count, receivers->limited_count);
}

/* ---- what others reported ---- */

static void hear_of(struct receivers *receivers, const struct store_receiver *known)
{
    char name[RECEIVER_NAME_SIZE];
    bool is_well = known->failures == 0 && known->opened_ms == 0 && known->limit == 0;
    if (known->name.size >= sizeof name)
        return; /* not ours */
    memcpy(name, known->name.data, known->name.size);
    name[known->name.size] = '\0';
    struct receiver *receiver = is_well ? find(receivers, name) : receivers_find(receivers, name);
    if (!receiver)
        return;
    learn(receiver, known);
    receiver_settle(receiver);
}

static void catch_up(struct knowledge *);

static void on_news(void *arg, enum status status, const struct store_receiver *known, size_t count,
                    int64_t version, bool has_more)
{
    struct knowledge *shard = arg;
    struct receivers *receivers = shard->receivers;
    shard->is_asking = false;
    if (status != STATUS_OK)
        return; /* a later claim tells again */
    for (size_t i = 0; i < count; i++)
        hear_of(receivers, &known[i]);
    forget_oldest(receivers);
    tell_numbers(receivers);
    shard->version = version;
    shard->is_behind |= has_more;
    catch_up(shard);
}

/* Reads what is new, unless it did so just now. */
static void catch_up(struct knowledge *shard)
{
    int64_t since_us = clock_boot_us() - shard->asked_us;
    if (!shard->is_behind || shard->is_asking)
        return;
    if (since_us < NEWS_US) {
        if (!timer_is_running(shard->receivers->later))
            timer_start(shard->receivers->later, NEWS_US - since_us);
        return;
    }
    shard->is_behind = false;
    shard->is_asking = true;
    shard->asked_us = clock_boot_us();
    store_news(shard->receivers->store, shard->shard, shard->version, on_news, shard);
}

static void on_later(void *arg)
{
    struct receivers *receivers = arg;
    for (size_t i = 0; i < store_shards(receivers->store); i++)
        catch_up(&receivers->shards[i]);
}

static void on_told(void *arg)
{
    struct knowledge *shard = arg;
    shard->is_behind = true;
    catch_up(shard);
}

void receivers_hear(struct receivers *receivers, size_t number, int64_t version)
{
    struct knowledge *shard = &receivers->shards[number];
    if (version == shard->version)
        return;
    if (version < shard->version)
        shard->version = 0; /* Redis has lost some */
    on_told(shard);
}

/* ---- reporting ---- */

static void count_changes(const struct receiver *receiver, const struct store_reported *reported)
{
    const struct store_receiver *known = reported->receiver;
    struct metrics *metrics = receiver->receivers->metrics;
    metrics_count(metrics, METRICS_COUNTER_BREAKERS_OPENED, reported->has_opened);
    metrics_count(metrics, METRICS_COUNTER_BREAKERS_CLOSED, reported->has_closed);
    metrics_count(metrics, METRICS_COUNTER_LIMITS_HALVED, reported->has_halved);
    if (reported->has_opened)
        log_warning("breaker_opened", LOG_TEXT("receiver", receiver->name),
                    LOG_NUMBER("failures", known->failures), LOG_SLICE("cause", known->cause),
                    LOG_NUMBER("probe_in_ms", known->wait_ms));
    if (reported->has_closed)
        log_info("breaker_closed", LOG_TEXT("receiver", receiver->name));
}

/* To the attempt that asked, if it still waits. */
static void answer_asker(struct receiver *receiver, enum status status, int64_t probe)
{
    struct permit *asker = receiver->asker;
    receiver->is_asking = false;
    receiver->asker = NULL;
    if (status != STATUS_OK) { /* nobody can say: the others that are held here wait for this one */
        receiver->probe_us = clock_boot_us() + receiver->wait_ms * 1000;
        receiver->probe = 0;
    }
    if (!asker)
        receiver->news.unsent_probe = probe;
    else if (probe || status != STATUS_OK || !receiver->is_open)
        permit_give(asker, probe);
    else
        permit_hold(asker);
}

static void on_reported(void *arg, enum status status, const struct store_reported *reported)
{
    struct receiver *receiver = arg;
    struct receivers *receivers = receiver->receivers;
    if (status == STATUS_OK) {
        learn(receiver, reported->receiver);
        count_changes(receiver, reported);
    } else if (receiver->sent.lives) {
        set_open(receiver, false); /* we know better than Redis */
    }
    if (receiver->sent.probe_ms)
        answer_asker(receiver, status, status == STATUS_OK ? reported->probe : 0);
    tell_numbers(receivers);
    receiver->is_reporting = false; /* until here it lives for sure */
    if (has_news(receiver))
        receiver_report(receiver);
    receiver_settle(receiver);
}

static void send_report(struct receiver *receiver)
{
    struct receiver_news *sent = &receiver->sent;
    *sent = receiver->news;
    receiver->news = (struct receiver_news){.failures = 0};
    bool is_telling = sent->lives || sent->failures;
    struct store_report report = {
        .name = slice_of(receiver->name),
        .cause = slice_of(sent->cause),
        .lives = sent->lives,
        .failures = sent->failures,
        .crowd = sent->crowd,
        .delivered = sent->delivered,
        .probe = is_telling ? sent->probe : sent->unsent_probe,
        .wanted_ms = sent->probe_ms,
    };
    receiver->is_reporting = true;
    store_report(receiver->receivers->store, &report, on_reported, receiver);
}

void receiver_report(struct receiver *receiver)
{
    list_remove(&receiver->news_link);
    if (!receiver->is_reporting)
        list_append(&receiver->receivers->with_news, &receiver->news_link);
}

static void on_turn_end(void *arg)
{
    struct receivers *receivers = arg;
    for (struct list *link; (link = list_take(&receivers->with_news));)
        send_report(LIST_ENTRY(link, struct receiver, news_link));
}

/* ---- life ---- */

struct receivers *receivers_new(struct loop *loop, struct store *store, struct metrics *metrics)
{
    struct receivers *receivers = NEW(struct receivers);
    receivers->store = store;
    receivers->metrics = metrics;
    receivers->shards = NEW_ARRAY(struct knowledge, store_shards(store));
    for (size_t i = 0; i < store_shards(store); i++) {
        receivers->shards[i] = (struct knowledge){.receivers = receivers, .shard = i};
        shard_on_receivers(store_shard(store, i), on_told, &receivers->shards[i]);
    }
    for (size_t i = 0; i < BUCKETS; i++)
        list_init(&receivers->buckets[i]);
    list_init(&receivers->unwell);
    list_init(&receivers->with_news);
    receivers->decide = hook_new(loop, LOOP_PHASE_DECIDE, on_turn_end, receivers);
    receivers->later = timer_new(loop, on_later, receivers);
    return receivers;
}

void receivers_free(struct receivers *receivers)
{
    if (!receivers)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct list *link; (link = list_take(&receivers->buckets[i]));)
            free(LIST_ENTRY(link, struct receiver, link));
    hook_free(receivers->decide);
    timer_free(receivers->later);
    free(receivers->shards);
    free(receivers);
}
