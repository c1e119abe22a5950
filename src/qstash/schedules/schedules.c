#include "qstash/schedules/schedules.h"

#include <stdio.h>

#include "app/groups.h"
#include "app/jobs.h"
#include "app/lists.h"
#include "app/schedules.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "job/group.h"
#include "job/text/json.h"
#include "qstash/messages/message.h"
#include "qstash/qstash_private.h"
#include "qstash/topics/topics.h"

static bool is_name(struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.data[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        if (!is_letter && !(byte >= '0' && byte <= '9') && byte != '.' && byte != '_' && byte != '-')
            return false;
    }
    return text.size > 0 && text.size <= RECURRING_ID_MAX;
}

struct slice schedule_key(struct slice schedule_id, char room[SCHEDULE_KEY_SIZE])
{
    struct buffer key = buffer_of(room, SCHEDULE_KEY_SIZE);
    if (!is_name(schedule_id) || !recurring_id_is_valid(schedule_id))
        return SLICE("");
    buffer_append(&key, SLICE(SCHEDULES_TOPIC "/"));
    buffer_append(&key, schedule_id);
    return buffer_slice(&key);
}

void schedule_cut_cron(struct slice text, struct slice *timezone, struct slice *cron)
{
    static const struct slice words[] = {SLICE_INIT("CRON_TZ="), SLICE_INIT("TZ=")};
    *timezone = (struct slice){NULL, 0};
    *cron = slice_trim(text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!slice_starts_with(*cron, words[i]))
            continue;
        slice_cut(slice_skip(*cron, words[i].size), ' ', timezone, cron);
        *cron = slice_trim(*cron);
        return;
    }
}

/* ---- states of the latest messages ---- */

/* The states of the latest messages of a schedule. The last message is read from Redis or
 * the history. Earlier messages, which have ended, are read from the history.
 *
 *     {"msg_...~20261122T221900Z":"IN_PROGRESS","msg_...~20261122T221800Z":"SUCCESS"}
 *
 * If the destination is a URL group, each occurrence has a message for each endpoint:
 *
 *     {"msg_...~20261122T221900Z~1":"IN_PROGRESS","msg_...~20261122T221900Z~2":"SUCCESS"}
 *
 * The state of a message that died or was cancelled is FAIL. Without a history, only the last message is
 * listed. If Redis no longer has this message, it was delivered or cancelled, and counts as a SUCCESS. */

enum { SCHEDULE_STATES_MAX = 10 };

struct schedule_states {
    struct app *app;
    struct json_writer json;
    size_t count;         /* messages that were written */
    bool is_last_unknown; /* Redis has no job of the last occurrence any more, so its state comes from the
                             history */
    char room[MESSAGE_KEY_SIZE];
    /* Names of the last message; for a group, of the job that was sent to the group. */
    struct slice key, topic, message_id;
    struct slice group; /* topic of the URL group; empty: the destination is a url */
    struct app_list list;
    void (*fn)(void *arg);
    void *arg;
};

struct schedule_states_of {
    struct app *app;
    const struct app_caller *caller;
    struct slice key;   /* topic/messageId of the last message; copied; empty: no message yet */
    struct slice group; /* topic of the URL group; empty: the destination is a url */
};

static struct slice word_of(enum job_state state)
{
    switch (state) {
    case JOB_STATE_DELIVERED:
        return SLICE("SUCCESS");
    case JOB_STATE_DEAD:
    case JOB_STATE_CANCELLED:
        return SLICE("FAIL");
    default:
        return SLICE("IN_PROGRESS");
    }
}

static void add_state(struct schedule_states *states, struct slice message_id, struct slice word)
{
    json_put_name_text(&states->json, message_id);
    json_put_text(&states->json, word);
    states->count++;
}

static void on_older_end(void *arg, const struct app_verdict *verdict)
{
    struct schedule_states *states = arg;
    (void)verdict; /* if the history cannot be read, only the last message is shown */
    json_end_object(&states->json);
    states->fn(states->arg);
}

/* Returns whether a message belongs to the last occurrence: its only message, or one of the messages to
 * endpoints of a group. */
static bool is_last(const struct schedule_states *states, struct slice message_id)
{
    struct slice rest = slice_skip(message_id, states->message_id.size);
    return slice_starts_with(message_id, states->message_id) &&
           (rest.size == 0 || (states->group.size && rest.data[0] == '~'));
}

static void on_older(void *arg, const struct stored_job *job)
{
    struct schedule_states *states = arg;
    struct slice topic, message_id;
    bool is_new = job_key_parse(job->id, &topic, &message_id) &&
                  (states->is_last_unknown || !is_last(states, message_id));
    if (is_new && states->count < SCHEDULE_STATES_MAX)
        add_state(states, message_id, word_of(job->state));
}

/* Returns the beginning that all ids of the schedule's messages have in common: this id without its time. */
static struct slice prefix_of(struct slice message_id)
{
    while (message_id.size && message_id.data[message_id.size - 1] != '~')
        message_id.size--;
    return message_id;
}

static void add_older(struct schedule_states *states)
{
    states->list = (struct app_list){
        .filter = {.states = 1U << JOB_STATE_DEAD | 1U << JOB_STATE_DELIVERED | 1U << JOB_STATE_CANCELLED,
                   .topic = states->topic,
                   .id_prefix = prefix_of(states->message_id)},
        .is_of_history = true,
        .is_newest_first = true,
        .max = SCHEDULE_STATES_MAX,
    };
    if (states->list.filter.id_prefix.size)
        app_list(states->app, &states->list, on_older, on_older_end, states);
    else
        on_older_end(states, NULL);
}

static void on_last(void *arg, const struct app_verdict *verdict)
{
    struct schedule_states *states = arg;
    if (verdict->end == STATUS_OK)
        add_state(states, states->message_id, word_of(verdict->job.state));
    else if (verdict->end == STATUS_NOT_FOUND)
        add_state(states, states->message_id, SLICE("SUCCESS"));
    add_older(states);
}

/* Adds the messages that the last occurrence has sent to the endpoints of a group. */
static void on_last_sent(void *arg, const struct app_verdict *verdict)
{
    struct schedule_states *states = arg;
    char room[MESSAGE_ID_MAX + 1];
    states->is_last_unknown = verdict->end != STATUS_OK;
    for (size_t i = 0; verdict->end == STATUS_OK && i < verdict->sent_count; i++) {
        const struct sent_job *job = &verdict->sent[i];
        struct buffer id = buffer_of(room, sizeof room);
        buffer_append(&id, states->message_id);
        buffer_append_byte(&id, '~');
        buffer_append(&id, job->endpoint);
        add_state(states, buffer_slice(&id), job->has_ended ? SLICE("SUCCESS") : word_of(job->state));
    }
    add_older(states);
}

/* Writes the states to out as an object, and calls fn, perhaps before the call returns. Borrows out, the
 * group and the struct until fn is called. */
static void schedule_states_add(struct schedule_states *states, const struct schedule_states_of *of,
                                struct buffer *out, void (*fn)(void *arg), void *arg)
{
    *states = (struct schedule_states){
        .app = of->app, .json = json_writer_behind(out), .group = of->group, .fn = fn, .arg = arg};
    if (of->key.size == 0 || of->key.size >= sizeof states->room) {
        fn(arg);
        return;
    }
    memcpy(states->room, of->key.data, of->key.size);
    states->key = slice_from(states->room, of->key.size);
    if (!job_key_parse(states->key, &states->topic, &states->message_id)) {
        fn(arg);
        return;
    }
    json_add_object(&states->json, "lastScheduleStates");
    if (states->group.size)
        app_sent(states->app, of->caller, states->key, states->group, on_last_sent, states);
    else
        app_read(states->app, states->key, on_last, states);
}

/* ---- requests ---- */

/* /v2/schedules and /v2/schedules/{id}: GET, DELETE, pause and resume. schedule_put.c has
 * POST. */

enum { LIST_BYTES_MAX = 64 * 1024 * 1024 };

/* ---- a schedule as JSON ---- */

/* Adds all members of a schedule except the states of its messages. */
static void add_schedule(struct json_writer *json, const struct app_schedule *schedule)
{
    const struct recurring *recurring = schedule->recurring;
    const struct job *job = schedule->job;
    struct message_view view;
    struct slice topic, id;
    message_view_of(job, &view);
    slice_cut(schedule->id, '/', &topic, &id);
    json_add_text(json, "scheduleId", id);
    char room[sizeof "CRON_TZ= " + CRON_TEXT_MAX + TIME_ZONE_NAME_MAX];
    struct buffer text = buffer_of(room, sizeof room);
    if (recurring->timezone.size)
        buffer_printf(&text, "CRON_TZ=%.*s ", SLICE_ARG(recurring->timezone));
    buffer_append(&text, recurring->cron_text);
    json_add_text(json, "cron", buffer_slice(&text));
    json_add_number(json, "createdAt", recurring->created_ms);
    json_add_text(json, "destination",
                  job->group.size ? slice_skip(job->group, strlen(URL_GROUPS)) : job->url);
    message_view_add_content(json, &view);
    json_add_number(json, "retries", job->retry);
    if (recurring->delay_ms)
        json_add_number(json, "delay", recurring->delay_ms / 1000);
    if (job->has_timeout)
        json_add_number(json, "timeout", job->timeout_ms / 1000);
    message_view_add_settings(json, &view, MESSAGE_HEADER);
    json_add_bool(json, "isPaused", recurring->is_paused);
    if (schedule->last.outcome != FIRED_NEVER && schedule->last.time_ms)
        json_add_number(json, "lastScheduleTime", schedule->last.time_ms);
    if (schedule->time_count)
        json_add_number(json, "nextScheduleTime", schedule->times_ms[0]);
    message_view_release(&view);
}

/* ---- one schedule ---- */

struct schedule_request {
    struct exchange *exchange;
    char room[SCHEDULE_KEY_SIZE];
    struct slice key;
    struct app_schedule_call call;
    /* For GET: */
    bool is_shown;
    struct buffer text;
    char last[MESSAGE_KEY_SIZE];    /* topic/messageId of the last message that the schedule has sent; empty:
                                       none */
    char group[MESSAGE_TOPIC_SIZE]; /* topic of the URL group; empty: the destination is a url */
    struct schedule_states states;
};

static void schedule_request_free(void *state)
{
    struct schedule_request *request = state;
    buffer_fini(&request->text);
    free(request);
}

static void refuse_unknown(struct exchange *exchange)
{
    exchange_refuse(exchange, 404, "schedule not found");
}

/* Creates the request for a schedule. The scheduleId is the part of the path before a query. Returns NULL
 * after refusing an invalid id. */
static struct schedule_request *schedule_request_new(struct exchange *exchange, struct slice text)
{
    struct schedule_request *request = NEW(struct schedule_request);
    struct slice id, query;
    request->exchange = exchange;
    buffer_init_fallible(&request->text, LIST_BYTES_MAX);
    exchange_keep(exchange, request, schedule_request_free);
    slice_cut(text, '?', &id, &query);
    request->key = schedule_key(id, request->room);
    if (request->key.size)
        return request;
    refuse_unknown(exchange);
    return NULL;
}

static void on_schedule(void *arg, const struct app_schedule *schedule)
{
    struct schedule_request *request = arg;
    struct json_writer json = json_writer_to(&request->text);
    request->is_shown = schedule->recurring;
    if (!request->is_shown)
        return;
    json_put_object(&json);
    add_schedule(&json, schedule);
    if (schedule->last.job.size < sizeof request->last)
        memcpy(request->last, schedule->last.job.data, schedule->last.job.size);
    snprintf(request->group, sizeof request->group, "%.*s", SLICE_ARG(schedule->job->group));
}

static void on_states(void *arg)
{
    const struct schedule_request *request = arg;
    struct exchange *exchange = request->exchange;
    struct buffer *body = exchange_scratch(exchange);
    if (request->text.failed) {
        exchange_refuse(exchange, 503, "there is no memory for the schedule");
        return;
    }
    buffer_append(body,
                  buffer_slice(&request->text)); /* a copy, because the answer frees the request's state */
    buffer_append_byte(body, '}');
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void add_states(struct schedule_request *request)
{
    struct exchange *exchange = request->exchange;
    struct schedule_states_of of = {
        .app = app_of(exchange),
        .caller = &exchange->caller,
        .key = slice_of(request->last),
        .group = slice_of(request->group),
    };
    schedule_states_add(&request->states, &of, &request->text, on_states, request);
}

static void on_schedule_end(void *arg, const struct app_verdict *verdict)
{
    struct schedule_request *request = arg;
    struct exchange *exchange = request->exchange;
    if (verdict->end == STATUS_NOT_FOUND)
        refuse_unknown(exchange);
    else if (verdict->end != STATUS_OK)
        answer_refuse_verdict(exchange, verdict);
    else if (!request->is_shown)
        exchange_refuse(exchange, 409, "the schedule cannot be read, or needs a later version of duepost");
    else
        add_states(request);
}

HANDLER(message_schedule_handle)
{
    struct schedule_request *request = schedule_request_new(exchange, exchange->rest);
    if (request)
        app_schedule_read(app_of(exchange), request->key, on_schedule, on_schedule_end, request);
}

/* ---- DELETE, pause, resume ---- */

static void on_changed(void *arg, const struct app_verdict *verdict)
{
    const struct schedule_request *request = arg;
    if (verdict->end == STATUS_NOT_FOUND)
        refuse_unknown(request->exchange);
    else
        answer_done(request->exchange, verdict);
}

HANDLER(message_schedule_delete_handle)
{
    struct schedule_request *request = schedule_request_new(exchange, exchange->rest);
    if (request)
        app_schedule_delete(app_of(exchange), &exchange->caller, request->key, SLICE(""), on_changed,
                            request);
}

static void pause_schedule(struct exchange *exchange, bool is_paused)
{
    struct schedule_request *request = schedule_request_new(exchange, exchange->key);
    if (!request)
        return;
    request->call = (struct app_schedule_call){.id = request->key,
                                               .is_patch = true,
                                               .is_by_server = true,
                                               .has_paused = true,
                                               .is_paused = is_paused};
    app_schedule_define(app_of(exchange), &exchange->caller, &request->call, NULL, on_changed, request);
}

HANDLER(message_schedule_pause_handle)
{
    pause_schedule(exchange, true);
}

HANDLER(message_schedule_resume_handle)
{
    pause_schedule(exchange, false);
}

/* ---- GET of all ---- */

struct schedule_list {
    struct exchange *exchange;
    struct recurring_cursor from;
    struct buffer text;
    struct json_writer json;
};

static void read_page(struct schedule_list *);

static void on_listed(void *arg, const struct app_schedule *schedule)
{
    struct schedule_list *list = arg;
    if (!schedule->recurring) /* a schedule that this version cannot read is left out */
        return;
    json_put_object(&list->json);
    add_schedule(&list->json, schedule);
    json_end_object(&list->json);
}

static void on_page(void *arg, const struct app_verdict *verdict)
{
    struct schedule_list *list = arg;
    struct slice cursor = verdict->page.cursor;
    if (verdict->end == STATUS_OK && cursor.size && !list->text.failed &&
        app_schedule_cursor_parse(app_of(list->exchange), cursor, &list->from)) {
        read_page(list);
        return;
    }
    json_end_array(&list->json);
    if (verdict->end != STATUS_OK)
        answer_refuse_verdict(list->exchange, verdict);
    else if (list->text.failed)
        exchange_refuse(list->exchange, 503, "there is no memory for this list");
    else
        exchange_answer(list->exchange, 200, NULL, 0, buffer_slice(&list->text));
    buffer_fini(&list->text);
    free(list);
}

static void read_page(struct schedule_list *list)
{
    struct app_schedule_list all = {
        .topic = SLICE(SCHEDULES_TOPIC), .max = APP_PAGE_MAX, .from = &list->from};
    app_schedules(app_of(list->exchange), &all, on_listed, on_page, list);
}

HANDLER(message_schedules_handle)
{
    struct schedule_list *list = NEW(struct schedule_list);
    list->exchange = exchange;
    buffer_init_fallible(&list->text, LIST_BYTES_MAX);
    list->json = json_writer_to(&list->text);
    json_put_array(&list->json);
    read_page(list);
}
