/* why.c - GET /jobs/<topic>/<jobId>/why: why it is not delivered yet, for people and programs.
 *
 * It asks for the job, then for its topic; what happens in between may make the two disagree for a moment. */
#include <stdio.h>

#include "api/handlers.h"
#include "api/problem.h"
#include "base/memory.h"
#include "job/timestamp.h"
#include "job/topic_settings.h"

static const char nothing_changed[] = "Nothing was to be changed; ask again.";

enum { DETAIL_MAX = 512 };

/* What is kept of the job until its topic is known. */
struct why {
    struct exchange *exchange;
    enum job_state state;
    int64_t at_ms; /* see store_job */
    int attempts;
    struct attempt_result last_attempt;
    char reason[64]; /* of its death */
};

struct finding {
    const char *word;
    char detail[DETAIL_MAX]; /* why, and what would change it */
    int64_t next_ms;         /* when that is by itself; 0: unknown */
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
             "Attempt %d failed (%s); it waits for the next one. POST .../run makes it due now.",
             why->attempts, attempt_error_word(why->last_attempt.error));
}

static void find_hold(const struct store_topic *topic, struct finding *finding)
{
    if (topic->held_ms == STORE_TOPIC_FREE)
        FIND(finding, "in_turn",
             "It is due, and so are %lld jobs of its topic, %lld of which are under way; it is served in its "
             "turn. Is a "
             "process with free attempts there (--max-in-flight)?",
             (long long)topic->ready, (long long)topic->leased);
    else if (topic_settings_are_paused(topic->settings))
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

static const char *way_back(const char *reason)
{
    if (strcmp(reason, "expired") == 0)
        return "A PATCH of its expiresAt, and then POST .../run,";
    if (strcmp(reason, "no_url") == 0)
        return "A url of its own or of its topic, and then POST .../run,";
    return "POST .../run";
}

static struct finding find(const struct why *why, const struct store_topic *topic)
{
    struct finding finding = {.next_ms = 0};
    switch (why->state) {
    case JOB_STATE_DELAYED:
        find_delay(why, &finding);
        break;
    case JOB_STATE_READY:
        find_hold(topic, &finding);
        break;
    case JOB_STATE_LEASED:
        finding.next_ms = why->at_ms;
        FIND(&finding, "under_way",
             "An attempt is under way. Should its process be lost, another one takes over once the lease "
             "ends.");
        break;
    case JOB_STATE_DEAD:
        FIND(&finding, "dead", "It was given up (%s). %s brings it back.", why->reason,
             way_back(why->reason));
        break;
    }
    return finding;
}

static void write_why(struct buffer *body, const struct why *why, const struct finding *finding)
{
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

static void on_topic(void *arg, enum status status, const struct store_topic *topic, size_t count,
                     bool is_partial, struct store_topic_cursor next)
{
    struct why *why = arg;
    struct exchange *exchange = why->exchange;
    (void)count, (void)is_partial, (void)next;
    if (status == STATUS_OK) {
        struct finding finding = find(why, topic);
        struct buffer *body = exchange_scratch(exchange);
        write_why(body, why, &finding);
        exchange_answer_json(exchange, 200, NULL, 0, buffer_slice(body));
    } else {
        problem_answer_status(exchange, status, nothing_changed);
    }
    free(why);
}

/* Of a record that somebody else wrote nothing is known. */
static void keep_record(struct why *why, const struct store_job *stored)
{
    struct job job;
    if (job_read(stored->id, stored->record, &job) != STATUS_OK) {
        snprintf(why->reason, sizeof why->reason, "unreadable");
        return;
    }
    why->attempts = job.attempts;
    why->last_attempt = job.last_attempt;
    snprintf(why->reason, sizeof why->reason, "%.*s",
             SLICE_ARG(job.reason.size ? job.reason : SLICE("consumer_lost")));
    job_fini(&job);
}

static void on_read(void *arg, enum status status, const struct store_job *stored)
{
    struct exchange *exchange = arg;
    if (status != STATUS_OK) {
        problem_answer_status(exchange, status, nothing_changed);
        return;
    }
    struct why *why = NEW(struct why);
    *why = (struct why){.exchange = exchange, .state = stored->state, .at_ms = stored->at_ms};
    keep_record(why, stored);
    struct store_topics topics = {.topic = exchange->topic, .max = 1};
    store_topics(exchange->api->options.store, &topics, on_topic, why);
}

void why_handle(struct exchange *exchange)
{
    store_read(exchange->api->options.store, exchange->key, on_read, exchange);
}
