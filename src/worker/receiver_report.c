/* receiver_report.c - what attempts met becomes reports, and what comes of them. */
#include "base/clock.h"
#include "base/log.h"
#include "worker/permit.h"
#include "worker/receivers_private.h"

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
        receivers_hear(receivers, receiver->shard, reported->version, receiver->reported_us);
        receiver_learn(receiver, reported->receiver, reported->version);
        count_changes(receiver, reported);
    } else if (receiver->sent.lives) {
        receiver_set_open(receiver, false); /* we know better than Redis */
    }
    if (receiver->sent.probe_ms)
        answer_asker(receiver, status, status == STATUS_OK ? reported->probe : 0);
    receivers_tell_numbers(receivers);
    receiver->is_reporting = false; /* until here it lives for sure */
    if (receiver_has_news(receiver))
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
    receiver->reported_us = clock_boot_us();
    store_report(receiver->receivers->store, &report, on_reported, receiver);
}

void receiver_report(struct receiver *receiver)
{
    list_remove(&receiver->news_link);
    if (!receiver->is_reporting)
        list_append(&receiver->receivers->with_news, &receiver->news_link);
}

void receivers_send_reports(void *arg)
{
    struct receivers *receivers = arg;
    for (struct list *link; (link = list_take(&receivers->with_news));)
        send_report(LIST_ENTRY(link, struct receiver, news_link));
}
