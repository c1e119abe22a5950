/* receiver.c - reports the results of attempts at receivers, and reads the records of receivers. */
#include <assert.h>

#include "base/memory.h"
#include "job/job.h"
#include "store/store_private.h"

enum {
    SYNC_MAX = 500,     /* maximum number of receivers in one call that reads changed records */
    FIRST_RECEIVER = 3, /* index of the first receiver in a reply of receivers.lua */
    RECEIVER_PARTS = 3, /* name, record, end of the certificate */
    CHANGE_OPENED = 1,  /* values of changes in the reply of report.lua */
    CHANGE_CLOSED = 2,
    CHANGE_HALVED = 4,
};

/* ---- records, see report.lua ---- */

static int64_t take_number(struct slice *record)
{
    struct slice text;
    uint64_t number = 0;
    slice_cut(*record, ' ', &text, record);
    return slice_to_number(text, REDIS_INTEGER_MAX, &number) ? (int64_t)number : 0;
}

/* Returns whether the text is a status or the word of an error. */
static bool is_cause(struct slice text)
{
    uint64_t status;
    enum failure error;
    return (slice_to_number(text, 599, &status) && status >= 100) ||
           (failure_parse(text, &error) && error != FAILURE_OTHER);
}

struct receiver_record receiver_record_read(struct slice name, struct slice record, int64_t now_us)
{
    struct receiver_record receiver = {.name = name, .now_us = now_us, .certificate_ms = -1};
    receiver.failures = take_number(&record);
    receiver.opened_ms = take_number(&record);
    receiver.probe_ms = take_number(&record);
    receiver.wait_ms = take_number(&record);
    receiver.probe = take_number(&record);
    receiver.limit = take_number(&record);
    take_number(&record); /* skips a part of the record: the time when the limit was last halved */
    receiver.failed_ms = take_number(&record);
    slice_cut(record, ' ', &receiver.cause, &record);
    receiver.reported_ms = take_number(&record);
    if (!is_cause(receiver.cause)) {
        receiver.failed_ms = 0;
        receiver.cause = SLICE("-");
    }
    return receiver;
}

/* ---- reading ---- */

/* A running call of receivers.lua, for a page of receivers or for changed records. */
struct receiver_walk {
    const struct store *store;
    struct store_receivers receivers; /* from.shard is the shard of the current call */
    store_receivers_fn *fn;
    store_news_fn *news_fn;
    void *arg;
};

static void receiver_ask(struct receiver_walk *);

static struct receiver_cursor next_of(const struct receiver_walk *walk, bool has_more, int64_t version)
{
    size_t shard = walk->receivers.from.shard;
    if (has_more)
        return (struct receiver_cursor){shard, version};
    bool has_next_shard = walk->receivers.name.size == 0 && shard + 1 < store_shards(walk->store);
    return (struct receiver_cursor){has_next_shard ? shard + 1 : 0, 0};
}

static void receiver_tell(struct receiver_walk *walk, enum status status,
                          const struct receiver_record *receivers, size_t count, int64_t version,
                          int64_t last)
{
    if (walk->news_fn) {
        walk->news_fn(walk->arg, status, receivers, count, version, last);
        free(walk);
        return;
    }
    struct receiver_cursor next = next_of(walk, walk->receivers.name.size == 0 && version < last, version);
    /* If this shard has no receivers, continues with the next shard, as list.c does, instead of returning an
     * empty page. */
    if (status == STATUS_OK && count == 0 && next.shard > walk->receivers.from.shard) {
        walk->receivers.from = next;
        receiver_ask(walk);
        return;
    }
    walk->fn(walk->arg, status, receivers, count, next);
    free(walk);
}

static void on_receivers(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct receiver_walk *walk = call->arg;
    struct receiver_record *receivers = NULL;
    size_t count = 0;
    int64_t now_us = redis_reply_integer(redis_reply_at(reply, 0));
    int64_t last = redis_reply_integer(redis_reply_at(reply, 1));
    int64_t version = redis_reply_integer(redis_reply_at(reply, 2));
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_RECEIVER)
        status = reply_refuse("receivers");
    if (status == STATUS_OK) {
        count = (redis_reply_size(reply) - FIRST_RECEIVER) / RECEIVER_PARTS;
        receivers = calloc(count + 1, sizeof *receivers);
        if (!receivers) {
            status = STATUS_NO_MEMORY;
            count = 0;
        }
        for (size_t i = 0; i < count; i++) {
            size_t at = FIRST_RECEIVER + i * RECEIVER_PARTS;
            receivers[i] = receiver_record_read(redis_reply_text(redis_reply_at(reply, at)),
                                                redis_reply_text(redis_reply_at(reply, at + 1)), now_us);
            receivers[i].certificate_ms = redis_reply_integer(redis_reply_at(reply, at + 2));
        }
    }
    receiver_tell(walk, status, receivers, count, version, last);
    free(receivers);
}

static void receiver_ask(struct receiver_walk *walk)
{
    const struct store_receivers *receivers = &walk->receivers;
    struct shard *shard = store_shard(walk->store, receivers->from.shard);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_RECEIVERS, shard->reads, on_receivers, NULL, walk);
    store_call_text(call, receivers->name);
    store_call_number(call, receivers->from.version);
    store_call_number(call, (int64_t)receivers->max);
    store_call_send(call);
}

void store_receivers(struct store *store, const struct store_receivers *receivers, store_receivers_fn *fn,
                     void *arg)
{
    struct receiver_walk *walk = NEW(struct receiver_walk);
    *walk = (struct receiver_walk){.store = store, .receivers = *receivers, .fn = fn, .arg = arg};
    if (receivers->name.size)
        walk->receivers.from.shard = shard_number(store_shard_of(store, receivers->name));
    assert(walk->receivers.from.shard < store_shards(store));
    receiver_ask(walk);
}

void store_news(struct store *store, size_t shard, int64_t version, store_news_fn *fn, void *arg)
{
    struct receiver_walk *walk = NEW(struct receiver_walk);
    *walk = (struct receiver_walk){.store = store, .news_fn = fn, .arg = arg};
    walk->receivers = (struct store_receivers){.max = SYNC_MAX, .from = {shard, version}};
    receiver_ask(walk);
}

/* ---- reports, and requests to close a breaker: both use report.lua ---- */

/* Reads the record into receiver. Returns false if the receiver has no record. */
static bool read_known(const struct store_call *call, const struct redis_reply *result,
                       struct receiver_record *receiver)
{
    struct slice record = redis_reply_text(redis_reply_at(result, 3));
    *receiver = receiver_record_read(store_call_argument(call, 0), record, call->now_us);
    return record.size > 0;
}

static void report_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct receiver_record receiver;
    bool is_known = read_known(call, result, &receiver);
    int64_t changes = is_known ? redis_reply_integer(redis_reply_at(result, 1)) : 0;
    struct store_reported reported = {
        .probe = redis_reply_integer(redis_reply_at(result, 0)),
        .has_opened = changes & CHANGE_OPENED,
        .has_closed = changes & CHANGE_CLOSED,
        .has_halved = changes & CHANGE_HALVED,
        .version = redis_reply_integer(redis_reply_at(result, 2)),
        .receiver = is_known ? &receiver : NULL,
    };
    CALL_FN(call, store_report_fn)(call->arg, status, &reported);
}

void store_report(struct store *store, const struct store_report *report, store_report_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, report->name);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_REPORT, report_end, ANY_FN(fn), arg);
    store_call_text(call, report->name);
    store_call_number(call, report->is_reachable);
    store_call_number(call, report->failures);
    store_call_text(call, report->cause.size ? report->cause : SLICE("-"));
    store_call_number(call, report->crowd);
    store_call_number(call, report->delivered);
    store_call_number(call, report->probe);
    store_call_text(call, report->wants_probe ? SLICE("probe") : SLICE("-"));
    store_call_send(call);
}

static void close_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct receiver_record receiver;
    if (!read_known(call, result, &receiver) && status == STATUS_OK)
        status = STATUS_NOT_FOUND;
    CALL_FN(call, store_close_fn)(call->arg, status, &receiver);
}

void store_close_receiver(struct store *store, struct slice name, store_close_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, name);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_CLOSE, close_end, ANY_FN(fn), arg);
    store_call_text(call, name);
    for (const char *argument = "00-000"; *argument; argument++)
        store_call_text(call, slice_from(argument, 1));
    store_call_text(call, SLICE("close"));
    store_call_send(call);
}

/* ---- certificates ---- */

static void certificate_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    (void)reply;
    CALL_FN(call, store_certificate_fn)(call->arg, status);
}

void store_note_certificate(struct store *store, struct slice name, int64_t until_ms,
                            store_certificate_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, name);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_CERTIFICATE, shard->worker, certificate_end, ANY_FN(fn), arg);
    store_call_text(call, name);
    store_call_number(call, until_ms);
    store_call_send(call);
}
