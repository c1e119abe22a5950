/* schedule_put.c - POST /v2/schedules/{destination}: creates a schedule, or replaces the schedule with the
 * same id.
 *
 *   1. read   reads the destination and the settings from the request
 *   2. keys   creates the keys that sign messages, unless they exist
 *   3. group  takes the settings of a URL group; ends if the group is unknown
 *   4. place  finds the topic of the messages, and creates its settings
 *   5. define defines the schedule, in one script
 *
 * A schedule of a group stores the settings that the group has now. The endpoints of the group are read
 * whenever the schedule fires (group_messages.h). */
#include <stdio.h>

#include "app/schedules.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "qstash/answer.h"
#include "qstash/destination.h"
#include "qstash/group_lookup.h"
#include "qstash/keys.h"
#include "qstash/message_job.h"
#include "qstash/place.h"
#include "qstash/schedule.h"

enum { DEFINITION_MAX = 4 * 1024, INTO_SIZE = MESSAGE_KEY_SIZE };

struct schedule_put {
    struct exchange *exchange;
    struct settings settings;
    struct destination destination;
    struct group_lookup lookup; /* used if the destination is a group */
    struct message_request request;
    struct message_texts texts;
    struct job job;
    char from[HTTP_FROM_SIZE];
    char new_id[sizeof "scd_" + JOB_ID_NEW_SIZE];
    char key[SCHEDULE_KEY_SIZE];
    char into[INTO_SIZE];
    struct buffer definition;
    struct app_schedule_call call;
};

static void schedule_put_free(void *state)
{
    struct schedule_put *put = state;
    settings_fini(&put->settings);
    group_lookup_fini(&put->lookup);
    destination_fini(&put->destination);
    message_texts_fini(&put->texts);
    buffer_fini(&put->definition);
    free(put);
}

/* ---- define ---- */

static void on_schedule(void *arg, const struct app_schedule *schedule)
{
    (void)arg, (void)schedule;
}

static void on_defined(void *arg, const struct app_verdict *verdict)
{
    const struct schedule_put *put = arg;
    struct exchange *exchange = put->exchange;
    if (verdict->end != STATUS_OK) {
        answer_refuse_verdict(exchange, verdict);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "scheduleId", put->settings.schedule_id);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

/* Writes the definition for app_schedule_define. The job in it is not used, but a definition without a job is
 * invalid. */
static void write_definition(struct schedule_put *put)
{
    struct json_writer json = json_writer_to(&put->definition);
    struct slice timezone, cron;
    schedule_cut_cron(put->settings.cron, &timezone, &cron);
    json_put_object(&json);
    json_add_text(&json, "cron", cron);
    if (timezone.size)
        json_add_text(&json, "timezone", timezone);
    json_add_object(&json, "job");
    if (put->destination.group.size)
        json_add_text(&json, "group", put->destination.group);
    else
        json_add_text(&json, "url", put->destination.url);
    json_end_object(&json);
    json_end_object(&json);
}

/* Writes the text with which the ids of all messages of the schedule begin. */
static struct slice set_into(struct schedule_put *put, struct slice topic)
{
    char room[MESSAGE_ID_MAX + 1];
    struct buffer into = buffer_of(put->into, INTO_SIZE);
    buffer_append(&into, topic);
    buffer_append_byte(&into, '/');
    buffer_append(&into, message_id_make(topic, clock_wall_ms(), room));
    return buffer_slice(&into);
}

static void define_in(struct schedule_put *put, struct slice topic)
{
    struct exchange *exchange = put->exchange;
    const char *fault =
        message_job_make(&put->request, topic, app_now_ms(app_of(exchange)), &put->texts, &put->job);
    if (fault) {
        exchange_refuse(exchange, 400, "%s", fault);
        return;
    }
    put->job.group = put->lookup.topic;
    write_definition(put);
    if (put->texts.base64.failed || put->definition.failed) {
        exchange_refuse(exchange, 503, "there is no memory for the schedule");
        return;
    }
    put->call = (struct app_schedule_call){
        .id = slice_of(put->key),
        .text = buffer_slice(&put->definition),
        .is_by_server = true,
        .job = &put->job,
        .into = set_into(put, topic),
        .delay_ms = put->settings.has_delay ? put->settings.delay_ms : 0,
    };
    app_schedule_define(app_of(exchange), &exchange->caller, &put->call, on_schedule, on_defined, put);
}

/* ---- keys, group, place ---- */

static void on_placed(void *arg, const struct app_verdict *verdict, struct slice topic)
{
    struct schedule_put *put = arg;
    if (verdict->end == STATUS_OK)
        define_in(put, topic);
    else
        answer_refuse_verdict(put->exchange, verdict);
}

static void find_place(struct schedule_put *put)
{
    put->request.data.queue = put->settings.queue;
    place_find(app_of(put->exchange), &put->exchange->caller, put->settings.queue, &put->settings.flow,
               on_placed, put);
}

static void on_group(void *arg, unsigned status, const char *error)
{
    struct schedule_put *put = arg;
    struct settings *settings = &put->settings;
    struct slice schedule_id = settings->schedule_id;
    if (status != 200) {
        exchange_refuse(put->exchange, status, "%s", error);
        return;
    }
    group_lookup_take_defaults(&put->lookup, put->exchange->request, settings);
    settings->schedule_id = schedule_id;
    settings->has_not_before = false;
    if (settings->fault[0])
        exchange_refuse(put->exchange, settings->fault_status, "%s", settings->fault);
    else
        find_place(put);
}

static void on_keys(void *arg, const struct app_verdict *verdict)
{
    struct schedule_put *put = arg;
    if (verdict->end != STATUS_OK)
        answer_refuse_verdict(put->exchange, verdict);
    else if (put->destination.group.size)
        group_lookup_start(&put->lookup, app_of(put->exchange), on_group, put);
    else
        find_place(put);
}

/* ---- read ---- */

static void take_header(void *settings, struct slice name, struct slice value)
{
    settings_take(settings, name, value);
}

static void forward_header(void *settings, struct slice name, struct slice value)
{
    settings_forward(settings, name, value);
}

/* Creates a scheduleId, unless the client has chosen one. Returns false if the chosen id cannot be used. */
static bool set_id(struct schedule_put *put)
{
    char unique[JOB_ID_NEW_SIZE];
    uint8_t random[10];
    if (put->settings.schedule_id.size == 0) {
        random_fill(random, sizeof random);
        job_id_make(clock_wall_ms(), random, unique);
        snprintf(put->new_id, sizeof put->new_id, "scd_%.*s", JOB_ID_NEW_SIZE, unique);
        put->settings.schedule_id = slice_of(put->new_id);
    }
    struct slice key = schedule_key(put->settings.schedule_id, put->key);
    if (key.size)
        put->key[key.size] = '\0';
    return key.size > 0;
}

/* Returns why the request is refused, or NULL. */
static const char *read_request(struct schedule_put *put)
{
    struct http_request *request = put->exchange->request;
    struct settings *settings = &put->settings;
    const char *fault = NULL;
    http_request_each_header(request, take_header, settings);
    bool is_read = destination_read(put->exchange->rest, &put->destination, settings, &fault);
    if (settings->forwards_all)
        http_request_each_header(request, forward_header, settings);
    if (!is_read)
        return fault;
    if (put->destination.url.size)
        settings_check_flow(settings);
    if (settings->fault[0])
        return settings->fault;
    if (settings->run.id.size)
        return "a schedule cannot send a step of a workflow run";
    if (slice_trim(settings->cron).size == 0)
        return "Upstash-Cron is required, such as */5 * * * *";
    if (!set_id(put))
        return "invalid Upstash-Schedule-Id: it must be 1 to 234 characters of A-Z a-z 0-9 . _ -";
    settings->has_not_before = false; /* ignored, because the cron expression decides the times */
    return NULL;
}

HANDLER(message_schedule_put_handle)
{
    struct schedule_put *put = NEW(struct schedule_put);
    put->exchange = exchange;
    settings_init(&put->settings);
    message_texts_init(&put->texts);
    buffer_init_fallible(&put->definition, DEFINITION_MAX + JOB_URL_MAX);
    exchange_keep(exchange, put, schedule_put_free);
    const char *fault = read_request(put);
    if (fault) {
        unsigned status = put->settings.fault_status ? put->settings.fault_status : 400;
        exchange_refuse(exchange, status, "%s", fault);
        return;
    }
    if (put->destination.group.size)
        group_lookup_init(&put->lookup, put->destination.group);
    http_request_from(exchange->request, put->from);
    put->request = (struct message_request){
        .url = put->destination.url,
        .body = http_request_body(exchange->request),
        .settings = &put->settings,
        .data = {.group = put->destination.group,
                 .schedule_id = put->settings.schedule_id,
                 .caller_ip = slice_of(put->from)},
        .caller = &exchange->caller,
    };
    keys_ensure(exchange, on_keys, put);
}
