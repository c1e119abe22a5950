#include "qstash/messages/publish.h"

#include <assert.h>
#include <stdio.h>

#include "base/encoding.h"
#include "base/memory.h"
#include "base/system.h"
#include "job/job_id.h"
#include "job/target/url.h"
#include "qstash/qstash_private.h"

enum { DESTINATION_MAX = 2 * JOB_URL_MAX, ANSWER_MAX = 512 * 1024 };

static_assert((int)URL_GROUP_ENDPOINTS_MAX <= (int)APP_SUBMISSIONS_MAX, "one script sends to a whole group");

/* ---- 1. read: the destination ---- */

static bool starts_with_nocase(struct slice text, struct slice prefix)
{
    return text.size >= prefix.size && slice_equal_nocase(slice_from(text.data, prefix.size), prefix);
}

/* Appends the url without its query. Some proxies merge slashes, so "https:/host" is read as
 * "https://host". */
static void append_base(struct buffer *text, struct slice base)
{
    static const struct slice schemes[] = {SLICE_INIT("https:/"), SLICE_INIT("http:/")};
    for (size_t i = 0; i < 2; i++) {
        if (!starts_with_nocase(base, schemes[i]))
            continue;
        buffer_append(text, slice_from(base.data, schemes[i].size));
        base = slice_skip(base, schemes[i].size);
        if (base.size == 0 || base.data[0] != '/')
            buffer_append_byte(text, '/');
        break;
    }
    buffer_append(text, base);
}

/* Takes a query parameter if it belongs to the request. Returns false if it belongs to the destination's
 * url. */
static bool take_parameter(struct slice pair, struct message_settings *settings)
{
    struct slice name, value;
    slice_cut(pair, '=', &name, &value);
    if (slice_equal(name, SLICE("qstash_token")))
        return true;
    if (!starts_with_nocase(name, SLICE("upstash-")))
        return false;
    message_settings_take_encoded(settings, name, value);
    return true;
}

/* Returns whether the url is percent-encoded as a whole, as encodeURIComponent does it. */
static bool is_encoded(struct slice base)
{
    return starts_with_nocase(base, SLICE("http%3a")) || starts_with_nocase(base, SLICE("https%3a"));
}

static void append_query(struct buffer *text, struct slice query, struct message_settings *settings)
{
    char separator =
        text->size && memchr(text->data, '?', text->size) ? '&' : '?'; /* an encoded url has its own query */
    for (bool has_more = true; has_more;) {
        struct slice pair;
        has_more = slice_cut(query, '&', &pair, &query);
        if (take_parameter(pair, settings))
            continue;
        buffer_append_byte(text, separator);
        buffer_append(text, pair);
        separator = '&';
    }
}

static const char *check_url(struct slice text)
{
    struct url url;
    const char *detail = NULL;
    return url_parse(text, &url, &detail) == STATUS_OK ? NULL : detail;
}

const char *destination_read(struct slice raw, struct destination *destination,
                             struct message_settings *settings)
{
    struct slice base, query;
    const char *fault = NULL;
    bool has_query = slice_cut(raw, '?', &base, &query), is_valid = true;
    *destination = (struct destination){.url = {NULL, 0}};
    buffer_init(&destination->text, DESTINATION_MAX);
    if (is_encoded(base))
        is_valid = percent_decode(base, '\0', &destination->text);
    else
        append_base(&destination->text, base);
    if (has_query && !destination->text.failed)
        append_query(&destination->text, query, settings);
    struct slice text = buffer_slice(&destination->text);
    if (!is_valid && !destination->text.failed)
        fault = "the destination is not valid percent-encoding";
    else if (destination->text.failed || text.size > JOB_URL_MAX)
        fault = "the destination is longer than 2048 bytes";
    else if (text.size == 0)
        fault = "a non-empty destination must be provided";
    else if (starts_with_nocase(text, SLICE("http:")) || starts_with_nocase(text, SLICE("https:")))
        fault = check_url(text);
    else if (!group_name_is_valid(text))
        fault = "the destination must be a url that begins with http:// or https://, or the name of a group";
    if (!fault && memchr(text.data, ':', text.size))
        destination->url = text;
    else if (!fault)
        destination->group = text;
    return fault;
}

void destination_fini(struct destination *destination)
{
    buffer_fini(&destination->text);
}

/* ---- a publication ---- */

/* A message that is sent. */
struct outgoing {
    struct publication *publication;
    struct message *message; /* NULL: the message belongs to a run, see of_run */
    bool is_ready;           /* the message of a group can be sent */
    unsigned status;         /* HTTP status, set when the message has been sent or refused */
    int64_t made_ms;         /* see struct message_sent */
    char id[MESSAGE_ID_MAX + 1];
    char error[ANSWER_TEXT_SIZE]; /* empty: none */
};

void publication_init(struct publication *publication, struct exchange *exchange, void (*fn)(void *arg),
                      void *arg)
{
    *publication = (struct publication){.exchange = exchange, .fn = fn, .arg = arg};
    message_settings_init(&publication->settings);
    buffer_init(&publication->answer, ANSWER_MAX);
}

void publication_begin_run(struct publication *publication)
{
    struct run_settings *run = &publication->settings.run;
    struct slice id = run->id.size ? run->id : run_id_make(clock_wall_ms(), publication->run_id);
    *run = (struct run_settings){.id = id, .url = run->url, .is_init = true, .is_without_sdk = true};
}

void publication_fini(struct publication *publication)
{
    for (size_t i = 0; i < publication->count; i++)
        if (publication->outgoing[i].message)
            message_free(publication->outgoing[i].message);
    free(publication->outgoing);
    run_message_free(publication->of_run);
    if (publication->group)
        group_lookup_fini(publication->group);
    free(publication->group);
    destination_fini(&publication->destination);
    message_settings_fini(&publication->settings);
    buffer_fini(&publication->answer);
}

/* ---- 5. answer ---- */

void publication_refuse(struct publication *publication, unsigned status, struct slice error)
{
    if (publication->run_append && !publication->of_run)
        run_append_miss(publication->run_append, status, error);
    publication->status = status;
    snprintf(publication->error, sizeof publication->error, "%.*s", SLICE_ARG(error));
    publication->fn(publication->arg);
}

void publication_refuse_verdict(struct publication *publication, const struct app_verdict *verdict)
{
    char text[ANSWER_TEXT_SIZE];
    unsigned status = answer_of_verdict(verdict, text);
    publication_refuse(publication, status, slice_of(text));
}

/* Returns NULL if a message was sent, else the message whose error the client gets. The error of a message
 * that was ready to be sent comes first, because a repeated request may succeed. If no message was ready,
 * this is the first message. */
static const struct outgoing *first_refused(const struct publication *publication)
{
    const struct outgoing *first = &publication->outgoing[0];
    for (size_t i = publication->count; i-- > 0;) {
        const struct outgoing *outgoing = &publication->outgoing[i];
        if (!outgoing->error[0])
            return NULL;
        if (outgoing->is_ready)
            first = outgoing;
    }
    return first;
}

/* Writes {"messageId":...}, or the id of the run that was created. */
static void put_sent(struct json_writer *json, const struct publication *publication, size_t index)
{
    const struct run_settings *run = &publication->settings.run;
    const struct outgoing *outgoing = &publication->outgoing[index];
    json_put_object(json);
    if (outgoing->error[0]) {
        json_add_text(json, "error", slice_of(outgoing->error));
    } else if (run->is_without_sdk) {
        json_add_text(json, "workflowRunId", run->id);
        json_add_number(json, "workflowCreatedAt", outgoing->made_ms);
    } else {
        json_add_text(json, "messageId", slice_of(outgoing->id));
        if (publication->group)
            json_add_text(json, "url", publication->group->group.endpoints[index].url);
    }
    if (outgoing->status == 202)
        json_add_bool(json, "deduplicated", true);
    json_end_object(json);
}

static void publication_end(struct publication *publication)
{
    struct json_writer json = json_writer_to(&publication->answer);
    const struct outgoing *refused = first_refused(publication);
    if (refused) {
        publication_refuse(publication, refused->status, slice_of(refused->error));
        return;
    }
    publication->status = publication->group ? 200 : publication->outgoing[0].status;
    if (publication->group)
        json_put_array(&json);
    for (size_t i = 0; i < publication->count; i++)
        put_sent(&json, publication, i);
    if (publication->group)
        json_end_array(&json);
    publication->fn(publication->arg);
}

/* ---- 4. send ---- */

/* Sends the messages of a group that are ready. A message that cannot be delivered is left out, for example
 * because the address of the endpoint's url is not allowed. If one could not be prepared because Redis did
 * not answer, sends none: the client repeats the request, and a part of its messages would come twice. */
static void send_ready(struct publication *publication)
{
    struct message *ready[URL_GROUP_ENDPOINTS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < publication->count; i++) {
        const struct outgoing *outgoing = &publication->outgoing[i];
        if (outgoing->is_ready) {
            ready[count++] = outgoing->message;
        } else if (outgoing->status >= 500) {
            publication_refuse(publication, outgoing->status, slice_of(outgoing->error));
            return;
        }
    }
    publication->is_prepared = true;
    publication->pending = count;
    if (count)
        messages_send(ready, count);
    else
        publication_end(publication);
}

static void end_one(struct publication *publication)
{
    if (--publication->pending > 0)
        return;
    if (publication->is_prepared)
        publication_end(publication);
    else
        send_ready(publication);
}

static void outgoing_on_ready(void *arg)
{
    struct outgoing *outgoing = arg;
    outgoing->is_ready = true;
    end_one(outgoing->publication);
}

static void outgoing_on_sent(void *arg, const struct message_sent *sent)
{
    struct outgoing *outgoing = arg;
    outgoing->status = sent->status;
    outgoing->made_ms = sent->made_ms;
    snprintf(outgoing->id, sizeof outgoing->id, "%.*s", SLICE_ARG(sent->id));
    snprintf(outgoing->error, sizeof outgoing->error, "%.*s", SLICE_ARG(sent->error));
    end_one(outgoing->publication);
}

static void publication_on_ready(struct publication *publication)
{
    size_t count = publication->group ? publication->group->group.count : 1;
    if (publication->settings.run.id.size && publication->destination.group.size) {
        publication_refuse(publication, 400,
                           SLICE("a message of a workflow run must have a url as its destination"));
        return;
    }
    publication->outgoing = NEW_ARRAY(struct outgoing, count);
    publication->count = count;
    publication->pending = count + 1;
    for (size_t i = 0; i < count; i++)
        publication->outgoing[i].publication = publication;
    if (!publication->group) {
        struct app *app = app_of(publication->exchange);
        struct outgoing *outgoing = &publication->outgoing[0];
        publication->is_prepared = true;
        if (publication->settings.run.id.size) {
            publication->of_run = run_message_new(app, outgoing_on_sent, outgoing);
            run_message_send(publication->of_run, &publication->request, &publication->settings,
                             publication->run_append);
        } else {
            outgoing->message = message_new(app, outgoing_on_sent, outgoing);
            message_send(outgoing->message, &publication->request);
        }
    }
    for (size_t i = 0; publication->group && i < count; i++) {
        struct outgoing *outgoing = &publication->outgoing[i];
        const struct url_group_endpoint *endpoint = &publication->group->group.endpoints[i];
        struct message_request request = publication->request;
        request.url = endpoint->url;
        request.data.group = publication->group->name;
        request.data.endpoint = endpoint->name;
        outgoing->message = message_new(app_of(publication->exchange), outgoing_on_sent, outgoing);
        message_prepare(outgoing->message, &request, outgoing_on_ready);
    }
    end_one(publication);
}

/* ---- 3. group ---- */

static void publication_on_group(void *arg, unsigned status, const char *error)
{
    struct publication *publication = arg;
    struct message_settings *settings = &publication->settings;
    if (status != 200) {
        publication_refuse(publication, status, slice_of(error));
        return;
    }
    group_lookup_take_defaults(publication->group, publication->exchange->request, settings);
    if (settings->fault[0])
        publication_refuse(publication, settings->fault_status, slice_of(settings->fault));
    else
        publication->ready(publication);
}

/* ---- 2. keys ---- */

static void publication_on_keys(void *arg, const struct app_verdict *verdict)
{
    struct publication *publication = arg;
    struct slice group = publication->destination.group;
    if (verdict->end != STATUS_OK) {
        publication_refuse_verdict(publication, verdict);
    } else if (group.size && publication->settings.run.id.size == 0) {
        publication->group = NEW(struct group_lookup);
        group_lookup_init(publication->group, group);
        group_lookup_start(publication->group, app_of(publication->exchange), publication_on_group,
                           publication);
    } else {
        publication->ready(publication);
    }
}

void publication_prepare(struct publication *publication, void (*ready)(struct publication *))
{
    publication->ready = ready;
    jwt_keys_ensure(publication->exchange, publication_on_keys, publication);
}

/* ---- 1. read ---- */

static void forward_header(void *settings, struct slice name, struct slice value)
{
    message_settings_forward(settings, name, value);
}

bool publication_read(struct publication *publication, struct slice destination)
{
    struct message_settings *settings = &publication->settings;
    const char *fault = destination_read(destination, &publication->destination, settings);
    if (settings->forwards_all)
        http_request_each_header(publication->exchange->request, forward_header, settings);
    if (fault) {
        settings->fault[0] = '\0'; /* the error of the destination comes first */
        message_settings_refuse(settings, 400, "%s", fault);
    } else if (publication->destination.url.size) {
        message_settings_check_flow(settings); /* the settings of a group may have the limits */
    }
    return !settings->fault[0];
}

void publication_send(struct publication *publication, struct slice destination, struct slice queue,
                      struct slice body)
{
    struct exchange *exchange = publication->exchange;
    struct job traced = {.topic = {NULL, 0}};
    if (!publication_read(publication, destination)) {
        publication_refuse(publication, publication->settings.fault_status,
                           slice_of(publication->settings.fault));
        return;
    }
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
    publication_prepare(publication, publication_on_ready);
}

/* ---- POST /v2/publish, /v2/enqueue and /v2/trigger ---- */

static void publish_free(void *publication)
{
    publication_fini(publication);
    free(publication);
}

static void on_published(void *arg)
{
    const struct publication *publication = arg;
    struct exchange *exchange = publication->exchange;
    if (publication->error[0]) {
        exchange_refuse(exchange, publication->status, "%s", publication->error);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    buffer_append(body, buffer_slice(&publication->answer)); /* the answer is freed with the exchange */
    exchange_answer(exchange, publication->status, NULL, 0, buffer_slice(body));
}

static void take_header(void *settings, struct slice name, struct slice value)
{
    message_settings_take(settings, name, value);
}

static void publish_or_trigger(struct exchange *exchange, struct slice queue, bool begins_run)
{
    struct publication *publication = NEW(struct publication);
    publication_init(publication, exchange, on_published, publication);
    exchange_keep(exchange, publication, publish_free);
    http_request_each_header(exchange->request, take_header, &publication->settings);
    if (begins_run)
        publication_begin_run(publication);
    publication_send(publication, exchange->rest, queue, http_request_body(exchange->request));
}

void publish_in(struct exchange *exchange, struct slice queue)
{
    publish_or_trigger(exchange, queue, false);
}

HANDLER(trigger_handle)
{
    publish_or_trigger(exchange, SLICE(""), true);
}

HANDLER(publish_handle)
{
    publish_in(exchange, SLICE(""));
}
