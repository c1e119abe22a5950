#include "app/why.h"

#include <stdio.h>

#include "app/app_private.h"
#include "app/jobs.h"
#include "base/memory.h"
#include "job/attempt_line.h"
#include "job/target/receiver.h"
#include "job/topic/topic_settings.h"

struct why {
    struct app *app;
    struct slice id;
    app_finding_fn *each;
    app_verdict_fn *fn;
    void *arg;
    /* Data of the job, kept until its topic and its receiver have been read. */
    int64_t at_ms, now_ms; /* see stored_job */
    int64_t due_ms;        /* due time of its first attempt, as the client set it */
    bool has_schedule;
    struct retry_schedule schedule;            /* schedule of the job */
    char error_detail[ATTEMPT_DETAIL_MAX + 1]; /* detail of the error of its last attempt */
    int64_t wait_ms;                           /* wait after the last attempt; 0: unknown */
    bool has_url;                              /* the job has a url of its own */
    bool lacks;                                /* the job uses a feature of a later version of duepost */
    char key[LANE_KEY_MAX];                    /* key of the job, see app_finding */
    bool is_fifo;                              /* the topic is fifo, so keys do not order its jobs */
    bool has_batch;                            /* the jobs of a key are delivered together */
    bool asks_receiver;                        /* the job's receiver may hold it */
    int64_t max_in_flight;                     /* limit of the topic; 0: not set */
    char limit_name[JOB_TOPIC_MAX + 1];        /* the limit that its topic shares; empty: none */
    struct limit limit;
    bool is_head_waiting; /* the job is the first of its fifo topic, and the topic waits until at_ms */
    char reason[64];
    char pause_reason[TOPIC_PAUSE_REASON_MAX + 1];
    struct buffer head;                /* fifo topic: jobId of the job that all later jobs wait for */
    char receiver[RECEIVER_NAME_SIZE]; /* name of the receiver with its path; empty: unknown */
    bool is_path_known; /* the record of the path has been read, and the path does not hold the job; the
                           host's record is next */
    struct app_finding finding;
};

/* ---- the job and its topic ---- */

static bool needs_later_version(const struct why *why, const struct topic *topic)
{
    return why->due_ms <= why->now_ms &&
           (why->lacks || topic_settings_service(topic->settings) == TOPIC_LACKING);
}

static enum app_why version_or_key(const struct why *why)
{
    return why->finding.lacks_key[0] ? APP_WHY_ENCRYPTION_KEY : APP_WHY_LATER_VERSION;
}

/* Returns whether nothing holds the jobs of a pull topic: they wait for a worker. */
static bool waits_for_worker(const struct why *why, const struct topic *topic)
{
    bool is_full = why->max_in_flight > 0 && topic->leased >= why->max_in_flight;
    return why->finding.is_pull && topic->held_ms == TOPIC_HELD && !is_full;
}

/* Returns whether a topic whose jobs are POSTed waits for the limit that it shares. */
static bool waits_for_limit(const struct why *why, const struct topic *topic)
{
    int64_t max = why->max_in_flight > 0 ? why->max_in_flight : store_max_in_flight_topic(why->app->store);
    return why->limit_name[0] && !why->finding.is_pull && topic->held_ms == TOPIC_HELD && topic->leased < max;
}

/* Finds the reason why a job of a fifo topic waits: the topic's head (the job that all later jobs wait for),
 * a limit, or the lack of a worker. */
static enum app_why find_line(struct why *why, const struct topic *topic)
{
    struct app_finding *finding = &why->finding;
    struct slice name, job_id;
    if (topic->held_ms > 0)
        finding->next_ms = topic->held_ms;
    if (slice_equal(topic->head, why->id) && waits_for_worker(why, topic) && topic->leased == 0)
        return APP_WHY_WAITS_FOR_WORKER;
    if (slice_equal(topic->head, why->id) && waits_for_limit(why, topic) && topic->leased == 0)
        return APP_WHY_LIMIT;
    if (slice_equal(topic->head, why->id) && topic->held_ms != TOPIC_HELD) {
        why->is_head_waiting = true;
        why->at_ms = topic->held_ms;
        return topic->held_ms == TOPIC_FREE ? APP_WHY_IN_TURN
               : finding->attempts > 0      ? APP_WHY_RETRY
               : finding->rounds > 0        ? APP_WHY_NOT_YET
                                            : APP_WHY_RATE;
    }
    slice_cut(topic->head, '/', &name, &job_id);
    buffer_append(&why->head, job_id);
    finding->head = buffer_slice(&why->head);
    return APP_WHY_ORDER;
}

static enum app_why find_hold(struct why *why, const struct topic *topic)
{
    if (needs_later_version(why, topic))
        return version_or_key(why);
    if (topic->held_ms == TOPIC_FREE && topic->head.size == 0)
        return APP_WHY_IN_TURN;
    if (topic_settings_service(topic->settings) == TOPIC_UNREADABLE)
        return APP_WHY_SETTINGS;
    if (topic_settings_service(topic->settings) == TOPIC_PAUSED)
        return APP_WHY_PAUSED;
    if (topic->opens_ms > 0 || topic->opens_ms == TOPIC_HELD) {
        why->finding.next_ms = topic->opens_ms > 0 ? topic->opens_ms : 0;
        why->finding.lacks_zone = topic->lacks_zone;
        return APP_WHY_WINDOWS;
    }
    if (topic->head.size)
        return find_line(why, topic);
    if (waits_for_worker(why, topic))
        return APP_WHY_WAITS_FOR_WORKER;
    if (waits_for_limit(why, topic))
        return APP_WHY_LIMIT;
    if (topic->held_ms == TOPIC_HELD)
        return APP_WHY_MAX_IN_FLIGHT;
    why->finding.next_ms = topic->held_ms;
    return topic->is_gathering ? APP_WHY_BATCH : APP_WHY_RATE;
}

static void find_cause(struct why *why, const struct topic *topic)
{
    struct app_finding *finding = &why->finding;
    finding->ready = topic->ready;
    finding->leased = topic->leased;
    finding->is_record = why->lacks;
    switch (finding->state) {
    case JOB_STATE_DELAYED:
        if (why->lacks && needs_later_version(why, topic)) {
            finding->why = version_or_key(why);
        } else {
            finding->why = finding->attempts > 0 ? APP_WHY_RETRY
                           : finding->rounds > 0 ? APP_WHY_NOT_YET
                                                 : APP_WHY_NOT_DUE;
            finding->next_ms = why->at_ms;
        }
        finding->is_topic_paused = topic_settings_service(topic->settings) == TOPIC_PAUSED;
        break;
    case JOB_STATE_READY:
        finding->why = find_hold(why, topic);
        break;
    case JOB_STATE_LEASED:
        finding->why = APP_WHY_UNDER_WAY;
        finding->next_ms = why->at_ms;
        break;
    case JOB_STATE_DEAD:
        finding->why = APP_WHY_DEAD;
        break;
    case JOB_STATE_DELIVERED:
    case JOB_STATE_CANCELLED:
        break; /* see keep_end */
    }
}

/* ---- limit of the topic ---- */

/* Returns how many topics wait for the limit before this one, or -1 if the topic is not among the first. */
static int64_t count_before(const struct limit *limit, struct slice wanted)
{
    struct slice topic, rest = limit->topics;
    for (int64_t before = 0; rest.size; before++) {
        slice_cut(rest, ' ', &topic, &rest);
        if (slice_equal(topic, wanted))
            return before;
    }
    return -1;
}

static void give_finding(struct why *);
static void ask_further(struct why *);

/* ---- key of the job ---- */

/* Returns whether the key of the job may hold it. */
static bool may_key_hold(const struct why *why)
{
    enum app_why found = why->finding.why;
    return (why->finding.key.size || why->has_batch) && !why->is_fifo &&
           (found == APP_WHY_IN_TURN || found == APP_WHY_WAITS_FOR_WORKER);
}

/* Receives the state of the key. If it is unavailable, the finding does not say that the key may hold the
 * job. */
static void on_lane(void *arg, enum status status, const struct topic_lane *found, size_t count,
                    struct slice after)
{
    struct why *why = arg;
    struct app_finding *finding = &why->finding;
    struct topic_settings own;
    (void)after;
    if (status != STATUS_OK || count != 1) {
        ask_further(why);
        return;
    }
    finding->lane = *found;
    finding->lane.key = finding->lane.settings = SLICE("");
    if (found->hold == HOLD_NONE) {
        ask_further(why);
        return;
    }
    finding->why = found->hold == HOLD_BATCH ? APP_WHY_BATCH : APP_WHY_KEY;
    finding->next_ms = found->held_until_ms;
    why->pause_reason[0] = '\0';
    if (key_settings_read(found->settings, &own) == STATUS_OK) {
        snprintf(why->pause_reason, sizeof why->pause_reason, "%.*s", SLICE_ARG(own.pause_reason));
        if (own.per_key.max_in_flight)
            finding->key_max_in_flight = own.per_key.max_in_flight;
        topic_settings_fini(&own);
    }
    give_finding(why);
}

/* Receives the limit. If it is unavailable, the finding has only its name. */
static void on_limit(void *arg, enum status status, const struct limit *found, size_t count, bool has_more)
{
    struct why *why = arg;
    struct app_finding *finding = &why->finding;
    struct topic_settings settings;
    struct slice topic, job_id;
    (void)has_more;
    why->limit = (struct limit){.name = slice_of(why->limit_name)};
    if (status == STATUS_OK && count == 1)
        why->limit = limit_view(found);
    slice_cut(why->id, '/', &topic, &job_id);
    finding->before = count_before(&why->limit, topic);
    /* The jobs of a pull topic wait for a worker, unless the limit lets no worker lease them. A rate is that
     * of the limit if the topic is among those that wait for it. */
    if ((finding->why == APP_WHY_WAITS_FOR_WORKER && why->limit.hold == HOLD_NONE) ||
        (finding->why == APP_WHY_RATE && finding->before < 0)) {
        give_finding(why);
        return;
    }
    finding->why = APP_WHY_LIMIT;
    finding->limit = &why->limit;
    finding->next_ms = why->limit.hold == HOLD_RATE ? why->limit.next_ms : 0;
    if (limit_settings_read(why->limit.settings, &settings) == STATUS_OK) {
        snprintf(why->pause_reason, sizeof why->pause_reason, "%.*s", SLICE_ARG(settings.pause_reason));
        topic_settings_fini(&settings);
    }
    give_finding(why);
}

/* Returns whether the limit of the topic must be read. */
static bool may_limit_hold(const struct why *why)
{
    enum app_why found = why->finding.why;
    return why->limit_name[0] &&
           (found == APP_WHY_LIMIT || found == APP_WHY_RATE || found == APP_WHY_WAITS_FOR_WORKER);
}

/* ---- receiver of the job ---- */

/* Sets the name of the receiver from text, which is the job's own url or its topic's url. */
static void name_receiver(struct why *why, struct slice text)
{
    struct url url;
    const char *detail;
    if (!why->receiver[0] && url_parse(text, &url, &detail) == STATUS_OK)
        receiver_path_name(&url, why->receiver);
}

/* Returns the due time that the job would have if its receiver did not hold it, or a later time. If the
 * record does not have this time, computes it from the current retry schedule. */
static int64_t own_due_ms(const struct why *why, const struct retry_schedule *fallback)
{
    const struct retry_schedule *schedule = why->has_schedule ? &why->schedule : fallback;
    const struct attempt_result *last = &why->finding.last_attempt;
    int64_t end_ms =
        last->at_ms + (why->app->clock ? 0 : last->duration_ms); /* a manual clock stands still */
    if (why->finding.attempts == 0 && why->finding.rounds == 0)
        return why->due_ms;
    if (why->wait_ms)
        return end_ms + why->wait_ms;
    return schedule->count > 0 ? end_ms + retry_schedule_wait_ms(schedule, why->finding.attempts) : end_ms;
}

/* Returns whether the job may be held. A held job waits in its bucket with a due time a little later than its
 * own. */
static bool may_be_held(const struct why *why, const struct topic_settings *settings)
{
    enum job_state state = why->finding.state;
    const struct retry_schedule *fallback = settings->has_schedule ? &settings->schedule : why->app->schedule;
    bool is_late = state == JOB_STATE_DELAYED && own_due_ms(why, fallback) <= why->now_ms &&
                   why->at_ms <= why->now_ms + RECEIVER_ROW_MAX_MS;
    bool is_in_turn =
        state == JOB_STATE_READY && (why->finding.why == APP_WHY_IN_TURN || why->is_head_waiting);
    return !why->finding.is_pull && (is_late || is_in_turn);
}

/* Returns whether the job's receiver may hold it. */
static bool may_receiver_hold(const struct why *why, const struct topic_settings *settings)
{
    bool is_breaker_on = settings->has_breaker ? settings->is_breaker_on : why->app->is_breaker_on;
    return is_breaker_on && why->receiver[0] && may_be_held(why, settings);
}

/* A job without a url is held until its topic has one. */
static void find_url(struct why *why, const struct topic_settings *settings)
{
    if (why->has_url || settings->url.size || !may_be_held(why, settings))
        return;
    why->finding.why = APP_WHY_NO_URL;
    why->finding.next_ms = 0;
}

static void find_receiver(struct why *why, const struct receiver_record *receiver)
{
    struct app_finding *finding = &why->finding;
    if (receiver->opened_ms > 0) {
        finding->why = APP_WHY_BREAKER;
        finding->next_ms = receiver->probe_ms > why->at_ms ? receiver->probe_ms : why->at_ms;
    } else if (receiver->limit > 0) {
        finding->why = APP_WHY_RECEIVER_LIMIT;
        finding->next_ms = why->at_ms;
    } else {
        return;
    }
    finding->receiver = receiver;
}

/* ---- the steps ---- */

static void why_free(struct why *why)
{
    buffer_fini(&why->head);
    free(why);
}

static void give_finding(struct why *why)
{
    why->each(why->arg, &why->finding);
    why->fn(why->arg, &(struct app_verdict){.end = STATUS_OK});
    why_free(why);
}

static void ask_receiver(struct why *, struct slice name);

/* Receives the record of the receiver. If the receiver's shard is unavailable, the finding does not say that
 * the receiver may hold the job. */
static void on_receiver(void *arg, enum status status, const struct receiver_record *found, size_t count,
                        struct receiver_cursor next)
{
    struct why *why = arg;
    (void)next;
    bool is_last = why->is_path_known;
    if (status == STATUS_OK && count == 1 &&
        (is_last || found->opened_ms > 0)) /* a path has no limit, only a host has one */
        find_receiver(why, found);
    why->is_path_known = true;
    if (is_last || why->finding.receiver)
        give_finding(why);
    else
        ask_receiver(why, receiver_host_of(slice_of(why->receiver)));
}

/* Reads the record of the receiver with this name. As in an attempt, the record of the path is read first,
 * and then the record of the host. */
static void ask_receiver(struct why *why, struct slice name)
{
    struct store_receivers receivers = {.name = name, .max = 1};
    store_receivers(why->app->store, &receivers, on_receiver, why);
}

static void on_topic(void *arg, enum status status, const struct topic *topic, size_t count,
                     struct topic_cursor next)
{
    struct why *why = arg;
    struct topic_settings settings;
    (void)count, (void)next;
    if (status != STATUS_OK) {
        use_case_end(why->app, why->id, status, NULL, why->fn, why->arg);
        why_free(why);
        return;
    }
    if (topic_settings_read(topic->settings, &settings) != STATUS_OK)
        settings = (struct topic_settings){.is_paused = false};
    why->finding.is_pull = topic_settings_are_pull(&settings);
    why->max_in_flight = settings.max_in_flight;
    snprintf(why->limit_name, sizeof why->limit_name, "%.*s", SLICE_ARG(settings.limit));
    find_cause(why, topic);
    snprintf(why->pause_reason, sizeof why->pause_reason, "%.*s", SLICE_ARG(settings.pause_reason));
    name_receiver(why, settings.url);
    find_url(why, &settings);
    why->is_fifo = topic_settings_are_fifo(&settings);
    why->has_batch = settings.batch_size > 0;
    why->finding.key_max_in_flight = settings.per_key.max_in_flight;
    why->asks_receiver = may_receiver_hold(why, &settings);
    topic_settings_fini(&settings);
    struct slice name, job_id;
    slice_cut(why->id, '/', &name, &job_id);
    struct store_lanes lanes = {.topic = name, .is_one = true, .key = why->finding.key, .max = 1};
    if (may_key_hold(why))
        store_lanes(why->app->store, &lanes, on_lane, why);
    else
        ask_further(why);
}

/* Asks for what may hold the job although its topic and key do not. */
static void ask_further(struct why *why)
{
    if (why->asks_receiver)
        ask_receiver(why, slice_of(why->receiver));
    else if (may_limit_hold(why))
        store_limits(why->app->store, slice_of(why->limit_name), SLICE(""), 1, on_limit, why);
    else
        give_finding(why);
}

/* Stores how the job ended. The attempt that delivered a job is not in the job's record, but in the line of
 * this attempt. */
static void keep_end(struct why *why, const struct stored_job *view)
{
    struct app_finding *finding = &why->finding;
    struct slice lines = view->last_lines;
    struct attempt_line line;
    finding->ended_ms = view->at_ms;
    finding->now_ms = why->now_ms;
    finding->is_of_history = view->is_of_history;
    if (view->state == JOB_STATE_DEAD)
        return;
    finding->why = view->state == JOB_STATE_DELIVERED ? APP_WHY_DELIVERED : APP_WHY_CANCELLED;
    finding->attempts += view->state == JOB_STATE_DELIVERED;
    if (!attempt_line_take(&lines, &line))
        return;
    finding->last_attempt = line.result;
    snprintf(why->error_detail, sizeof why->error_detail, "%.*s", SLICE_ARG(line.result.detail));
    finding->last_attempt.detail = slice_of(why->error_detail);
    finding->last_attempt.text = SLICE("");
    if (view->state == JOB_STATE_DELIVERED)
        finding->attempts = line.number;
}

static void keep_job(struct why *why, const struct stored_job *view)
{
    why->finding.state = view->state;
    why->finding.pause_reason = why->pause_reason;
    why->at_ms = view->at_ms;
    why->finding.is_deferred = view->is_workers;
    struct app_finding *finding = &why->finding;
    struct job job;
    bool is_readable = app_job_read(view, &job);
    snprintf(why->reason, sizeof why->reason, "%.*s", SLICE_ARG(app_job_reason(&job, view->at_ms)));
    finding->reason = why->reason;
    finding->is_body_left_out = app_job_lacks_body(view, &job);
    if (is_readable) {
        snprintf(why->error_detail, sizeof why->error_detail, "%.*s", SLICE_ARG(job.last_attempt.detail));
        finding->attempts = job.attempts;
        finding->rounds = job.rounds;
        finding->last_attempt = job.last_attempt;
        /* Points to the copy of the detail, because the record is freed. */
        finding->last_attempt.detail = slice_of(why->error_detail);
        finding->last_attempt.text = SLICE("");
        why->due_ms = job_due_ms(&job, job.created_ms);
        why->has_schedule = job.has_schedule;
        why->schedule = job.schedule;
        why->wait_ms = job.wait_ms;
        why->lacks = job.lacks.size > 0;
        if (slice_starts_with(job.lacks, SLICE(JOB_LACKS_KEY)))
            snprintf(finding->lacks_key, sizeof finding->lacks_key, "%.*s",
                     SLICE_ARG(slice_skip(job.lacks, sizeof JOB_LACKS_KEY - 1)));
        why->has_url = job.url.size > 0;
        if (job.key.size)
            memcpy(why->key, job.key.data, job.key.size);
        finding->key = slice_from(why->key, job.key.size);
        name_receiver(why, job.url);
        job_fini(&job);
    }
    if (view->state >= JOB_STATE_DEAD)
        keep_end(why, view);
}

/* Calls back with the finding. If the job is from the history, its topic is not read, because the topic may
 * have changed since the job ended. */
static void on_found(void *arg, const struct app_verdict *verdict)
{
    struct why *why = arg;
    if (verdict->end != STATUS_OK) {
        why->fn(why->arg, verdict);
        why_free(why);
        return;
    }
    why->now_ms = app_now_ms(why->app);
    why->finding.why = APP_WHY_DEAD;
    keep_job(why, &verdict->job);
    give_finding(why);
}

static void on_read(void *arg, enum status status, const struct stored_job *stored)
{
    struct why *why = arg;
    struct slice job_id;
    struct store_topics topics = {.max = 1};
    if (status == STATUS_NOT_FOUND) {
        ended_find(why->app, why->id, on_found, why);
        return;
    }
    if (status != STATUS_OK) {
        use_case_end(why->app, why->id, status, NULL, why->fn, why->arg);
        why_free(why);
        return;
    }
    why->now_ms = stored->now_ms;
    keep_job(why, stored);
    if (stored->state > JOB_STATE_DEAD) {
        give_finding(why);
        return;
    }
    slice_cut(why->id, '/', &topics.topic, &job_id);
    store_topics(why->app->store, &topics, on_topic, why);
}

void app_why(struct app *app, struct slice id, app_finding_fn *each, app_verdict_fn *fn, void *arg)
{
    struct why *why = NEW(struct why);
    *why = (struct why){.app = app, .id = id, .each = each, .fn = fn, .arg = arg};
    buffer_init(&why->head, JOB_KEY_MAX);
    store_read_kept(app->store, id, on_read, why);
}
