/* queues.c - /v2/queues, and POST /v2/enqueue: a queue is a topic with its own settings, see place.h. */
#include "app/topics.h"
#include "base/memory.h"
#include "job/text/json.h"
#include "qstash/handler.h"
#include "qstash/messages/publish.h"
#include "qstash/topics/message_topic.h"

enum { QUEUES_MAX = 10000 /* maximum number of queues in a list */ };

/* A request about a queue. */
struct queue_call {
    struct exchange *exchange;
    struct slice topic;
    char topic_room[MESSAGE_TOPIC_SIZE], note[LIMITS_NOTE_SIZE];
    bool creates;               /* an unknown queue is created */
    bool has_paused, is_paused; /* the new value */
    int64_t parallelism;        /* new value; 0: the value does not change */
    bool is_known;              /* the queue was found */
};

/* Creates the state of a request. Returns NULL after answering 400. */
static struct queue_call *queue_call_new(struct exchange *exchange, struct slice name)
{
    struct queue_call *call = NEW(struct queue_call);
    call->exchange = exchange;
    call->topic = queue_topic(name, call->topic_room);
    exchange_keep(exchange, call, free);
    if (call->topic.size)
        return call;
    exchange_refuse(exchange, 400, "queueName must be at most %d characters of A-Z a-z 0-9 . _ -",
                    QUEUE_NAME_MAX);
    return NULL;
}

static void refuse_unknown_queue(struct exchange *exchange, struct slice topic)
{
    exchange_refuse(exchange, 404, "queue %.*s not found",
                    SLICE_ARG(slice_skip(topic, strlen(QUEUE_TOPICS))));
}

/* ---- GET ---- */

static void put_queue(struct json_writer *json, const struct topic *topic)
{
    struct limits limits = limits_read_text(true, topic->own);
    json_put_object(json);
    json_add_text(json, "name", slice_skip(topic->name, strlen(QUEUE_TOPICS)));
    json_add_number(json, "createdAt", limits.created_ms);
    json_add_number(json, "updatedAt", limits.updated_ms);
    json_add_number(json, "parallelism", limits.parallelism);
    json_add_number(json, "lag", topic->delayed + topic->ready + topic->held + topic->leased);
    json_add_bool(json, "paused", limits.is_paused);
    json_end_object(json);
}

static void on_queue(void *arg, const struct topic *topic)
{
    struct queue_call *call = arg;
    struct json_writer json = json_writer_to(exchange_scratch(call->exchange));
    call->is_known = topic->own.size > 0;
    put_queue(&json, topic);
}

static void on_queue_end(void *arg, const struct app_verdict *verdict)
{
    const struct queue_call *call = arg;
    struct exchange *exchange = call->exchange;
    if (verdict->end != STATUS_OK)
        answer_refuse_verdict(exchange, verdict);
    else if (!call->is_known)
        refuse_unknown_queue(exchange, call->topic);
    else
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&exchange->site->scratch));
}

HANDLER(queue_handle)
{
    struct queue_call *call = queue_call_new(exchange, exchange->key);
    if (call)
        app_topic(app_of(exchange), call->topic, on_queue, on_queue_end, call);
}

/* ---- GET of all ---- */

static void put_queue_of_list(struct json_writer *json, const struct topic *topic, const void *arg)
{
    (void)arg;
    put_queue(json, topic);
}

HANDLER(queues_handle)
{
    sibling_list_answer(exchange, SLICE(QUEUE_TOPICS), QUEUES_MAX, put_queue_of_list, NULL);
}

/* ---- POST, pause, resume, DELETE ---- */

static enum app_sibling_change on_queue_limits(void *arg, struct topic_settings *settings, bool has_settings,
                                               int64_t now_ms)
{
    struct queue_call *call = arg;
    struct limits limits = has_settings ? limits_read(true, settings) : limits_new(true, now_ms);
    if (!has_settings && !call->creates)
        return APP_SIBLING_MISSING;
    if (call->parallelism)
        limits.parallelism = call->parallelism;
    if (call->has_paused)
        limits.is_paused = call->is_paused;
    limits.updated_ms = now_ms;
    limits_write(&limits, call->note, settings);
    return APP_SIBLING_WRITE;
}

static void on_queue_changed(void *arg, const struct app_verdict *verdict)
{
    const struct queue_call *call = arg;
    if (verdict->end == STATUS_NOT_FOUND)
        refuse_unknown_queue(call->exchange, call->topic);
    else
        answer_done(call->exchange, verdict);
}

static void change_queue(struct queue_call *call)
{
    app_sibling_change(app_of(call->exchange), &call->exchange->caller, call->topic, on_queue_limits,
                       on_queue_changed, call);
}

static void pause_queue(struct exchange *exchange, bool is_paused)
{
    struct queue_call *call = queue_call_new(exchange, exchange->key);
    if (!call)
        return;
    call->has_paused = true;
    call->is_paused = is_paused;
    change_queue(call);
}

HANDLER(queue_pause_handle)
{
    pause_queue(exchange, true);
}

HANDLER(queue_resume_handle)
{
    pause_queue(exchange, false);
}

HANDLER(queue_delete_handle)
{
    struct queue_call *call = queue_call_new(exchange, exchange->key);
    if (call)
        app_sibling_change(app_of(exchange), &exchange->caller, call->topic, app_sibling_remove,
                           on_queue_changed, call);
}

/* ---- the body of POST ---- */

struct queue_request {
    struct slice name;
    bool has_paused, is_paused;
    int64_t parallelism; /* 0: not given */
};

/* Returns the error in the value of a member, or NULL. Other members are ignored. */
static const char *read_queue_member(struct queue_request *request, struct slice key, struct slice value,
                                     struct buffer *text)
{
    uint64_t number = 0;
    if (slice_equal(key, SLICE("\"queueName\""))) {
        request->name = json_is_text(value) ? json_text(value, text) : SLICE("");
    } else if (slice_equal(key, SLICE("\"parallelism\""))) {
        if (!slice_to_number(value, LIMITS_PARALLELISM_MAX, &number) || number == 0)
            return "parallelism must be 1 to 1000000";
        request->parallelism = (int64_t)number;
    } else if (slice_equal(key, SLICE("\"paused\""))) {
        request->has_paused = true;
        request->is_paused = slice_equal(value, SLICE("true"));
        if (!request->is_paused && !slice_equal(value, SLICE("false")))
            return "paused must be true or false";
    }
    return NULL;
}

static const char *read_queue_request(struct slice body, struct queue_request *request, struct buffer *text)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault ignored;
    struct json_cursor cursor;
    struct slice key, value;
    const char *fault = NULL;
    if (json_check(body, &limits, &ignored) != STATUS_OK || !json_open(body, &cursor) || cursor.close != '}')
        return "the body must be a JSON object";
    while (!fault && json_next_member(&cursor, &key, &value))
        fault = read_queue_member(request, key, value, text);
    return fault;
}

HANDLER(queue_put_handle)
{
    struct queue_request request = {.has_paused = false};
    char room[MESSAGE_TOPIC_SIZE];
    struct buffer text = buffer_of(room, sizeof room);
    const char *fault = read_queue_request(http_request_body(exchange->request), &request, &text);
    if (fault) {
        exchange_refuse(exchange, 400, "%s", fault);
        return;
    }
    struct queue_call *call = queue_call_new(exchange, request.name);
    if (!call)
        return;
    call->creates = true;
    call->parallelism = request.parallelism;
    call->has_paused = request.has_paused;
    call->is_paused = request.is_paused;
    change_queue(call);
}

/* ---- enqueue ---- */

HANDLER(enqueue_handle)
{
    char room[MESSAGE_TOPIC_SIZE];
    if (queue_topic(exchange->key, room).size)
        publish_in(exchange, exchange->key);
    else
        exchange_refuse(exchange, 400, "queueName must be at most %d characters of A-Z a-z 0-9 . _ -",
                        QUEUE_NAME_MAX);
}
