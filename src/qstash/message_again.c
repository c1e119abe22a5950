/* message_again.c - sends a dead message again, in these steps:
 *
 *   1. read    reads the dead message
 *   2. send    sends the new message, with its own deduplication id
 *   3. remove  removes the dead message, if it has not changed */
#include "qstash/message_again.h"

#include <stdio.h>

#include "app/jobs.h"
#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/message_settings.h"

enum { ONCE_ID_SIZE = MESSAGE_ID_MAX + 32 };

struct again {
    struct exchange *exchange;
    char room[MESSAGE_KEY_SIZE], tag[JOB_TAG_SIZE], once_id[ONCE_ID_SIZE];
    struct slice key;
    struct buffer id, record; /* id and record of the dead message */
    struct message_view view;
    bool has_view;
    struct settings settings;
    struct buffer text; /* decoded settings of callbacks, and their urls */
    struct message *message;
    struct message_sent sent;
    char sent_id[MESSAGE_ID_MAX + 1];
    message_again_fn *fn;
    void *arg;
};

static void again_end(struct again *again, const struct message_sent *sent)
{
    again->fn(again->arg, sent);
    if (again->message)
        message_free(again->message);
    if (again->has_view)
        message_view_fini(&again->view);
    settings_fini(&again->settings);
    buffer_fini(&again->id);
    buffer_fini(&again->record);
    buffer_fini(&again->text);
    free(again);
}

static void again_refuse(struct again *again, unsigned status, const char *error)
{
    again_end(again, &(struct message_sent){.status = status, .error = slice_of(error)});
}

/* ---- 3. remove ---- */

/* Reports that the dead message could not be removed, although the new message was sent. */
static void on_removed(void *arg, const struct app_verdict *verdict)
{
    struct again *again = arg;
    bool is_gone = verdict->end == STATUS_OK || verdict->end == STATUS_NOT_FOUND;
    if (is_gone)
        again_end(again, &again->sent);
    else
        again_refuse(again, 503,
                     "the message was sent again, but its dead letter may still be there: repeat "
                     "the request within ten minutes; it does not send a second message");
}

static void again_on_sent(void *arg, const struct message_sent *sent)
{
    struct again *again = arg;
    struct app *app = app_of(again->exchange);
    if (sent->error.size) {
        again_end(again, sent);
        return;
    }
    memcpy(again->sent_id, sent->id.data, sent->id.size);
    again->sent = (struct message_sent){.status = 201, .id = slice_from(again->sent_id, sent->id.size)};
    app_cancel(app, &again->exchange->caller, again->key, slice_of(again->tag), on_removed, again);
}

/* ---- 2. send ---- */

/* Takes a header of the request. If the header is a setting, it replaces the same setting of the message. */
static void take_header(void *arg, struct slice name, struct slice value)
{
    struct settings *settings = arg;
    static const struct slice label = SLICE_INIT("Upstash-Label");
    static const struct slice type = SLICE_INIT("Content-Type");
    if (slice_equal_nocase(name, type))
        return; /* this is the type of the request's own body, not of the message */
    if (slice_equal_nocase(name, label))
        settings->labels.count = 0;
    settings_take(settings, name, value);
}

static void send_again(struct again *again)
{
    const struct message_view *view = &again->view;
    struct settings *settings = &again->settings;
    message_settings_take(view, settings, &again->text);
    http_request_each_header(again->exchange->request, take_header, settings);
    if (settings->fault[0]) {
        again_refuse(again, settings->fault_status, settings->fault);
        return;
    }
    snprintf(again->once_id, sizeof again->once_id, "dead-letter/%.*s", SLICE_ARG(view->job.job_id));
    settings->deduplication_id = slice_of(again->once_id);
    struct message_request request = {
        .url = view->job.url,
        .body = view->body,
        .settings = settings,
        .data = {.group = view->data.group,
                 .endpoint = view->data.endpoint,
                 .queue = view->data.queue,
                 .schedule_id = view->data.schedule_id,
                 .caller_ip = view->data.caller_ip},
        .caller = &again->exchange->caller,
    };
    again->message = message_new(app_of(again->exchange), again_on_sent, again);
    message_send(again->message, &request);
}

/* ---- 1. read ---- */

static void again_on_read(void *arg, const struct app_verdict *verdict)
{
    struct again *again = arg;
    char text[ANSWER_TEXT_SIZE];
    bool is_dead =
        verdict->end == STATUS_OK && verdict->job.state == JOB_STATE_DEAD && !verdict->job.is_of_history;
    if (verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND &&
        verdict->end != STATUS_HISTORY_UNAVAILABLE) {
        unsigned status = answer_of_verdict(verdict, text);
        again_refuse(again, status, text);
        return;
    }
    if (is_dead) {
        job_tag_of(&verdict->job, again->tag);
        buffer_append(&again->id, verdict->job.id);
        buffer_append(&again->record, verdict->job.record);
        again->has_view =
            !again->record.failed &&
            message_view_read(buffer_slice(&again->id), buffer_slice(&again->record), &again->view);
    }
    if (again->has_view &&
        again->view.data.run.id.size == 0) /* a message of a run cannot be sent again without its run */
        send_again(again);
    else
        again_refuse(again, 404, "there is no such dead letter");
}

void message_again(struct exchange *exchange, struct slice message_id, message_again_fn *fn, void *arg)
{
    struct again *again = NEW(struct again);
    again->exchange = exchange;
    again->fn = fn;
    again->arg = arg;
    again->key = message_id_key(message_id, again->room);
    settings_init(&again->settings);
    buffer_init(&again->id, MESSAGE_KEY_SIZE);
    buffer_init_fallible(&again->record, JOB_RECORD_MAX);
    buffer_init(&again->text, MESSAGE_SETTINGS_TEXT);
    if (again->key.size)
        app_read(app_of(exchange), again->key, again_on_read, again);
    else
        again_refuse(again, 404, "there is no such dead letter");
}
