#include "job/alert/alert.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/json_writer.h"
#include "base/timestamp.h"
#include "job/job.h"
#include "job/job_parse.h"

enum {
    TEXT_MAX = 2048,
    DOCUMENT_MAX = 16 * 1024,
    PPM = 1000000,
    NUMBERS = 4, /* in the text of an episode */
    MARK_SIZE = 16,
};

/* ---- the texts in Redis ---- */

static bool take_number(struct slice *text, int64_t *number)
{
    struct slice word;
    uint64_t value;
    slice_cut(*text, ' ', &word, text);
    if (!slice_to_number(word, INT64_MAX, &value))
        return false;
    *number = (int64_t)value;
    return true;
}

bool alert_episode_read(struct slice text, struct alert_episode *episode)
{
    int64_t *numbers[NUMBERS] = {&episode->since_ms, &episode->count, &episode->period,
                                 &episode->period_number};
    for (size_t i = 0; i < NUMBERS; i++)
        if (!take_number(&text, numbers[i]))
            return false;
    return true;
}

void alert_episode_write(const struct alert_episode *episode, char text[ALERT_STATE_SIZE])
{
    snprintf(text, ALERT_STATE_SIZE, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, episode->since_ms,
             episode->count, episode->period, episode->period_number);
}

void alert_name_write(const struct alert_rule *rule, struct slice subject, char name[ALERT_NAME_SIZE])
{
    snprintf(name, ALERT_NAME_SIZE, "%s %.*s %016" PRIx64, alert_kind_word(rule->kind), SLICE_ARG(subject),
             hash_long_of(rule->text));
}

bool alert_name_read(struct slice name, enum alert_kind *kind, struct slice *subject)
{
    struct slice word, rest;
    if (!slice_cut(name, ' ', &word, &rest) || !alert_kind_parse(word, kind) || rest.size <= MARK_SIZE + 1)
        return false;
    *subject = slice_from(rest.data, rest.size - MARK_SIZE - 1);
    return rest.data[subject->size] == ' ';
}

/* ---- deciding ---- */

static bool is_of_own_url(const struct alert_rule *rule, struct slice receiver)
{
    char name[RECEIVER_HOST_SIZE];
    struct url url;
    const char *ignored;
    if (url_parse(rule->url, &url, &ignored) != STATUS_OK)
        return false;
    receiver_name(&url, name);
    return slice_equal(slice_of(name), receiver_host_of(receiver));
}

/* Alerts about certificates are about receivers, too, whose names have a colon. */
enum alert_about alert_about(enum alert_kind kind, struct slice subject)
{
    if (kind == ALERT_MISSED)
        return ALERT_OF_SCHEDULE;
    if (alert_kind_is_of_topic(kind))
        return ALERT_OF_TOPIC;
    bool is_receiver = kind == ALERT_CERTIFICATE_ENDS && memchr(subject.data, ':', subject.size);
    return kind == ALERT_BREAKER_OPENED || is_receiver ? ALERT_OF_RECEIVER : ALERT_OF_SHARD;
}

bool alert_rule_fits(const struct alert_rule *rule, const struct alert_facts *facts)
{
    return alert_about(rule->kind, facts->subject) == facts->about &&
           (rule->kind != ALERT_BREAKER_OPENED || !is_of_own_url(rule, facts->subject)) &&
           (rule->kind != ALERT_CERTIFICATE_ENDS || receiver_path_of(facts->subject).size == 0);
}

/* Returns the number of jobs that died in the periods from first to last. */
static int64_t deaths_in(struct slice deaths, int64_t first, int64_t last)
{
    int64_t period, number, sum = 0;
    while (deaths.size && take_number(&deaths, &period) && take_number(&deaths, &number))
        if (period >= first && period <= last)
            sum += number;
    return sum;
}

/* Counts the dead jobs of an episode. Each period belongs to one episode, because an episode ends only after
 * a period without deaths. */
static bool has_deaths(const struct alert_facts *facts, const struct alert_episode *old,
                       struct alert_episode *next)
{
    int64_t recent = deaths_in(facts->deaths, facts->period - 1, facts->period);
    next->period = facts->period;
    next->period_number = deaths_in(facts->deaths, facts->period, facts->period);
    if (!old) {
        next->count = recent;
        return recent > 0;
    }
    int64_t again = deaths_in(facts->deaths, old->period, old->period) - old->period_number;
    next->count = old->count + (again > 0 ? again : 0);
    if (facts->period > old->period)
        next->count += deaths_in(facts->deaths, old->period + 1, facts->period);
    return recent > 0;
}

static bool is_failing(const struct alert_rule *rule, const struct alert_facts *facts, bool is_open)
{
    int64_t all = facts->delivered + facts->failed;
    bool is_above = facts->failed * PPM > rule->share_ppm * all;
    return is_above && (is_open || all >= rule->attempts);
}

static int64_t overdue_ms(const struct alert_facts *facts)
{
    return facts->due_ms >= 0 && facts->due_ms < facts->now_ms ? facts->now_ms - facts->due_ms : 0;
}

static bool is_late(const struct alert_rule *rule, int64_t age_ms, bool is_open)
{
    return age_ms >= (is_open ? rule->after_ms / 2 : rule->after_ms) && age_ms > 0;
}

static bool is_quota_used(const struct alert_facts *facts, bool is_open)
{
    if (facts->quota < 0 || facts->pending <= 0)
        return false;
    return is_open ? facts->pending * 10 >= facts->quota * 9 : facts->pending >= facts->quota;
}

enum alert_change alert_decide(const struct alert_rule *rule, const struct alert_facts *facts,
                               const struct alert_episode *old, struct alert_episode *next)
{
    bool is_open = old != NULL, is_on = false;
    *next = old ? *old : (struct alert_episode){.since_ms = facts->now_ms};
    switch (rule->kind) {
    case ALERT_DIED:
        is_on = has_deaths(facts, old, next);
        break;
    case ALERT_FAILING:
        is_on = is_failing(rule, facts, is_open);
        break;
    case ALERT_OVERDUE:
        is_on = is_late(rule, overdue_ms(facts), is_open);
        break;
    case ALERT_QUOTA_REACHED:
        is_on = is_quota_used(facts, is_open);
        break;
    case ALERT_MISSED:
        is_on = facts->missed_ms >= 0 && facts->missed_ms <= facts->now_ms;
        break;
    case ALERT_BREAKER_OPENED:
        is_on = facts->opened_ms > 0;
        break;
    case ALERT_HISTORY_BEHIND:
        is_on = is_late(rule, facts->outbox_age_ms, is_open);
        break;
    case ALERT_DURABILITY_LOST:
        is_on = facts->lacks_durability || (is_open && facts->is_durability_unknown);
        break;
    case ALERT_CERTIFICATE_ENDS:
        is_on = facts->has_certificate && facts->certificate_left_ms < rule->before_ms;
        break;
    case ALERT_KINDS:
        break;
    }
    if (is_on != is_open)
        return is_on ? ALERT_FIRED : ALERT_RESOLVED;
    bool is_counted = is_open && (next->count != old->count || next->period_number != old->period_number ||
                                  next->period != old->period);
    return is_counted ? ALERT_COUNTED : ALERT_UNCHANGED;
}

/* ---- the text for people ---- */

static void add_seconds(struct buffer *text, int64_t ms)
{
    int64_t s = ms / 1000;
    if (s >= 7200)
        buffer_printf(text, "%" PRId64 " hours", s / 3600);
    else if (s >= 120)
        buffer_printf(text, "%" PRId64 " minutes", s / 60);
    else
        buffer_printf(text, "%" PRId64 " seconds", s);
}

static void tell_deaths(const struct alert_facts *facts, const struct alert_episode *episode, bool is_over,
                        struct buffer *text)
{
    buffer_printf(text, "%" PRId64 " %s died", episode->count, episode->count == 1 ? "job" : "jobs");
    if (is_over) {
        buffer_append(text, SLICE("; no further job has died for 5 minutes"));
        return;
    }
    for (size_t i = 0; i < facts->dead_count; i++) {
        buffer_append(text, i ? SLICE(", ") : SLICE(": "));
        buffer_append(text, facts->dead[i]);
    }
    if (episode->count > (int64_t)facts->dead_count)
        buffer_append(text, SLICE(" ..."));
}

static void tell_failures(const struct alert_facts *facts, bool is_over, struct buffer *text)
{
    int64_t all = facts->delivered + facts->failed;
    buffer_append(text, is_over ? SLICE("fewer attempts fail: ") : SLICE("attempts fail: "));
    buffer_printf(text, "%" PRId64 " of %" PRId64 " in the last minutes", facts->failed, all);
}

static void tell_overdue(const struct alert_facts *facts, bool is_over, struct buffer *text)
{
    if (is_over && overdue_ms(facts) == 0) {
        buffer_append(text, SLICE("no job is overdue"));
        return;
    }
    buffer_append(text, SLICE("the oldest due job has waited for "));
    add_seconds(text, overdue_ms(facts));
}

static void add_time(struct buffer *text, int64_t time_ms)
{
    char time[TIMESTAMP_SIZE];
    timestamp_format(time_ms, time);
    buffer_append(text, slice_of(time));
}

static void tell_missed(const struct alert_facts *facts, bool is_over, struct buffer *text)
{
    if (is_over && facts->missed_ms < 0 && facts->delivered_ms == 0) {
        buffer_append(text, SLICE("the schedule is paused, deleted or over"));
    } else if (is_over) {
        buffer_append(text, facts->missed_ms < 0 ? SLICE("no further delivery is expected")
                                                 : SLICE("the schedule is in time again"));
    } else {
        buffer_append(text, SLICE("no occurrence was delivered by "));
        add_time(text, facts->missed_ms);
    }
    if (facts->delivered_ms == 0)
        return;
    buffer_append(text, SLICE("; the last delivery was at "));
    add_time(text, facts->delivered_ms);
}

static void tell_certificate(const struct alert_facts *facts, bool is_over, struct buffer *text)
{
    bool is_own = facts->about == ALERT_OF_SHARD;
    if (is_over && !is_own && !facts->has_certificate) {
        buffer_append(text, SLICE("it has shown no TLS certificate for a long time"));
    } else if (is_over) {
        buffer_append(text, is_own ? SLICE("duepost has another TLS certificate")
                                   : SLICE("it has another TLS certificate"));
    } else {
        buffer_append(text,
                      is_own ? SLICE("the TLS certificate of duepost ") : SLICE("its TLS certificate "));
        buffer_append(text, facts->certificate_left_ms <= 0 ? SLICE("has ended") : SLICE("ends in "));
        if (facts->certificate_left_ms > 0)
            add_seconds(text, facts->certificate_left_ms);
    }
}

/* Writes one line, such as "orders: 2 jobs died: 17, 18". */
static void alert_tell(const struct alert_rule *rule, const struct alert_facts *facts,
                       const struct alert_episode *episode, bool is_over, struct buffer *text)
{
    if (facts->about != ALERT_OF_SHARD)
        buffer_printf(text, "%.*s: ", SLICE_ARG(facts->subject));
    switch (rule->kind) {
    case ALERT_DIED:
        return tell_deaths(facts, episode, is_over, text);
    case ALERT_FAILING:
        return tell_failures(facts, is_over, text);
    case ALERT_OVERDUE:
        return tell_overdue(facts, is_over, text);
    case ALERT_QUOTA_REACHED:
        buffer_printf(text, "%" PRId64 " jobs wait or are in flight", facts->pending);
        if (facts->quota >= 0)
            buffer_printf(text, "; maxPending is %" PRId64, facts->quota);
        return;
    case ALERT_MISSED:
        return tell_missed(facts, is_over, text);
    case ALERT_BREAKER_OPENED:
        buffer_append(text, is_over ? SLICE("the circuit breaker is closed")
                                    : SLICE("the circuit breaker is open; last failure: "));
        if (!is_over)
            buffer_append(text, facts->cause);
        return;
    case ALERT_HISTORY_BEHIND:
        buffer_append(text, is_over ? SLICE("the history has caught up: the oldest job it lacks ended ")
                                    : SLICE("the history is behind: the oldest job it lacks ended "));
        add_seconds(text, facts->outbox_age_ms);
        buffer_append(text, SLICE(" ago"));
        return;
    case ALERT_DURABILITY_LOST:
        buffer_append(text, is_over ? SLICE("Redis has its durability again")
                                    : SLICE("Redis does not give the durability that it should"));
        return;
    case ALERT_CERTIFICATE_ENDS:
        return tell_certificate(facts, is_over, text);
    case ALERT_KINDS:
        return;
    }
}

/* ---- documents ---- */

static void add_details(struct json_writer *json, const struct alert_rule *rule,
                        const struct alert_facts *facts, const struct alert_episode *episode)
{
    switch (rule->kind) {
    case ALERT_DIED:
        json_add_number(json, "count", episode->count);
        json_add_array(json, "jobs");
        for (size_t i = 0; i < facts->dead_count; i++)
            json_put_text(json, facts->dead[i]);
        json_end_array(json);
        return;
    case ALERT_FAILING:
        json_add_number(json, "attempts", facts->delivered + facts->failed);
        json_add_number(json, "failed", facts->failed);
        return;
    case ALERT_OVERDUE:
        json_add_number(json, "overdueMs", overdue_ms(facts));
        return;
    case ALERT_QUOTA_REACHED:
        json_add_number(json, "pending", facts->pending);
        if (facts->quota >= 0)
            json_add_number(json, "maxPending", facts->quota);
        return;
    case ALERT_MISSED:
        if (facts->missed_ms >= 0)
            json_add_time(json, "expectedUntil", facts->missed_ms);
        if (facts->delivered_ms)
            json_add_time(json, "deliveredAt", facts->delivered_ms);
        return;
    case ALERT_BREAKER_OPENED:
        if (facts->opened_ms)
            json_add_text(json, "cause", facts->cause);
        return;
    case ALERT_HISTORY_BEHIND:
        json_add_number(json, "behindMs", facts->outbox_age_ms);
        return;
    default:
        return;
    }
}

/* Slack wants these three characters escaped, also in a text without markup. */
static void append_slack(struct buffer *out, struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        switch (text.data[i]) {
        case '&':
            buffer_append(out, SLICE("&amp;"));
            break;
        case '<':
            buffer_append(out, SLICE("&lt;"));
            break;
        case '>':
            buffer_append(out, SLICE("&gt;"));
            break;
        default:
            buffer_append_byte(out, text.data[i]);
        }
}

static void put_slack(struct buffer *document, const char *state, struct slice text)
{
    struct json_writer json = json_writer_to(document);
    struct buffer escaped;
    buffer_init(&escaped, 6 * TEXT_MAX);
    buffer_printf(&escaped, "duepost, %s: ", state);
    append_slack(&escaped, text);
    json_put_object(&json);
    json_add_text(&json, "text", buffer_slice(&escaped));
    json_end_object(&json);
    buffer_fini(&escaped);
}

static void begin_document(struct json_writer *json, const struct alert_rule *rule, const char *state,
                           const struct alert_facts *facts, struct slice text)
{
    static const char *const names[] = {[ALERT_OF_TOPIC] = "topic",
                                        [ALERT_OF_SCHEDULE] = "topic",
                                        [ALERT_OF_RECEIVER] = "receiver",
                                        [ALERT_OF_SHARD] = "shard"};
    struct slice subject = facts->subject, schedule_id = SLICE("");
    if (facts->about == ALERT_OF_SCHEDULE)
        slice_cut(facts->subject, '/', &subject, &schedule_id);
    json_put_object(json);
    json_add_text(json, "alert", slice_of(alert_kind_word(rule->kind)));
    json_add_text(json, "state", slice_of(state));
    json_add_text(json, "text", text);
    json_add_text(json, names[facts->about], subject);
    if (facts->about == ALERT_OF_SCHEDULE)
        json_add_text(json, "scheduleId", schedule_id);
    json_add_time(json, "at", facts->now_ms);
}

static void write_record(const struct alert_rule *rule, struct slice id, struct slice document,
                         struct buffer *record)
{
    struct job job = {.url = rule->url, .body = document, .timeout_ms = JOB_TIMEOUT_MS};
    slice_cut(id, '/', &job.topic, &job.job_id);
    job_write(&job, record);
}

void alert_job_write(const struct alert_rule *rule, const struct alert_facts *facts,
                     const struct alert_episode *episode, enum alert_change change, char id[ALERT_ID_SIZE],
                     struct buffer *record)
{
    bool is_over = change == ALERT_RESOLVED;
    const char *state = is_over ? "resolved" : "fired";
    char name[ALERT_NAME_SIZE];
    struct buffer text, document;
    buffer_init(&text, TEXT_MAX);
    buffer_init(&document, DOCUMENT_MAX);
    alert_tell(rule, facts, episode, is_over, &text);
    if (rule->is_slack) {
        put_slack(&document, state, buffer_slice(&text));
    } else {
        struct json_writer json = json_writer_to(&document);
        begin_document(&json, rule, state, facts, buffer_slice(&text));
        json_add_time(&json, "since", episode->since_ms);
        add_details(&json, rule, facts, episode);
        json_end_object(&json);
    }
    alert_name_write(rule, facts->subject, name);
    snprintf(id, ALERT_ID_SIZE, ALERT_TOPIC "/%s~%016" PRIx64 "~%" PRId64 "~%s", alert_kind_word(rule->kind),
             hash_long_of(slice_of(name)), episode->since_ms, state);
    write_record(rule, slice_of(id), buffer_slice(&document), record);
    buffer_fini(&text);
    buffer_fini(&document);
}

void alert_test_write(const struct alert_rule *rule, struct slice subject, int64_t now_ms, uint64_t number,
                      char id[ALERT_ID_SIZE], struct buffer *record)
{
    struct alert_facts facts = {.about = ALERT_OF_TOPIC, .subject = subject, .now_ms = now_ms};
    struct buffer text, document;
    buffer_init(&text, TEXT_MAX);
    buffer_init(&document, DOCUMENT_MAX);
    buffer_printf(&text, "%.*s: this tries out the alert \"%s\"; nothing has happened", SLICE_ARG(subject),
                  alert_kind_word(rule->kind));
    if (rule->is_slack) {
        put_slack(&document, "test", buffer_slice(&text));
    } else {
        struct json_writer json = json_writer_to(&document);
        begin_document(&json, rule, "test", &facts, buffer_slice(&text));
        json_end_object(&json);
    }
    snprintf(id, ALERT_ID_SIZE, ALERT_TOPIC "/%s~%016" PRIx64 "~test", alert_kind_word(rule->kind), number);
    write_record(rule, slice_of(id), buffer_slice(&document), record);
    buffer_fini(&text);
    buffer_fini(&document);
}
