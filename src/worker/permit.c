#include "worker/permit.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/metrics.h"
#include "base/system.h"
#include "store/clock.h"
#include "worker/hold.h"

/* ---- one part ---- */

static void give(struct permit_part *part, int64_t probe)
{
    part->is_given = true;
    part->probe = probe;
    receiver_enter(part->receiver);
}

static void leave(struct permit_part *part)
{
    struct receiver *receiver = part->receiver;
    part->receiver = NULL;
    part->is_given = false;
    receiver_leave(receiver);
}

static void drop_part(struct permit_part *part)
{
    if (part->receiver && !part->is_given) {
        receiver_withdraw(part->receiver);
        part->receiver = NULL;
    }
    if (!part->receiver)
        return;
    if (part->probe)
        receiver_return_probe(part->receiver, part->probe);
    leave(part);
}

static enum permit_answer hold(struct permit_part *part, int64_t wait_ms, bool is_by_breaker)
{
    struct receiver *receiver = part->receiver;
    char *name = is_by_breaker ? slice_dup(slice_of(receiver->name)) : NULL;
    part->permit->wait_ms = wait_ms;
    part->receiver = NULL;
    receiver_settle(receiver);
    permit_drop(part->permit); /* ends both parts of the permit, because the job is held */
    part->permit->held_by = name;
    return PERMIT_HELD;
}

static receiver_probe_fn permit_on_probe;

static enum permit_answer ask_part(struct permit *permit, struct permit_part *part, const char *name)
{
    struct receiver *receiver = receivers_find(permit->receivers, name);
    *part = (struct permit_part){.permit = permit, .receiver = receiver};
    if (receiver->is_open) {
        if (!receiver_may_be_asked(receiver))
            return hold(part, hold_by_breaker_ms(receiver), true);
        receiver_ask_probe(receiver, permit_on_probe, part);
        return PERMIT_ASKED;
    }
    if (receiver_is_full(receiver))
        return hold(part, hold_by_limit_ms(receiver), false);
    give(part, 0);
    return PERMIT_GIVEN;
}

/* ---- both ---- */

/* Requests the permit's part for the whole receiver. name may end with a path, which is ignored. */
static enum permit_answer ask_host(struct permit *permit, const char *name)
{
    char host[RECEIVER_HOST_SIZE];
    struct slice text = receiver_host_of(slice_of(name));
    memcpy(host, text.data, text.size);
    host[text.size] = '\0';
    return ask_part(permit, &permit->host, host);
}

enum permit_answer permit_ask(struct permit *permit, struct receivers *receivers, const char *name,
                              permit_fn *fn, void *arg)
{
    *permit = (struct permit){.receivers = receivers, .fn = fn, .arg = arg};
    if (receiver_path_of(slice_of(name)).size > 0) {
        enum permit_answer answer = ask_part(permit, &permit->path, name);
        if (answer != PERMIT_GIVEN)
            return answer;
    }
    return ask_host(permit, name);
}

/* Receives Redis's answer for the part that asked for the right to probe. */
static void permit_on_probe(void *arg, bool may_send, int64_t probe)
{
    struct permit_part *part = arg;
    struct permit *permit = part->permit;
    enum permit_answer answer = PERMIT_GIVEN;
    if (!may_send) {
        answer = hold(part, hold_by_breaker_ms(part->receiver), true);
    } else {
        give(part, probe);
        if (part == &permit->path)
            answer = ask_host(permit, part->receiver->name);
    }
    if (answer != PERMIT_ASKED)
        permit->fn(permit->arg, answer == PERMIT_GIVEN ? -1 : permit->wait_ms);
}

bool permit_is_probe(const struct permit *permit)
{
    return permit->path.probe || permit->host.probe;
}

static void end_part(struct permit_part *part, const struct attempt_result *result)
{
    if (!part->is_given)
        return;
    receiver_note(part->receiver, result, part->probe);
    leave(part);
}

void permit_end(struct permit *permit, const struct attempt_result *result)
{
    end_part(&permit->path, result);
    end_part(&permit->host, result);
}

void permit_drop(struct permit *permit)
{
    drop_part(&permit->path);
    drop_part(&permit->host);
    free(permit->held_by);
    permit->held_by = NULL;
}

/* ---- reports ---- */

/* Puts the receiver into the list of receivers whose report is sent at the end of the turn. */
static void report_soon(struct receiver *receiver)
{
    if (!receiver->is_work)
        clock_note_work(1);
    receiver->is_work = true;
    list_remove(&receiver->news_link);
    if (!receiver->is_reporting)
        list_append(&receiver->receivers->with_news, &receiver->news_link);
}

/* ---- news ---- */

static void note_probe(struct receiver *receiver, int64_t probe, enum receiver_probe_end end)
{
    if (probe == 0 || probe < receiver->news.probe) /* not a probe, or a later probe's result is noted */
        return;
    receiver->news.probe = probe;
    receiver->news.probe_end = end;
}

void receiver_note(struct receiver *receiver, const struct attempt_result *result, int64_t probe)
{
    struct receiver_news *news = &receiver->news;
    enum receiver_health health = receiver->is_path ? receiver_path_health(result) : receiver_health(result);
    bool is_overloaded = !receiver->is_path && receiver_is_overloaded(result);
    if (health == RECEIVER_INCONCLUSIVE && probe) {
        note_probe(receiver, probe, RECEIVER_PROBE_INCONCLUSIVE);
        receiver_cause(result, news->inconclusive_cause);
        report_soon(receiver);
    }
    bool is_watched = receiver->is_impaired || receiver->is_reporting || news->failures > 0;
    if (health == RECEIVER_INCONCLUSIVE || (health == RECEIVER_HEALTHY && !is_overloaded && !is_watched))
        return;
    if (is_overloaded && news->crowd < (int64_t)receiver->in_flight)
        news->crowd = (int64_t)receiver->in_flight;
    if (health == RECEIVER_FAILING) {
        news->failures++;
        receiver_cause(result, news->cause);
    } else {
        news->is_reachable = true;
        news->failures = 0;
        news->delivered += result->status / 100 == 2;
    }
    note_probe(receiver, probe, RECEIVER_PROBE_CONCLUSIVE);
    report_soon(receiver);
}

bool receiver_may_be_asked(const struct receiver *receiver)
{
    return receiver->probe_us <= clock_wait_us() && !receiver->is_asking;
}

void receiver_ask_probe(struct receiver *receiver, receiver_probe_fn *fn, void *arg)
{
    receiver->on_probe = fn;
    receiver->probe_arg = arg;
    receiver->is_asking = true;
    receiver->news.wants_probe = true;
    report_soon(receiver);
}

void receiver_withdraw(struct receiver *receiver)
{
    receiver->on_probe = NULL; /* if Redis grants the right later, the right is returned unused */
}

void receiver_return_probe(struct receiver *receiver, int64_t probe)
{
    note_probe(receiver, probe, RECEIVER_PROBE_UNSENT);
    report_soon(receiver);
}

/* ---- reports and their answers ---- */

static void count_changes(const struct receiver *receiver, const struct store_reported *reported)
{
    const struct receiver_record *known = reported->receiver;
    struct metrics *metrics = receiver->receivers->metrics;
    metrics_count(metrics, METRICS_COUNTER_BREAKERS_OPENED, reported->has_opened);
    metrics_count(metrics, METRICS_COUNTER_BREAKERS_CLOSED, reported->has_closed);
    metrics_count(metrics, METRICS_COUNTER_LIMITS_HALVED, reported->has_halved);
    /* A path may be a secret (https://hooks.example/T0/B0/x), so only GET /receivers shows it. */
    struct slice host = receiver_host_of(slice_of(receiver->name));
    struct slice scope = receiver->is_path ? SLICE("path") : SLICE("receiver");
    if (reported->has_opened)
        log_warning("breaker_opened", LOG_SLICE("receiver", host), LOG_SLICE("scope", scope),
                    LOG_NUMBER("failures", known->failures), LOG_SLICE("cause", known->cause),
                    LOG_NUMBER("probe_in_ms", known->wait_ms));
    if (reported->has_closed)
        log_info("breaker_closed", LOG_SLICE("receiver", host), LOG_SLICE("scope", scope));
}

/* Answers the attempt that asked for the right to probe, if this attempt still waits. */
static void answer_asker(struct receiver *receiver, enum status status, int64_t probe)
{
    receiver_probe_fn *fn = receiver->on_probe;
    receiver->is_asking = false;
    receiver->on_probe = NULL;
    metrics_count(receiver->receivers->metrics, METRICS_COUNTER_PROBES, fn && probe);
    if (status != STATUS_OK) /* until probe_us, the next jobs of this reactor are held and do not ask */
        receiver_put_off_probe(receiver);
    if (fn)
        fn(receiver->probe_arg, probe || status != STATUS_OK || !receiver->is_open, probe);
    else
        note_probe(receiver, probe, RECEIVER_PROBE_UNSENT);
}

static void on_reported(void *arg, enum status status, const struct store_reported *reported)
{
    struct receiver *receiver = arg;
    struct receivers *receivers = receiver->receivers;
    if (status == STATUS_OK) {
        receivers_note_version(receivers, receiver->shard, reported->version, receiver->reported_us);
        receiver_copy_record(receiver, reported->receiver, reported->version);
        count_changes(receiver, reported);
    } else if (receiver->sent.is_reachable) {
        receiver_close(receiver);
    }
    if (receiver->sent.wants_probe)
        answer_asker(receiver, status, status == STATUS_OK ? reported->probe : 0);
    receivers_count(receivers);
    receiver->is_reporting = false; /* cleared last: a receiver with a report under way is not freed */
    if (receiver_has_news(receiver)) {
        report_soon(receiver);
    } else if (receiver->is_work) {
        receiver->is_work = false;
        clock_note_work(-1);
    }
    receiver_settle(receiver);
}

/* Moves the noted results (news) of a receiver into its report. If there are results of other attempts and
 * also an inconclusive or unsent probe, two reports are sent, and the second one ends the probe. With a
 * single report, Redis would take the results of the other attempts for the result of the probe. */
static void take_news(struct receiver *receiver)
{
    struct receiver_news *sent = &receiver->sent;
    *sent = receiver->news;
    receiver->news = (struct receiver_news){.failures = 0};
    if ((sent->is_reachable || sent->failures) && sent->probe_end != RECEIVER_PROBE_CONCLUSIVE) {
        receiver->news.probe = sent->probe;
        receiver->news.probe_end = sent->probe_end;
        memcpy(receiver->news.inconclusive_cause, sent->inconclusive_cause, sizeof sent->inconclusive_cause);
        sent->probe = 0;
    }
}

static void send_report(struct receiver *receiver)
{
    const struct receiver_news *sent = &receiver->sent;
    take_news(receiver);
    bool is_inconclusive = sent->probe && sent->probe_end == RECEIVER_PROBE_INCONCLUSIVE;
    struct store_report report = {
        .name = slice_of(receiver->name),
        .cause = slice_of(sent->failures    ? sent->cause
                          : is_inconclusive ? sent->inconclusive_cause
                                            : ""),
        .is_reachable = sent->is_reachable,
        .failures = sent->failures,
        .crowd = sent->crowd,
        .delivered = sent->delivered,
        .probe = sent->probe,
        .wants_probe = sent->wants_probe,
    };
    receiver->is_reporting = true;
    receiver->reported_us = clock_boot_us();
    store_report(receiver->receivers->store, &report, on_reported, receiver);
}

void receivers_send_reports(struct receivers *receivers)
{
    for (struct list *link; (link = list_take(&receivers->with_news));)
        send_report(LIST_ENTRY(link, struct receiver, news_link));
}
