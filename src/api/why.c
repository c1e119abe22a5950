/* why.c - GET /jobs/<topic>/<jobId>/why: why it is not delivered yet, for people and programs.
 *
 * It asks for the job, for its topic, and for its receiver; what happens in between may make them disagree
 * for a moment. */
#include <stdio.h>

#include "api/handlers.h"
#include "api/problem.h"
#include "api/view.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "job/receiver.h"
#include "job/topic_settings.h"

enum { DETAIL_MAX = 1024 };

struct finding {
    const char *word;
    char detail[DETAIL_MAX]; /* why, and what would change it */
    int64_t next_ms;         /* when that is by itself; 0: unknown */
};

/* What is kept of the job until its topic, and its receiver, are known. */
struct why {
    struct exchange *exchange;
    enum job_state state;
    int64_t at_ms, now_ms; /* see store_job */
    int64_t due_ms;        /* of its first attempt, as its owner said */
    int attempts;
    bool has_schedule;
    struct retry_schedule schedule; /* its own */
    struct attempt_result last_attempt;
    char error_detail[ATTEMPT_DETAIL_MAX + 1]; /* its */
    int64_t wait_ms;                           /* after it; 0: not known */
    bool lacks;                                /* it needs a later version */
    char reason[64];                           /* of its death */
    char receiver[RECEIVER_NAME_SIZE];         /* with the path; empty: unknown */
    bool is_path_known;                        /* nothing of it holds the job */
    struct finding finding;
};

#define FIND(finding, cause, ...)                                                                            \
    do {                                                                                                     \
        (finding)->word = (cause);                                                                           \
        snprintf((finding)->detail, DETAIL_MAX, __VA_ARGS__);                                                \
    } while (0)

static void find_delay(const struct why *why, struct finding *finding)
{
    finding->next_ms = why->at_ms;
    if (why->attempts == 0)
        FIND(finding, "not_due", "It is not due yet. POST .../run makes it due now.");
    else if (why->last_attempt.error == ATTEMPT_ERROR_NONE)
        FIND(finding, "waits_for_retry",
             "Attempt %d was answered %d; it waits for the next one. POST .../run makes it due now.",
             why->attempts, why->last_attempt.status);
    else
        FIND(finding, "waits_for_retry",
             "Attempt %d failed (%s%s%s); it waits for the next one. POST .../run makes it due now.",
             why->attempts, attempt_error_word(why->last_attempt.error), why->error_detail[0] ? ": " : "",
             why->error_detail);
}

static bool needs_later_version(const struct why *why, const struct store_topic *topic)
{
    return why->due_ms <= why->now_ms &&
           (why->lacks || topic_settings_service(topic->settings) == TOPIC_LACKING);
}

static void find_lack(const struct why *why, struct finding *finding)
{
    FIND(finding, "later_version",
         "It is due, and %s needs a later version of duepost than this process is: only processes of that "
         "version "
         "deliver it.",
         why->lacks ? "its record" : "the settings of its topic");
}

static void find_hold(const struct why *why, const struct store_topic *topic, struct finding *finding)
{
    if (needs_later_version(why, topic))
        find_lack(why, finding);
    else if (topic->held_ms == STORE_TOPIC_FREE)
        FIND(finding, "in_turn",
             "It is due, and so are %lld jobs of its topic, %lld of which are under way; it is served in its "
             "turn. Is a "
             "process with free attempts there (--max-in-flight)?",
             (long long)topic->ready, (long long)topic->leased);
    else if (topic_settings_service(topic->settings) == TOPIC_UNREADABLE)
        FIND(finding, "settings",
             "The settings of its topic in Redis cannot be read. PUT /topics/%.*s replaces them, DELETE "
             "resets "
             "them.",
             SLICE_ARG(topic->name));
    else if (topic_settings_service(topic->settings) == TOPIC_PAUSED)
        FIND(finding, "paused",
             "Its topic is paused. PATCH /topics/%.*s with {\"paused\":null} lets it go on.",
             SLICE_ARG(topic->name));
    else if (topic->held_ms == STORE_TOPIC_HELD)
        FIND(finding, "max_in_flight",
             "%lld attempts of its topic are under way, as many as may be at once. A higher maxInFlight of "
             "the topic, or "
             "--max-in-flight-topic, lets more begin.",
             (long long)topic->leased);
    else {
        finding->next_ms = topic->held_ms;
        FIND(finding, "rate",
             "The rate of its topic is used up for now: %lld jobs of it are due. A higher rate of the topic "
             "lets more begin.",
             (long long)topic->ready);
    }
}

/* What brings a dead job back, which is not always a run of it as it is. */
static const char *way_back(const char *reason)
{
    static const char *const ways[][2] = {
        {"expired", "A PATCH of its expiresAt, and then POST .../run, brings it back."},
        {"no_url", "A url of its own or of its topic, and then POST .../run, brings it back."},
        {"target_refused",
         "POST .../run alone would be refused again: first PATCH its url, or have the operator allow "
         "the address (--allow-target)."},
        {"gone", "POST .../run sends it again, to a receiver that said 410: never again."},
        {"unreadable", "POST .../run cannot help: this version cannot read its record. DELETE it, or PUT the "
                       "job anew."},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(reason, ways[i][0]) == 0)
            return ways[i][1];
    return "POST .../run brings it back.";
}

static void describe_last(const struct why *why, char *text, size_t size)
{
    const struct attempt_result *last = &why->last_attempt;
    if (!last->at_ms)
        text[0] = '\0';
    else if (last->error == ATTEMPT_ERROR_NONE)
        snprintf(text, size, " after %d attempts, the last one answered %d", why->attempts, last->status);
    else
        snprintf(text, size, " after %d attempts, the last one failed: %s%s%s", why->attempts,
                 attempt_error_word(last->error), why->error_detail[0] ? ": " : "", why->error_detail);
}

static void find_death(const struct why *why, struct finding *finding)
{
    char last[ATTEMPT_DETAIL_MAX + 96];
    describe_last(why, last, sizeof last);
    FIND(finding, "dead", "It was given up (%s)%s. %s", why->reason, last, way_back(why->reason));
}

/* What else holds it, so that a run alone would not help. */
static void add_pause(const struct store_topic *topic, struct finding *finding)
{
    size_t size = strlen(finding->detail);
    if (topic_settings_service(topic->settings) == TOPIC_PAUSED)
        snprintf(
            finding->detail + size, DETAIL_MAX - size,
            " Its topic is paused, too: no attempt begins until PATCH /topics/%.*s with {\"paused\":null}.",
            SLICE_ARG(topic->name));
}

static struct finding find(const struct why *why, const struct store_topic *topic)
{
    struct finding finding = {.next_ms = 0};
    switch (why->state) {
    case JOB_STATE_DELAYED:
        if (why->lacks && needs_later_version(why, topic))
            find_lack(why, &finding);
        else
            find_delay(why, &finding);
        add_pause(topic, &finding);
        break;
    case JOB_STATE_READY:
        find_hold(why, topic, &finding);
        break;
    case JOB_STATE_LEASED:
        finding.next_ms = why->at_ms;
        FIND(&finding, "under_way",
             "An attempt is under way. Should its process be lost, another one takes over once the lease "
             "ends.");
        break;
    case JOB_STATE_DEAD:
        find_death(why, &finding);
        break;
    case JOB_STATE_DELIVERED:
    case JOB_STATE_CANCELLED:
        break; /* has left the pool, where store_read looks */
    }
    return finding;
}

/* ---- its receiver ---- */

/* text: the job's own url, or then its topic's. */
static void name_receiver(struct why *why, struct slice text)
{
    struct url url;
    const char *detail;
    if (!why->receiver[0] && url_parse(text, &url, &detail) == STATUS_OK)
        receiver_path_name(&url, why->receiver);
}

/* When it would be due, or even later, had nobody held it; where its record does not tell, by the schedule of
 * now, which may be empty since. */
static int64_t own_due_ms(const struct why *why, const struct retry_schedule *fallback)
{
    const struct retry_schedule *schedule = why->has_schedule ? &why->schedule : fallback;
    int64_t end_ms = why->last_attempt.at_ms + why->last_attempt.duration_ms;
    if (why->attempts == 0)
        return why->due_ms;
    if (why->wait_ms)
        return end_ms + why->wait_ms;
    return schedule->count > 0 ? end_ms + retry_schedule_wait_ms(schedule, why->attempts) : end_ms;
}

/* A job that is held is in its bucket, and due a little later than it was. */
static bool may_be_held(const struct why *why, const struct topic_settings *settings)
{
    const struct api_options *options = &api_of(why->exchange)->options;
    bool is_breaker_on = settings->has_breaker ? settings->is_breaker_on : options->is_breaker_on;
    const struct retry_schedule *fallback = settings->has_schedule ? &settings->schedule : options->schedule;
    bool is_late = why->state == JOB_STATE_DELAYED && own_due_ms(why, fallback) <= why->now_ms &&
                   why->at_ms <= why->now_ms + RECEIVER_ROW_MAX_MS;
    bool is_in_turn = why->state == JOB_STATE_READY && strcmp(why->finding.word, "in_turn") == 0;
    return is_breaker_on && why->receiver[0] && (is_late || is_in_turn);
}

static void find_receiver(const struct store_receiver *receiver, struct why *why)
{
    struct finding *finding = &why->finding;
    struct slice host = receiver_host_of(receiver->name);
    int64_t next_ms = receiver->probe_ms > why->at_ms ? receiver->probe_ms : why->at_ms;
    if (receiver->opened_ms > 0) {
        bool is_path = receiver_path_of(receiver->name).size > 0;
        finding->next_ms = next_ms;
        FIND(finding, "breaker",
             "The circuit breaker of %s%.*s is open: %lld failures in a row, the last one %.*s. Its jobs "
             "wait without "
             "an attempt until one of them may try it%s. POST /receivers/%.*s/close lets them go on.",
             is_path ? "the path " : "its receiver ", SLICE_ARG(receiver->name),
             (long long)receiver->failures, SLICE_ARG(receiver->cause),
             receiver->probe ? ", which is under way" : "", SLICE_ARG(host));
    } else if (receiver->limit > 0) {
        finding->next_ms = why->at_ms;
        FIND(finding, "receiver_limit",
             "Its receiver %.*s asked for fewer attempts at once: each reactor has %lld in flight there at "
             "most, and one more for each delivery. POST /receivers/%.*s/close lets all go on.",
             SLICE_ARG(host), (long long)receiver->limit, SLICE_ARG(host));
    }
}

/* ---- the answer ---- */

static void write_why(struct buffer *body, const struct why *why)
{
    const struct finding *finding = &why->finding;
    char time[TIMESTAMP_SIZE];
    buffer_append(body, SLICE("{\"jobId\":"));
    buffer_append_json(body, why->exchange->job_id);
    buffer_append(body, SLICE(",\"topic\":"));
    buffer_append_json(body, why->exchange->topic);
    buffer_printf(body, ",\"state\":\"%s\",\"why\":\"%s\",\"detail\":", job_state_word(why->state),
                  finding->word);
    buffer_append_json(body, slice_of(finding->detail));
    if (finding->next_ms) {
        timestamp_format(finding->next_ms, time);
        buffer_printf(body, ",\"until\":\"%s\"", time);
    }
    buffer_append_byte(body, '}');
}

static void answer(struct why *why)
{
    struct buffer *body = exchange_scratch(why->exchange);
    write_why(body, why);
    exchange_answer(why->exchange, 200, NULL, 0, buffer_slice(body));
    free(why);
}

static void ask_receiver(struct why *, struct slice name);

/* Its shard may be away while the job's is there: then it is not known to hold anything. */
static void on_receiver(void *arg, enum status status, const struct store_receiver *receiver, size_t count,
                        struct store_receiver_cursor next)
{
    struct why *why = arg;
    (void)next;
    bool is_known = status == STATUS_OK && count == 1;
    bool is_last = why->is_path_known;
    if (is_known)
        find_receiver(receiver, why);
    why->is_path_known = true;
    if (is_last || (is_known && receiver->opened_ms > 0))
        answer(why);
    else
        ask_receiver(why, receiver_host_of(slice_of(why->receiver)));
}

/* First its path, which an attempt asks first. */
static void ask_receiver(struct why *why, struct slice name)
{
    struct store_receivers receivers = {.name = name, .max = 1};
    store_receivers(api_of(why->exchange)->options.store, &receivers, on_receiver, why);
}

static void on_topic(void *arg, enum status status, const struct store_topic *topic, size_t count,
                     struct store_topic_cursor next)
{
    struct why *why = arg;
    struct exchange *exchange = why->exchange;
    struct topic_settings settings;
    (void)count, (void)next;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, PROBLEM_READ_ONLY);
        free(why);
        return;
    }
    why->finding = find(why, topic);
    if (topic_settings_read(topic->settings, &settings) != STATUS_OK)
        settings = (struct topic_settings){.is_paused = false};
    name_receiver(why, settings.url);
    bool may_be = may_be_held(why, &settings);
    topic_settings_fini(&settings);
    if (may_be)
        ask_receiver(why, slice_of(why->receiver));
    else
        answer(why);
}

static void keep_record(struct why *why, const struct store_job *stored)
{
    struct job job;
    bool is_readable = view_read(stored, &job);
    snprintf(why->reason, sizeof why->reason, "%.*s", SLICE_ARG(view_reason(&job)));
    if (!is_readable)
        return;
    why->due_ms = job_due_ms(&job, job.created_ms);
    why->attempts = job.attempts;
    why->has_schedule = job.has_schedule;
    why->schedule = job.schedule;
    why->last_attempt = job.last_attempt;
    why->last_attempt.detail = why->last_attempt.text = SLICE(""); /* which point into the record */
    snprintf(why->error_detail, sizeof why->error_detail, "%.*s", SLICE_ARG(job.last_attempt.detail));
    why->wait_ms = job.wait_ms;
    why->lacks = job.lacks.size > 0;
    name_receiver(why, job.url);
    job_fini(&job);
}

static void on_read(void *arg, enum status status, const struct store_job *stored)
{
    struct exchange *exchange = arg;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, PROBLEM_READ_ONLY);
        return;
    }
    struct why *why = NEW(struct why);
    *why = (struct why){
        .exchange = exchange, .state = stored->state, .at_ms = stored->at_ms, .now_ms = stored->now_ms};
    keep_record(why, stored);
    struct store_topics topics = {.topic = exchange->topic, .max = 1};
    store_topics(api_of(exchange)->options.store, &topics, on_topic, why);
}

void why_handle(struct exchange *exchange)
{
    store_read(api_of(exchange)->options.store, exchange->key, on_read, exchange);
}
