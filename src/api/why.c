/* why.c - GET /jobs/<topic>/<jobId>/why: why the job waits, or how it ended, as a word for programs and a
 * sentence for people */
#include <stdio.h>

#include "api/api_private.h"
#include "app/why.h"
#include "base/json_writer.h"
#include "base/timestamp.h"
#include "job/target/receiver.h"

enum { DETAIL_MAX = 2048 };

static const char *const why_words[] = {
    [APP_WHY_NOT_DUE] = "not_due",
    [APP_WHY_RETRY] = "waits_for_retry",
    [APP_WHY_NOT_YET] = "not_yet",
    [APP_WHY_ENCRYPTION_KEY] = "encryption_key",
    [APP_WHY_LATER_VERSION] = "later_version",
    [APP_WHY_IN_TURN] = "in_turn",
    [APP_WHY_SETTINGS] = "settings",
    [APP_WHY_NO_URL] = "no_url",
    [APP_WHY_PAUSED] = "paused",
    [APP_WHY_WINDOWS] = "windows",
    [APP_WHY_BATCH] = "batch",
    [APP_WHY_MAX_IN_FLIGHT] = "max_in_flight",
    [APP_WHY_RATE] = "rate",
    [APP_WHY_KEY] = "key",
    [APP_WHY_LIMIT] = "limit",
    [APP_WHY_ORDER] = "order",
    [APP_WHY_BREAKER] = "breaker",
    [APP_WHY_RECEIVER_LIMIT] = "receiver_limit",
    [APP_WHY_WAITS_FOR_WORKER] = "waits_for_worker",
    [APP_WHY_UNDER_WAY] = "under_way",
    [APP_WHY_DEAD] = "dead",
    [APP_WHY_DELIVERED] = "delivered",
    [APP_WHY_CANCELLED] = "cancelled",
};

/* The answer while it is written: why the job waits or how it ended, and what the client can do. */
struct telling {
    const struct app_finding *finding;
    struct slice topic, job_id;
    struct buffer *text;
};

/* ---- attempts ---- */

static void tell_retry(const struct telling *telling)
{
    const struct attempt_result *last = &telling->finding->last_attempt;
    buffer_printf(telling->text, "Attempt %d ", telling->finding->attempts);
    if (last->error == FAILURE_NONE)
        buffer_printf(telling->text, "was answered %d", last->status);
    else
        buffer_printf(telling->text, "failed (%s%s%.*s)", failure_word(last->error),
                      last->detail.size ? ": " : "", SLICE_ARG(last->detail));
    buffer_append(telling->text,
                  SLICE("; the job waits for its next attempt. POST .../run makes it due now."));
}

static void tell_round(const struct telling *telling)
{
    const struct app_finding *finding = telling->finding;
    char next[TIMESTAMP_SIZE];
    timestamp_format(finding->next_ms, next);
    buffer_printf(
        telling->text,
        "The receiver said not yet: it answered %d and asked for the job again. The next round, number "
        "%d, begins at %s. POST .../run makes it due now.",
        finding->last_attempt.status, finding->rounds + 1, next);
}

static void tell_attempt(const struct telling *telling)
{
    const struct app_finding *finding = telling->finding;
    char until[TIMESTAMP_SIZE];
    if (!finding->is_pull && finding->is_deferred) {
        timestamp_format(finding->next_ms, until);
        buffer_printf(
            telling->text,
            "Its receiver has deferred the end of the attempt until %s. If no request with the token of "
            "the attempt ends or extends it before that, the attempt fails.",
            until);
        return;
    }
    if (!finding->is_pull) {
        buffer_append(telling->text, SLICE("An attempt is under way. If its process is lost, another process "
                                           "takes the job over when the lease ends."));
        return;
    }
    timestamp_format(finding->next_ms, until);
    buffer_printf(telling->text,
                  "A worker has leased it until %s. If the worker does not end or extend the lease before "
                  "that, the attempt fails.",
                  until);
}

/* Returns a sentence that says how to run a dead job again. For some reasons of death, it does not help to
 * run the job again without a change. */
static const char *way_back(const char *reason)
{
    static const char *const ways[][2] = {
        {"expired", "To run it again, first PATCH its expiresAt, then POST .../run."},
        {"no_url", "To run it again, first set a url of the job or of its topic, then POST .../run."},
        {"target_refused",
         "POST .../run alone would be refused again: first PATCH its url, or have the operator allow "
         "the address (--allow-target)."},
        {"gone", "POST .../run sends it again, but its receiver has answered 410 (gone)."},
        {"unreadable", "POST .../run cannot help: this version cannot read its record. DELETE it, or PUT the "
                       "job again."},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(reason, ways[i][0]) == 0)
            return ways[i][1];
    return "POST .../run runs it again.";
}

static void tell_death(const struct telling *telling)
{
    const struct app_finding *finding = telling->finding;
    const struct attempt_result *last = &finding->last_attempt;
    const char *plural = finding->attempts == 1 ? "" : "s";
    buffer_printf(telling->text, "It was given up (%s)", finding->reason);
    if (last->at_ms && last->error == FAILURE_NONE)
        buffer_printf(telling->text, " after %d attempt%s; the last one was answered %d", finding->attempts,
                      plural, last->status);
    else if (last->at_ms)
        buffer_printf(telling->text, " after %d attempt%s; the last one failed: %s%s%.*s", finding->attempts,
                      plural, failure_word(last->error), last->detail.size ? ": " : "",
                      SLICE_ARG(last->detail));
    if (finding->is_body_left_out)
        buffer_append(telling->text, SLICE(". The history does not have its body (--history-bodies), so it "
                                           "cannot be run again."));
    else
        buffer_printf(telling->text, ". %s", way_back(finding->reason));
}

static void tell_end(const struct telling *telling)
{
    const struct app_finding *finding = telling->finding;
    const struct attempt_result *last = &finding->last_attempt;
    bool is_delivered = finding->why == APP_WHY_DELIVERED;
    buffer_printf(telling->text, "It was %s ", is_delivered ? "delivered" : "cancelled");
    int64_t span_ms = finding->now_ms - finding->ended_ms;
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {{86400000, "day"}, {3600000, "hour"}, {60000, "minute"}, {1000, "second"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && span_ms < 2 * units[i].ms)
        i++;
    long long number = span_ms > 0 ? (long long)(span_ms / units[i].ms) : 0;
    buffer_printf(telling->text, "%lld %s%s ago", number, units[i].name, number == 1 ? "" : "s");
    if (is_delivered && last->at_ms)
        buffer_printf(telling->text, ", at attempt %d: the receiver answered %d in %lld ms",
                      finding->attempts, last->status, (long long)last->duration_ms);
    else if (last->at_ms && last->error == FAILURE_NONE)
        buffer_printf(telling->text, ", after an attempt that was answered %d", last->status);
    else if (last->at_ms)
        buffer_printf(telling->text, ", after an attempt that failed (%s)", failure_word(last->error));
    buffer_append_byte(telling->text, '.');
}

/* ---- the topic ---- */

static void tell_topic(const struct telling *telling)
{
    const struct app_finding *finding = telling->finding;
    switch (finding->why) {
    case APP_WHY_IN_TURN:
        buffer_printf(
            telling->text,
            "It is due, and waits for its turn: %lld jobs of its topic are due, and %lld attempts of the "
            "topic are under way. If it keeps waiting, the processes make as many attempts as they may: "
            "raise --max-in-flight or add a process.",
            (long long)finding->ready, (long long)finding->leased);
        if (finding->lane.pending > 0)
            buffer_printf(telling->text,
                          " The keys of its topic take turns: key %.*s has %lld jobs, and %lld of them are "
                          "under way.",
                          SLICE_ARG(finding->key), (long long)finding->lane.pending,
                          (long long)finding->lane.in_flight);
        break;
    case APP_WHY_SETTINGS:
        buffer_printf(
            telling->text,
            "The settings of its topic in Redis cannot be read. PUT /topics/%.*s replaces them, DELETE "
            "resets them.",
            SLICE_ARG(telling->topic));
        break;
    case APP_WHY_NO_URL:
        buffer_printf(
            telling->text,
            "It is due, but neither the job nor its topic has a url. PATCH /topics/%.*s with a url, or "
            "with {\"delivery\":\"pull\"}, resumes all jobs that wait for this.",
            SLICE_ARG(telling->topic));
        break;
    case APP_WHY_PAUSED:
        buffer_printf(telling->text,
                      "Its topic is paused%s%s. PATCH /topics/%.*s with {\"paused\":null} resumes it.",
                      finding->pause_reason[0] ? ": " : "", finding->pause_reason, SLICE_ARG(telling->topic));
        break;
    case APP_WHY_WINDOWS: {
        char opens[TIMESTAMP_SIZE];
        if (finding->next_ms)
            timestamp_format(finding->next_ms, opens);
        buffer_printf(
            telling->text,
            "It is due, but the windows of its topic are closed%s%s. PATCH /topics/%.*s changes them.",
            finding->lacks_zone ? ": the server does not know the time zone of one of them, and looks "
                                  "for it every 10 minutes (window_without_zone in its log)"
            : finding->next_ms  ? " until "
                                : "",
            finding->next_ms ? opens : "", SLICE_ARG(telling->topic));
        break;
    }
    case APP_WHY_BATCH: {
        char until[TIMESTAMP_SIZE];
        timestamp_format(finding->next_ms, until);
        buffer_printf(
            telling->text,
            "It is due and waits until %s for other jobs of its topic, which are delivered in the same "
            "request. batch.size and batch.wait of the topic bound this wait.",
            until);
        break;
    }
    case APP_WHY_ORDER:
        if (slice_equal(finding->head, telling->job_id)) {
            buffer_append(telling->text,
                          SLICE("Its topic is delivered in order, one job at a time, and an attempt of "
                                "an earlier job with this id is still under way."));
            break;
        }
        buffer_printf(telling->text,
                      "Its topic is delivered in order, one job at a time, and job %.*s comes first. That "
                      "job must be delivered, dead or cancelled, with no attempt under way. GET .../%.*s/why "
                      "says what that job waits for.",
                      SLICE_ARG(finding->head), SLICE_ARG(finding->head));
        break;
    case APP_WHY_MAX_IN_FLIGHT:
        buffer_printf(telling->text,
                      "%lld attempts of its topic are under way, which is the limit. A higher maxInFlight of "
                      "the topic, or a higher --max-in-flight-topic, lets more attempts begin.",
                      (long long)finding->leased);
        break;
    default:
        buffer_printf(telling->text,
                      "Its topic has used up its rate for now, and %lld of the topic's jobs are due. A "
                      "higher rate of the topic lets more attempts begin.",
                      (long long)finding->ready);
    }
}

/* ---- the key of the job ---- */

static void tell_key(const struct telling *telling)
{
    const struct app_finding *finding = telling->finding;
    const struct topic_lane *lane = &finding->lane;
    struct slice key = finding->key;
    switch (lane->hold) {
    case HOLD_PAUSED:
        buffer_printf(
            telling->text,
            "Key %.*s of its topic is paused%s%s. PATCH .../keys/%.*s with {\"paused\":null} resumes "
            "it.",
            SLICE_ARG(key), finding->pause_reason[0] ? ": " : "", finding->pause_reason, SLICE_ARG(key));
        return;
    case HOLD_LINE:
        buffer_printf(telling->text,
                      "The jobs of key %.*s of its topic are delivered in order, one job at a time, and %s.",
                      SLICE_ARG(key),
                      lane->in_flight > 0 ? "one of them is under way"
                                          : "the first one waits for its next attempt");
        return;
    case HOLD_RATE:
        buffer_printf(telling->text, "Key %.*s of its topic has used up its rate for now.", SLICE_ARG(key));
        break;
    default:
        buffer_printf(telling->text, "Key %.*s of its topic has %lld of %lld attempts in flight.",
                      SLICE_ARG(key), (long long)lane->in_flight, (long long)finding->key_max_in_flight);
    }
    buffer_printf(telling->text, " PATCH .../keys/%.*s with a higher maxInFlight or rate lets more begin.",
                  SLICE_ARG(key));
}

/* ---- the limit that the topic shares ---- */

/* Adds how many topics wait before the job's topic. */
static void tell_place(const struct telling *telling)
{
    const struct app_finding *finding = telling->finding;
    long long before = finding->before;
    if (before == 0)
        buffer_append(telling->text, SLICE(" Its topic is the next one."));
    else if (before > 0)
        buffer_printf(telling->text, " %lld topic%s wait%s before its topic.", before, before == 1 ? "" : "s",
                      before == 1 ? "s" : "");
    else if (finding->limit->waiting > 1)
        buffer_printf(telling->text, " %lld topics wait for it.", (long long)finding->limit->waiting);
}

static void tell_shared_limit(const struct telling *telling)
{
    const struct app_finding *finding = telling->finding;
    const struct limit *limit = finding->limit;
    struct slice name = limit->name;
    switch (limit->hold) {
    case HOLD_PAUSED:
        buffer_printf(telling->text,
                      "The limit %.*s, which its topic shares with others, is paused%s%s. PATCH /limits/%.*s "
                      "with {\"paused\":null} resumes it.",
                      SLICE_ARG(name), finding->pause_reason[0] ? ": " : "", finding->pause_reason,
                      SLICE_ARG(name));
        return;
    case HOLD_IN_FLIGHT:
        buffer_printf(telling->text,
                      "The limit %.*s of %lld attempts, which its topic shares with others, is in use.",
                      SLICE_ARG(name), (long long)limit->max_in_flight);
        break;
    case HOLD_RATE:
        buffer_printf(telling->text,
                      "The limit %.*s, which its topic shares with others, has used up its rate for now.",
                      SLICE_ARG(name));
        break;
    default:
        buffer_printf(telling->text, "It waits for the limit %.*s, which its topic shares with others.",
                      SLICE_ARG(name));
    }
    tell_place(telling);
    buffer_printf(telling->text, " PATCH /limits/%.*s with a higher maxInFlight or rate lets more begin.",
                  SLICE_ARG(name));
}

/* ---- the receiver ---- */

static void tell_breaker(const struct telling *telling)
{
    const struct receiver_record *receiver = telling->finding->receiver;
    struct slice host = receiver_host_of(receiver->name);
    bool is_path = receiver_path_of(receiver->name).size > 0;
    buffer_printf(
        telling->text,
        "The circuit breaker of %s%.*s is open: %lld failures in a row, the last one %.*s. Its jobs wait "
        "without an attempt until a probe, which is the attempt of one of these jobs, succeeds%s. "
        "POST /receivers/%.*s/close resumes them.",
        is_path ? "the path " : "its receiver ", SLICE_ARG(receiver->name), (long long)receiver->failures,
        SLICE_ARG(receiver->cause), receiver->probe ? "; a probe is under way" : "", SLICE_ARG(host));
}

static void tell_limit(const struct telling *telling)
{
    const struct receiver_record *receiver = telling->finding->receiver;
    struct slice host = receiver_host_of(receiver->name);
    buffer_printf(telling->text,
                  "Its receiver %.*s asked for fewer attempts at once: each reactor has at most %lld "
                  "attempts in flight there. "
                  "Each delivery raises this limit by one. POST /receivers/%.*s/close removes it.",
                  SLICE_ARG(host), (long long)receiver->limit, SLICE_ARG(host));
}

/* ---- */

static void tell_finding(const struct telling *telling)
{
    switch (telling->finding->why) {
    case APP_WHY_NOT_DUE:
        buffer_append(telling->text, SLICE("It is not due yet. POST .../run makes it due now."));
        break;
    case APP_WHY_RETRY:
        tell_retry(telling);
        break;
    case APP_WHY_NOT_YET:
        tell_round(telling);
        break;
    case APP_WHY_ENCRYPTION_KEY:
        buffer_printf(
            telling->text,
            "It is due, but its record is encrypted with the key %s, which this process does not have: "
            "only processes with this key in the file of --encryption-keys deliver it.",
            telling->finding->lacks_key);
        break;
    case APP_WHY_LATER_VERSION:
        buffer_printf(telling->text,
                      "It is due, but %s a later version of duepost, or an encryption key that this process "
                      "lacks: only processes that have it deliver it.",
                      telling->finding->is_record ? "its record needs" : "the settings of its topic need");
        break;
    case APP_WHY_WAITS_FOR_WORKER:
        buffer_printf(telling->text,
                      "It is due, and waits for a worker that leases it: POST /topics/%.*s/lease.",
                      SLICE_ARG(telling->topic));
        break;
    case APP_WHY_UNDER_WAY:
        tell_attempt(telling);
        break;
    case APP_WHY_DEAD:
        tell_death(telling);
        break;
    case APP_WHY_BREAKER:
        tell_breaker(telling);
        break;
    case APP_WHY_KEY:
        tell_key(telling);
        break;
    case APP_WHY_LIMIT:
        tell_shared_limit(telling);
        break;
    case APP_WHY_RECEIVER_LIMIT:
        tell_limit(telling);
        break;
    case APP_WHY_DELIVERED:
    case APP_WHY_CANCELLED:
        tell_end(telling);
        break;
    default:
        tell_topic(telling);
    }
}

/* Adds that the topic is paused, because to run the job does not help before the topic is resumed. */
static void tell_pause(const struct telling *telling)
{
    const struct app_finding *finding = telling->finding;
    if (finding->is_topic_paused && !finding->receiver)
        buffer_printf(
            telling->text,
            " Its topic is paused, too: no attempt begins until PATCH /topics/%.*s with {\"paused\":null}.",
            SLICE_ARG(telling->topic));
}

static void on_finding(void *arg, const struct app_finding *finding)
{
    struct exchange *exchange = arg;
    char room[DETAIL_MAX];
    struct buffer detail = buffer_of(room, sizeof room);
    struct telling telling = {finding, exchange->topic, exchange->job_id, &detail};
    tell_finding(&telling);
    tell_pause(&telling);
    struct json_writer json = json_writer_to(exchange_scratch(exchange));
    json_put_object(&json);
    json_add_text(&json, "jobId", exchange->job_id);
    json_add_text(&json, "topic", exchange->topic);
    json_add_text(&json, "state", slice_of(job_state_word(finding->state)));
    json_add_text(&json, "why", slice_of(why_words[finding->why]));
    json_add_text(&json, "detail", buffer_slice(&detail));
    if (finding->next_ms)
        json_add_time(&json, "until", finding->next_ms);
    if (finding->ended_ms)
        json_add_time(&json, "endedAt", finding->ended_ms);
    json_end_object(&json);
}

HANDLER(why_handle)
{
    app_why(app_of(exchange), exchange->key, on_finding, page_end_scratch, exchange);
}
