/* schedule_put.c - POST /v2/schedules/{destination}: creates a schedule, or replaces the schedule with the
 * same id.
 *
 *   1. read    reads the destination and the settings from the request, as POST /v2/publish does; publish.h
 *              has the steps up to the settings of a URL group
 *   2. topic   finds the topic of the messages, and creates its settings
 *   3. define  defines the schedule, in one script
 *
 * A schedule of a group stores the settings that the group has now. The endpoints of the group are read
 * whenever the schedule fires (topics/url_group.h). */
#include <stdio.h>

#include "app/schedules.h"
#include "base/memory.h"
#include "base/system.h"
#include "qstash/messages/message.h"
#include "qstash/messages/publish.h"
#include "qstash/qstash_private.h"
#include "qstash/schedules/schedules.h"

enum { DEFINITION_MAX = 4 * 1024, INTO_SIZE = MESSAGE_KEY_SIZE };

struct schedule_put {
    struct exchange *exchange;
    struct publication publication;
    struct slice schedule_id; /* in the request, or new_id */
    struct message_texts texts;
    struct job job;
    char new_id[sizeof "scd_" + JOB_ID_NEW_SIZE];
    char key[SCHEDULE_KEY_SIZE];
    char into[INTO_SIZE];
    struct buffer definition;
    struct app_schedule_call call;
};

static void schedule_put_free(void *state)
{
    struct schedule_put *put = state;
    publication_fini(&put->publication);
    message_texts_fini(&put->texts);
    buffer_fini(&put->definition);
    free(put);
}

/* ---- define ---- */

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
    json_add_text(&json, "scheduleId", put->schedule_id);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

/* Writes the definition for app_schedule_define. The job in it is not used, but a definition without a job is
 * invalid. */
static void write_definition(struct schedule_put *put)
{
    struct json_writer json = json_writer_to(&put->definition);
    struct slice timezone, cron;
    const struct destination *destination = &put->publication.destination;
    schedule_cut_cron(put->publication.settings.cron, &timezone, &cron);
    json_put_object(&json);
    json_add_text(&json, "cron", cron);
    if (timezone.size)
        json_add_text(&json, "timezone", timezone);
    json_add_object(&json, "job");
    if (destination->group.size)
        json_add_text(&json, "group", destination->group);
    else
        json_add_text(&json, "url", destination->url);
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

static void on_topic(void *arg, const struct app_verdict *verdict, struct slice topic)
{
    struct schedule_put *put = arg;
    struct exchange *exchange = put->exchange;
    struct publication *publication = &put->publication;
    if (verdict->end != STATUS_OK) {
        answer_refuse_verdict(exchange, verdict);
        return;
    }
    const char *fault =
        message_job_make(&publication->request, topic, app_now_ms(app_of(exchange)), &put->texts, &put->job);
    if (fault) {
        exchange_refuse(exchange, 400, "%s", fault);
        return;
    }
    if (publication->group)
        put->job.group = publication->group->topic;
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
        .delay_ms = publication->settings.has_delay ? publication->settings.delay_ms : 0,
    };
    app_schedule_define(app_of(exchange), &exchange->caller, &put->call, NULL, on_defined, put);
}

/* ---- topic ---- */

static void on_ready(struct publication *publication)
{
    struct schedule_put *put = publication->arg;
    struct exchange *exchange = put->exchange;
    struct message_settings *settings = &publication->settings;
    settings->schedule_id = put->schedule_id;
    settings->has_not_before = false; /* the settings of the group may have it */
    http_request_from(exchange->request, publication->from);
    publication->request = (struct message_request){
        .url = publication->destination.url,
        .body = http_request_body(exchange->request),
        .settings = settings,
        .data = {.group = publication->destination.group,
                 .queue = settings->queue,
                 .schedule_id = put->schedule_id,
                 .caller_ip = slice_of(publication->from)},
        .caller = &exchange->caller,
    };
    message_topic_find(app_of(exchange), &exchange->caller, settings->queue, &settings->flow, on_topic, put);
}

static void on_refused(void *arg)
{
    const struct schedule_put *put = arg;
    exchange_refuse(put->exchange, put->publication.status, "%s", put->publication.error);
}

/* ---- read ---- */

static void take_header(void *settings, struct slice name, struct slice value)
{
    message_settings_take(settings, name, value);
}

/* Creates a scheduleId, unless the client has chosen one. Returns false if the chosen id cannot be used. */
static bool set_id(struct schedule_put *put)
{
    char unique[JOB_ID_NEW_SIZE];
    uint8_t random[10];
    put->schedule_id = put->publication.settings.schedule_id;
    if (put->schedule_id.size == 0) {
        random_fill(random, sizeof random);
        job_id_make(clock_wall_ms(), random, unique);
        snprintf(put->new_id, sizeof put->new_id, "scd_%.*s", JOB_ID_NEW_SIZE, unique);
        put->schedule_id = slice_of(put->new_id);
    }
    struct slice key = schedule_key(put->schedule_id, put->key);
    if (key.size)
        put->key[key.size] = '\0';
    return key.size > 0;
}

/* Returns why the request is refused, or NULL. */
static const char *read_request(struct schedule_put *put)
{
    struct message_settings *settings = &put->publication.settings;
    http_request_each_header(put->exchange->request, take_header, settings);
    if (!publication_read(&put->publication, put->exchange->rest))
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
    publication_init(&put->publication, exchange, on_refused, put);
    message_texts_init(&put->texts);
    buffer_init_fallible(&put->definition, DEFINITION_MAX + JOB_URL_MAX);
    exchange_keep(exchange, put, schedule_put_free);
    const char *fault = read_request(put);
    unsigned fault_status = put->publication.settings.fault_status;
    if (fault)
        exchange_refuse(exchange, fault_status ? fault_status : 400, "%s", fault);
    else
        publication_prepare(&put->publication, on_ready);
}
