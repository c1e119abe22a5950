#include "worker/receivers.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "base/system.h"
#include "store/shard.h"
#include "store/clock.h"

enum {
    IMPAIRED_MAX = 10000, /* maximum number of records, as in report.lua; above this number, the oldest
                             records are removed */
};
#define IMPAIRED_US INT64_C(3600000000) /* Redis has removed records that have not changed for this time */
/* Longest wait of a breaker. A longer one is the result of a clock step. */
#define WAIT_MAX_US INT64_C(600000000)
#define NEWS_US     INT64_C(50000) /* minimum time between two reads of new records */
/* After this time, a certificate is noted again, in case Redis has lost it. */
#define CERTIFICATE_US INT64_C(21600000000)

/* The state of this reactor's copy of one shard's records (receivers.h). */
struct shard_view {
    struct receivers *receivers;
    size_t shard;
    int64_t version; /* the copy has all records up to this version */
    int64_t last;    /* highest version in any answer */
    int64_t last_us; /* time of the first answer with this version */
    bool is_behind;  /* Redis may have records newer than version */
    bool is_started; /* the copy had all records at least once */
    bool is_asking;
    int64_t asked_us; /* time of the last request for newer records */
};

/* ---- the table ---- */

static struct list *bucket_of(struct receivers *receivers, const char *name)
{
    return &receivers->buckets[hash_of(slice_of(name)) % RECEIVER_BUCKETS];
}

static struct receiver *find_receiver(struct receivers *receivers, const char *name)
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
    struct receiver *receiver = find_receiver(receivers, name);
    if (receiver)
        return receiver;
    size_t size = strlen(name) + 1;
    receiver = memory_new(sizeof *receiver + size);
    receiver->receivers = receivers;
    receiver->shard = shard_number(store_shard_of(receivers->store, slice_of(name)));
    memcpy(receiver->name, name, size);
    receiver->is_path = receiver_path_of(slice_of(name)).size > 0;
    list_init(&receiver->age_link);
    list_init(&receiver->news_link);
    list_append(bucket_of(receivers, name), &receiver->link);
    return receiver;
}

bool receiver_has_news(const struct receiver *receiver)
{
    const struct receiver_news *news = &receiver->news;
    return news->is_reachable || news->failures || news->crowd || news->probe || news->wants_probe;
}

void receiver_settle(struct receiver *receiver)
{
    bool is_reported = receiver->is_reporting || receiver->on_probe || receiver_has_news(receiver);
    if (receiver->in_flight > 0 || receiver->is_impaired || is_reported)
        return;
    list_remove(&receiver->link);
    free(receiver);
}

/* ---- the copy ---- */

bool receiver_is_full(const struct receiver *receiver)
{
    return receiver->limit > 0 && receiver->in_flight >= (size_t)receiver->limit;
}

/* Reports that the breaker is closed, so that the jobs that it holds resume. */
static void notify_closed(const struct receiver *receiver)
{
    struct receivers *receivers = receiver->receivers;
    if (receivers->on_closed)
        receivers->on_closed(receivers->closed_arg, slice_of(receiver->name));
}

static void set_open(struct receiver *receiver, bool is_open)
{
    if (is_open != receiver->is_open)
        receiver->row_us = 0; /* jobs that are held from now on start a new row */
    receiver->receivers->open_count += is_open;
    receiver->receivers->open_count -= receiver->is_open;
    bool has_closed = receiver->is_open && !is_open;
    receiver->is_open = is_open;
    if (has_closed)
        notify_closed(receiver);
}

static void set_limit(struct receiver *receiver, int64_t limit)
{
    receiver->receivers->limited_count += limit > 0;
    receiver->receivers->limited_count -= receiver->limit > 0;
    receiver->limit = limit;
}

static void set_impaired(struct receiver *receiver, bool is_impaired)
{
    struct receivers *receivers = receiver->receivers;
    receivers->impaired_count += is_impaired;
    receivers->impaired_count -= receiver->is_impaired;
    receiver->is_impaired = is_impaired;
    list_remove(&receiver->age_link);
    if (is_impaired)
        list_append(&receivers->impaired, &receiver->age_link);
}

static void forget_oldest(struct receivers *receivers)
{
    while (!list_is_empty(&receivers->impaired)) {
        struct receiver *oldest = LIST_ENTRY(receivers->impaired.next, struct receiver, age_link);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the analyzer takes a freed receiver for a linked one */
        bool is_old = clock_wait_us() - oldest->copied_us > IMPAIRED_US;
        if (!is_old && receivers->impaired_count <= IMPAIRED_MAX)
            break;
        set_open(oldest, false);
        set_limit(oldest, 0);
        set_impaired(oldest, false);
        receiver_settle(oldest);
    }
}

void receiver_copy_record(struct receiver *receiver, const struct receiver_record *known, int64_t version)
{
    bool was_limited = !receiver->is_open && receiver->limit > 0;
    if (version < receiver->version)
        return;
    receiver->version = version;
    bool is_impaired = known && (known->failures > 0 || known->opened_ms > 0 || known->limit > 0);
    bool is_open = known && known->opened_ms > 0;
    /* A manual clock may have been turned since Redis read the record. */
    receiver->copied_us = known && clock_is_manual() ? known->now_us : clock_wait_us();
    if (is_open) {
        int64_t left_us = known->probe_ms * 1000 - known->now_us;
        receiver->probe_us = receiver->copied_us + (left_us < WAIT_MAX_US ? left_us : 0);
        receiver->wait_ms = known->wait_ms;
        receiver->probed_us = known->probe == receiver->probe ? receiver->probed_us : receiver->copied_us;
        receiver->probe = known->probe;
        receiver->since_us = receiver->copied_us - (known->now_us - known->opened_ms * 1000);
    } else if (!was_limited) {
        receiver->since_us = receiver->copied_us;
    }
    set_open(receiver, is_open);
    set_limit(receiver, known ? known->limit : 0);
    set_impaired(receiver, is_impaired);
}

void receiver_close(struct receiver *receiver)
{
    set_open(receiver, false);
}

void receiver_put_off_probe(struct receiver *receiver)
{
    receiver->probe_us = clock_wait_us() + receiver->wait_ms * 1000;
    receiver->probe = 0;
}

void receivers_count(const struct receivers *receivers)
{
    metrics_receivers(receivers->metrics, receivers->open_count, receivers->limited_count);
}

/* ---- attempts ---- */

void receiver_enter(struct receiver *receiver)
{
    receiver->in_flight++;
}

void receiver_leave(struct receiver *receiver)
{
    receiver->in_flight--;
    receiver_settle(receiver);
}

/* ---- what others reported ---- */

static void note_last(struct shard_view *shard, int64_t version)
{
    if (version <= shard->last)
        return;
    shard->last = version;
    shard->last_us = clock_boot_us();
}

static void copy_news(struct shard_view *shard, const struct receiver_record *known, int64_t version)
{
    struct receivers *receivers = shard->receivers;
    char name[RECEIVER_NAME_SIZE];
    bool is_well = known->failures == 0 && known->opened_ms == 0 && known->limit == 0;
    if (known->name.size >= sizeof name)
        return; /* duepost did not write this name */
    memcpy(name, known->name.data, known->name.size);
    name[known->name.size] = '\0';
    struct receiver *receiver = is_well ? find_receiver(receivers, name) : receivers_find(receivers, name);
    if (!receiver)
        return;
    receiver_copy_record(receiver, known, version);
    if (receiver->is_open && receivers->is_off && !shard->is_started)
        notify_closed(receiver);
    receiver_settle(receiver);
}

static void catch_up(struct shard_view *);

static void on_news(void *arg, enum status status, const struct receiver_record *known, size_t count,
                    int64_t version, int64_t last)
{
    struct shard_view *shard = arg;
    struct receivers *receivers = shard->receivers;
    shard->is_asking = false;
    if (status != STATUS_OK)
        return; /* the next claim in this shard, within a second, returns the version again; the records are
                   read then */
    for (size_t i = 0; i < count; i++)
        copy_news(shard, &known[i], last);
    forget_oldest(receivers);
    receivers_count(receivers);
    shard->version = version;
    shard->is_started |= version >= last;
    note_last(shard, last);
    shard->is_behind |= version < last;
    catch_up(shard);
}

/* Reads the records that are newer than the copy (news). If the last read was less than NEWS_US ago, a timer
 * reads later. */
static void catch_up(struct shard_view *shard)
{
    int64_t since_us = clock_boot_us() - shard->asked_us;
    if (!shard->is_behind || shard->is_asking)
        return;
    if (since_us < NEWS_US) {
        timer_arm(shard->receivers->later, NEWS_US - since_us);
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

static void on_records_changed(void *arg)
{
    struct shard_view *shard = arg;
    shard->is_behind = true;
    catch_up(shard);
}

/* Resets the versions of a shard. Called when Redis has lost records and continues from an earlier
 * version. */
static void begin_anew(struct shard_view *shard)
{
    const struct list *buckets = shard->receivers->buckets;
    shard->version = shard->last = 0;
    for (size_t i = 0; i < RECEIVER_BUCKETS; i++)
        for (struct list *link = buckets[i].next; link != &buckets[i]; link = link->next) {
            struct receiver *receiver = LIST_ENTRY(link, struct receiver, link);
            if (receiver->shard == shard->shard)
                receiver->version = 0;
        }
}

void receivers_note_version(struct receivers *receivers, size_t number, int64_t version, int64_t asked_us)
{
    struct shard_view *shard = &receivers->shards[number];
    bool is_lost = version < shard->last && asked_us > shard->last_us;
    if (is_lost)
        begin_anew(shard);
    note_last(shard, version);
    if (is_lost || version > shard->version)
        on_records_changed(shard);
}

/* ---- certificates ---- */

/* A certificate that is being noted in Redis. */
struct certificate_note {
    struct receiver_certificate *noted;
    char name[RECEIVER_HOST_SIZE];
};

static void on_certificate(void *arg, enum status status)
{
    struct certificate_note *note = arg;
    if (status != STATUS_OK)
        note->noted->until_ms = 0; /* the next connection notes it */
    free(note);
}

void receivers_note_certificate(struct receivers *receivers, const struct url *url, int64_t until_ms)
{
    char name[RECEIVER_HOST_SIZE];
    receiver_name(url, name);
    uint64_t hash = hash_long_of(slice_of(name));
    struct receiver_certificate *noted = &receivers->certificates[hash % RECEIVER_CERTIFICATES];
    int64_t now_us = clock_boot_us();
    if (noted->hash == hash && noted->until_ms == until_ms && now_us - noted->noted_us < CERTIFICATE_US)
        return;
    *noted = (struct receiver_certificate){hash, until_ms, now_us};
    struct certificate_note *note = NEW(struct certificate_note);
    note->noted = noted;
    memcpy(note->name, name, sizeof name);
    store_note_certificate(receivers->store, slice_of(note->name), until_ms, on_certificate, note);
}

/* ---- life ---- */

struct receivers *receivers_new(struct loop *loop, struct store *store, struct metrics *metrics)
{
    struct receivers *receivers = NEW(struct receivers);
    receivers->store = store;
    receivers->metrics = metrics;
    receivers->shards = NEW_ARRAY(struct shard_view, store_shards(store));
    for (size_t i = 0; i < store_shards(store); i++) {
        receivers->shards[i] = (struct shard_view){.receivers = receivers, .shard = i};
        shard_on_receivers(store_shard(store, i), on_records_changed, &receivers->shards[i]);
    }
    for (size_t i = 0; i < RECEIVER_BUCKETS; i++)
        list_init(&receivers->buckets[i]);
    list_init(&receivers->impaired);
    list_init(&receivers->with_news);
    receivers->later = timer_new(loop, on_later, receivers);
    return receivers;
}

void receivers_on_closed(struct receivers *receivers, receivers_closed_fn *fn, void *arg)
{
    receivers->on_closed = fn;
    receivers->closed_arg = arg;
}

void receivers_turn_off(struct receivers *receivers, bool is_off)
{
    bool was_off = receivers->is_off;
    receivers->is_off = is_off;
    if (was_off || !is_off)
        return;
    for (size_t i = 0; i < RECEIVER_BUCKETS; i++)
        for (struct list *link = receivers->buckets[i].next; link != &receivers->buckets[i];
             link = link->next) {
            struct receiver *receiver = LIST_ENTRY(link, struct receiver, link);
            if (receiver->is_open)
                notify_closed(receiver);
        }
}

void receivers_free(struct receivers *receivers)
{
    if (!receivers)
        return;
    for (size_t i = 0; i < RECEIVER_BUCKETS; i++)
        for (struct list *link; (link = list_take(&receivers->buckets[i]));)
            free(LIST_ENTRY(link, struct receiver, link));
    timer_free(receivers->later);
    free(receivers->shards);
    free(receivers);
}
