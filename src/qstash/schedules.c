/* schedules.c - /v2/schedules and /v2/schedules/{id}: GET, DELETE, pause and resume. schedule_put.c has
 * POST. */
#include <stdio.h>

#include "app/schedules.h"
#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/message_view.h"
#include "qstash/schedule.h"
#include "qstash/schedule_states.h"
#include "qstash/url_group.h"

enum { LIST_BYTES_MAX = 64 * 1024 * 1024 };

static void put_text_of_id(struct json_writer *json, const char *name, struct slice key)
{
    struct slice topic, id;
    slice_cut(key, '/', &topic, &id);
    json_add_text(json, name, id);
}

/* ---- a schedule as JSON ---- */

static void add_cron(struct json_writer *json, const struct recurring *recurring)
{
    char room[sizeof "CRON_TZ= " + CRON_TEXT_MAX + TIME_ZONE_NAME_MAX];
    struct buffer text = buffer_of(room, sizeof room);
    if (recurring->timezone.size)
        buffer_printf(&text, "CRON_TZ=%.*s ", SLICE_ARG(recurring->timezone));
    buffer_append(&text, recurring->cron_text);
    json_add_text(json, "cron", buffer_slice(&text));
}

static void add_times(struct json_writer *json, const struct app_schedule *schedule)
{
    if (schedule->last.outcome != FIRED_NEVER && schedule->last.time_ms)
        json_add_number(json, "lastScheduleTime", schedule->last.time_ms);
    if (schedule->time_count)
        json_add_number(json, "nextScheduleTime", schedule->times_ms[0]);
}

static struct slice destination_of(const struct job *job)
{
    return job->group.size ? slice_skip(job->group, strlen(URL_GROUPS)) : job->url;
}

/* Adds all members of a schedule except the states of its messages. */
static void add_schedule(struct json_writer *json, const struct app_schedule *schedule)
{
    const struct recurring *recurring = schedule->recurring;
    const struct job *job = schedule->job;
    struct message_view view;
    message_view_of(job, &view);
    put_text_of_id(json, "scheduleId", schedule->id);
    add_cron(json, recurring);
    json_add_number(json, "createdAt", recurring->created_ms);
    json_add_text(json, "destination", destination_of(job));
    message_view_add_content(json, &view);
    json_add_number(json, "retries", job->retry);
    if (recurring->delay_ms)
        json_add_number(json, "delay", recurring->delay_ms / 1000);
    if (job->has_timeout)
        json_add_number(json, "timeout", job->timeout_ms / 1000);
    message_view_add_settings(json, &view, MESSAGE_HEADER);
    json_add_bool(json, "isPaused", recurring->is_paused);
    add_times(json, schedule);
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
    char last[MESSAGE_KEY_SIZE]; /* topic/messageId of the last message that the schedule has sent; empty:
                                    none */
    char group[PLACE_SIZE];      /* topic of the URL group; empty: the destination is a url */
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

static void on_paused(void *arg, const struct app_schedule *schedule)
{
    (void)arg, (void)schedule;
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
    app_schedule_define(app_of(exchange), &exchange->caller, &request->call, on_paused, on_changed, request);
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

static void end_list(struct schedule_list *list)
{
    struct exchange *exchange = list->exchange;
    json_end_array(&list->json);
    if (list->text.failed)
        exchange_refuse(exchange, 503, "there is no memory for this list");
    else
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&list->text));
}

static void schedule_list_free(struct schedule_list *list)
{
    buffer_fini(&list->text);
    free(list);
}

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
    if (verdict->end == STATUS_OK)
        end_list(list);
    else
        answer_refuse_verdict(list->exchange, verdict);
    schedule_list_free(list);
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
