#include "qstash/publication.h"

#include "base/clock.h"
#include "qstash/answer.h"
#include "qstash/keys.h"

enum { ANSWER_MAX = 256 * 1024 };

void publication_init(struct publication *publication, struct exchange *exchange, publication_fn *fn,
                      void *arg)
{
    *publication = (struct publication){.exchange = exchange, .fn = fn, .arg = arg};
    settings_init(&publication->settings);
    buffer_init(&publication->answer, ANSWER_MAX);
}

void publication_begin_run(struct publication *publication)
{
    struct settings_run *run = &publication->settings.run;
    struct slice id = run->id.size ? run->id : run_id_make(clock_wall_ms(), publication->run_id);
    *run = (struct settings_run){.id = id, .url = run->url, .is_init = true, .is_without_sdk = true};
}

void publication_fini(struct publication *publication)
{
    if (publication->message)
        message_free(publication->message);
    group_publication_free(publication->to_group);
    run_message_free(publication->of_run);
    destination_fini(&publication->destination);
    settings_fini(&publication->settings);
    buffer_fini(&publication->answer);
}

/* ---- the end ---- */

static void publication_end(struct publication *publication, unsigned status)
{
    publication->fn(publication->arg, publication, status, buffer_slice(&publication->answer));
}

static void publication_refuse(struct publication *publication, unsigned status, struct slice error)
{
    if (publication->run_group && !publication->of_run)
        run_group_miss(publication->run_group, status, error);
    answer_write_error(&publication->answer, error);
    publication_end(publication, status);
}

/* Writes {"messageId":...}, or the id of the run that was created. */
static void put_sent(struct json_writer *json, const struct publication *publication,
                     const struct message_sent *sent)
{
    const struct settings_run *run = &publication->settings.run;
    json_put_object(json);
    if (run->is_without_sdk) {
        json_add_text(json, "workflowRunId", run->id);
        json_add_number(json, "workflowCreatedAt", sent->made_ms);
    } else {
        json_add_text(json, "messageId", sent->id);
    }
    if (sent->status == 202)
        json_add_bool(json, "deduplicated", true);
    json_end_object(json);
}

static void publication_on_sent(void *arg, const struct message_sent *sent)
{
    struct publication *publication = arg;
    struct json_writer json = json_writer_to(&publication->answer);
    if (sent->error.size) {
        publication_refuse(publication, sent->status, sent->error);
        return;
    }
    put_sent(&json, publication, sent);
    publication_end(publication, sent->status);
}

/* ---- sending ---- */

static void fill_request(struct publication *publication, struct slice queue, struct slice body)
{
    struct exchange *exchange = publication->exchange;
    struct job traced = {.topic = {NULL, 0}};
    http_request_from(exchange->request, publication->from);
    trace_context_take(exchange, &publication->trace, &traced);
    publication->request = (struct message_request){
        .url = publication->destination.url,
        .body = body,
        .settings = &publication->settings,
        .data = {.queue = queue, .caller_ip = slice_of(publication->from)},
        .caller = &exchange->caller,
        .trace_parent = traced.trace_parent,
        .trace_state = traced.trace_state,
    };
}

static void publication_on_group(void *arg, unsigned status, struct slice answer, struct slice error)
{
    struct publication *publication = arg;
    if (error.size) {
        publication_refuse(publication, status, error);
        return;
    }
    buffer_append(&publication->answer, answer);
    publication_end(publication, status);
}

static void send_message(struct publication *publication)
{
    publication->message = message_new(app_of(publication->exchange), publication_on_sent, publication);
    message_send(publication->message, &publication->request);
}

static void send_to_run(struct publication *publication)
{
    if (publication->destination.group.size) {
        publication_refuse(publication, 400,
                           SLICE("a message of a workflow run must have a url as its destination"));
        return;
    }
    publication->of_run = run_message_new(app_of(publication->exchange), publication_on_sent, publication);
    run_message_send(publication->of_run, &publication->request, &publication->settings,
                     publication->run_group);
}

static void send_to_group(struct publication *publication)
{
    publication->to_group =
        group_publication_new(publication->exchange, publication->destination.group, &publication->request,
                              &publication->settings, publication_on_group, publication);
    group_publication_start(publication->to_group);
}

/* Called when the signing keys exist. Sends the messages. */
static void publication_on_keys(void *arg, const struct app_verdict *verdict)
{
    struct publication *publication = arg;
    char text[ANSWER_TEXT_SIZE];
    if (verdict->end == STATUS_OK) {
        if (publication->settings.run.id.size)
            send_to_run(publication);
        else if (publication->destination.group.size)
            send_to_group(publication);
        else
            send_message(publication);
        return;
    }
    unsigned status = answer_of_verdict(verdict, text);
    publication_refuse(publication, status, slice_of(text));
}

static void forward_header(void *settings, struct slice name, struct slice value)
{
    settings_forward(settings, name, value);
}

void publication_send(struct publication *publication, struct slice destination, struct slice queue,
                      struct slice body)
{
    struct settings *settings = &publication->settings;
    const char *fault;
    bool is_read = destination_read(destination, &publication->destination, settings, &fault);
    if (settings->forwards_all)
        http_request_each_header(publication->exchange->request, forward_header, settings);
    if (is_read && publication->destination.url.size)
        settings_check_flow(settings); /* the settings of a group may have the limits */
    if (!is_read) {
        publication_refuse(publication, 400, slice_of(fault));
    } else if (settings->fault[0]) {
        publication_refuse(publication, settings->fault_status, slice_of(settings->fault));
    } else {
        fill_request(publication, queue, body);
        keys_ensure(publication->exchange, publication_on_keys, publication);
    }
}
