/* limits.c - /v2/queues, POST /v2/enqueue, /v2/flowControl and /v2/globalParallelism. A queue and a
 * flow-control key are topics with limits of their own, see topics.h. */
#include "app/overview.h"
#include "app/topics.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "job/text/json.h"
#include "qstash/messages/publish.h"
#include "qstash/qstash_private.h"
#include "qstash/topics/topics.h"

enum { LIST_MAX = 10000 /* maximum number of queues or of keys in a list */, QUERY_MAX = 512 };

struct limits_call;
typedef void limits_change_fn(struct limits_call *, struct limits *, int64_t now_ms);

/* A request about a queue or a key. */
struct limits_call {
    struct exchange *exchange;
    bool is_queue;
    struct slice topic;
    char topic_room[MESSAGE_TOPIC_SIZE], note[LIMITS_NOTE_SIZE];
    limits_change_fn *change;
    bool creates;  /* creates the limits of an unknown topic; false: an unknown topic is an error */
    bool is_known; /* the topic was found */
    /* POST /v2/queues: the new values */
    bool has_paused, is_paused;
    int64_t parallelism; /* 0: the value does not change */
    /* pin and unpin of a key */
    struct flow_control pin;
    bool unpins_parallelism, unpins_rate;
};

static void refuse_queue_name(struct exchange *exchange)
{
    exchange_refuse(exchange, 400, "queueName must be at most %d characters of A-Z a-z 0-9 . _ -",
                    QUEUE_NAME_MAX);
}

/* Creates the state of a request. Returns NULL after answering 400. */
static struct limits_call *limits_call_new(struct exchange *exchange, bool is_queue, struct slice name)
{
    struct limits_call *call = NEW(struct limits_call);
    call->exchange = exchange;
    call->is_queue = is_queue;
    call->topic = is_queue ? queue_topic(name, call->topic_room) : flow_topic(name, call->topic_room);
    exchange_keep(exchange, call, free);
    if (call->topic.size)
        return call;
    if (is_queue)
        refuse_queue_name(exchange);
    else
        exchange_refuse(exchange, 400, "the flow control key must be at most 90 bytes");
    return NULL;
}

static void refuse_unknown(const struct limits_call *call)
{
    if (call->is_queue)
        exchange_refuse(call->exchange, 404, "queue %.*s not found",
                        SLICE_ARG(slice_skip(call->topic, strlen(QUEUE_TOPICS))));
    else
        exchange_refuse(call->exchange, 404, "flow control key %.*s not found",
                        SLICE_ARG(call->exchange->key));
}

/* ---- GET of one ---- */

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

static void put_flow(struct json_writer *json, const struct topic *topic)
{
    char room[MESSAGE_TOPIC_SIZE];
    struct limits limits = limits_read_text(false, topic->own);
    json_put_object(json);
    json_add_text(json, "flowControlKey", flow_topic_key(topic->name, room));
    json_add_number(json, "waitListSize", topic->ready + topic->held);
    json_add_number(json, "parallelismMax", limits.parallelism);
    json_add_number(json, "parallelismCount", topic->leased);
    json_add_number(json, "rateMax", limits.rate);
    json_add_number(json, "rateCount", topic->window.attempts);
    json_add_number(json, "ratePeriod", limits.period_s);
    json_add_number(json, "ratePeriodStart", topic->window.began_ms / 1000);
    json_add_bool(json, "isPaused", limits.is_paused);
    json_add_bool(json, "isPinnedParallelism", limits.is_pinned_parallelism);
    json_add_bool(json, "isPinnedRate", limits.is_pinned_rate);
    json_end_object(json);
}

static void on_limited_topic(void *arg, const struct topic *topic)
{
    struct limits_call *call = arg;
    struct json_writer json = json_writer_to(exchange_scratch(call->exchange));
    call->is_known = topic->own.size > 0;
    if (call->is_queue)
        put_queue(&json, topic);
    else
        put_flow(&json, topic);
}

static void on_limited_topic_end(void *arg, const struct app_verdict *verdict)
{
    const struct limits_call *call = arg;
    struct exchange *exchange = call->exchange;
    if (verdict->end != STATUS_OK)
        answer_refuse_verdict(exchange, verdict);
    else if (!call->is_known)
        refuse_unknown(call);
    else
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&exchange->site->scratch));
}

static void answer_limits(struct exchange *exchange, bool is_queue)
{
    struct limits_call *call = limits_call_new(exchange, is_queue, exchange->key);
    if (call)
        app_topic(app_of(exchange), call->topic, on_limited_topic, on_limited_topic_end, call);
}

HANDLER(queue_handle)
{
    answer_limits(exchange, true);
}

HANDLER(flow_handle)
{
    answer_limits(exchange, false);
}

/* ---- GET of all ---- */

static void put_queue_of_list(struct json_writer *json, const struct topic *topic, const void *arg)
{
    (void)arg;
    put_queue(json, topic);
}

HANDLER(queues_handle)
{
    sibling_list_answer(exchange, SLICE(QUEUE_TOPICS), LIST_MAX, put_queue_of_list, NULL);
}

static void put_found_flow(struct json_writer *json, const struct topic *topic, const void *search)
{
    const struct slice *wanted = search;
    char room[MESSAGE_TOPIC_SIZE];
    struct slice key = flow_topic_key(topic->name, room);
    if (wanted->size == 0 || (key.size && memmem(key.data, key.size, wanted->data, wanted->size)))
        put_flow(json, topic);
}

/* The query of a list. */
struct flow_search {
    struct slice text;
    char room[QUERY_MAX];
};

static bool read_search(struct flow_search *search, struct slice query)
{
    struct slice pair, name, value;
    struct buffer text = buffer_of(search->room, QUERY_MAX);
    while (query.size) {
        slice_cut(query, '&', &pair, &query);
        slice_cut(pair, '=', &name, &value);
        if (!slice_equal(name, SLICE("search")))
            continue;
        buffer_clear(&text);
        if (!percent_decode_form(value, &text))
            return false;
        search->text = buffer_slice(&text);
    }
    return true;
}

HANDLER(flows_handle)
{
    struct flow_search *search = NEW(struct flow_search);
    exchange_keep(exchange, search, free);
    if (read_search(search, exchange->query))
        sibling_list_answer(exchange, SLICE(FLOW_TOPICS), LIST_MAX, put_found_flow, &search->text);
    else
        exchange_refuse(exchange, 400, "search: is not valid percent-encoding");
}

/* ---- changes ---- */

static enum app_sibling_change on_limits(void *arg, struct topic_settings *settings, bool has_settings,
                                         int64_t now_ms)
{
    struct limits_call *call = arg;
    struct limits limits =
        has_settings ? limits_read(call->is_queue, settings) : limits_new(call->is_queue, now_ms);
    if (!has_settings && !call->creates)
        return APP_SIBLING_MISSING;
    call->change(call, &limits, now_ms);
    limits.updated_ms = now_ms;
    limits_write(&limits, call->note, settings);
    return APP_SIBLING_WRITE;
}

static void on_limits_changed(void *arg, const struct app_verdict *verdict)
{
    const struct limits_call *call = arg;
    if (verdict->end == STATUS_NOT_FOUND)
        refuse_unknown(call);
    else
        answer_done(call->exchange, verdict);
}

static void change_limits(struct limits_call *call, limits_change_fn *change, bool creates)
{
    call->change = change;
    call->creates = creates;
    app_sibling_change(app_of(call->exchange), &call->exchange->caller, call->topic, on_limits,
                       on_limits_changed, call);
}

/* Changes the limits of the queue or the key in the path. */
static void change_named(struct exchange *exchange, bool is_queue, limits_change_fn *change, bool creates)
{
    struct limits_call *call = limits_call_new(exchange, is_queue, exchange->key);
    if (call)
        change_limits(call, change, creates);
}

static void pause_topic(struct limits_call *call, struct limits *limits, int64_t now_ms)
{
    (void)call, (void)now_ms;
    limits->is_paused = true;
}

static void resume_topic(struct limits_call *call, struct limits *limits, int64_t now_ms)
{
    (void)call, (void)now_ms;
    limits->is_paused = false;
}

HANDLER(queue_pause_handle)
{
    change_named(exchange, true, pause_topic, false);
}

HANDLER(queue_resume_handle)
{
    change_named(exchange, true, resume_topic, false);
}

HANDLER(queue_delete_handle)
{
    struct limits_call *call = limits_call_new(exchange, true, exchange->key);
    if (call)
        app_sibling_change(app_of(exchange), &exchange->caller, call->topic, app_sibling_remove,
                           on_limits_changed, call);
}

HANDLER(flow_pause_handle)
{
    change_named(exchange, false, pause_topic, true);
}

HANDLER(flow_resume_handle)
{
    change_named(exchange, false, resume_topic, false);
}

/* Resets the rate, so that the attempts of the current window no longer count. */
static void reset_rate(struct limits_call *call, struct limits *limits, int64_t now_ms)
{
    (void)call;
    limits->since_ms = now_ms + 1;
}

HANDLER(flow_reset_rate_handle)
{
    change_named(exchange, false, reset_rate, false);
}

/* ---- POST /v2/queues ---- */

/* Returns the error in the value of a member, or NULL. Other members are ignored. */
static const char *read_queue_member(struct limits_call *request, struct slice *queue, struct slice key,
                                     struct slice value, struct buffer *text)
{
    uint64_t number = 0;
    if (slice_equal(key, SLICE("\"queueName\""))) {
        *queue = json_is_text(value) ? json_text(value, text) : SLICE("");
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

static void set_queue(struct limits_call *call, struct limits *limits, int64_t now_ms)
{
    (void)now_ms;
    if (call->parallelism)
        limits->parallelism = call->parallelism;
    if (call->has_paused)
        limits->is_paused = call->is_paused;
}

HANDLER(queue_put_handle)
{
    static const struct json_limits json_limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct slice body = http_request_body(exchange->request), queue = SLICE(""), key, value;
    struct limits_call request = {.is_queue = true};
    char room[MESSAGE_TOPIC_SIZE];
    struct buffer text = buffer_of(room, sizeof room);
    struct json_fault ignored;
    struct json_cursor cursor;
    const char *fault = NULL;
    if (json_check(body, &json_limits, &ignored) != STATUS_OK || !json_open(body, &cursor) ||
        cursor.close != '}')
        fault = "the body must be a JSON object";
    while (!fault && json_next_member(&cursor, &key, &value))
        fault = read_queue_member(&request, &queue, key, value, &text);
    if (fault) {
        exchange_refuse(exchange, 400, "%s", fault);
        return;
    }
    struct limits_call *call = limits_call_new(exchange, true, queue);
    if (!call)
        return;
    call->parallelism = request.parallelism;
    call->has_paused = request.has_paused;
    call->is_paused = request.is_paused;
    change_limits(call, set_queue, true);
}

HANDLER(enqueue_handle)
{
    char room[MESSAGE_TOPIC_SIZE];
    if (queue_topic(exchange->key, room).size)
        publish_in(exchange, exchange->key);
    else
        refuse_queue_name(exchange);
}

/* ---- pin and unpin of a key ---- */

static void pin_flow(struct limits_call *call, struct limits *limits, int64_t now_ms)
{
    if (call->pin.parallelism) {
        limits->parallelism = call->pin.parallelism;
        limits->is_pinned_parallelism = true;
    }
    if (call->pin.rate) {
        limits->rate = call->pin.rate;
        limits->period_s = call->pin.period_s;
        limits->is_pinned_rate = true;
        limits->since_ms = now_ms + 1;
    }
}

static void unpin_flow(struct limits_call *call, struct limits *limits, int64_t now_ms)
{
    (void)now_ms;
    limits_unpin(limits, call->unpins_parallelism, call->unpins_rate);
}

/* Reads one parameter. Returns false if its value is wrong or it is unknown. */
typedef bool flow_parameter_fn(struct limits_call *, struct slice name, struct slice value);

static bool read_pin(struct limits_call *call, struct slice name, struct slice value)
{
    return flow_control_take(&call->pin, name, value);
}

static bool read_unpin(struct limits_call *call, struct slice name, struct slice value)
{
    bool is_true = slice_equal(value, SLICE("true"));
    if (slice_equal(name, SLICE("parallelism")))
        call->unpins_parallelism = is_true;
    else if (slice_equal(name, SLICE("rate")))
        call->unpins_rate = is_true;
    else
        return false;
    return is_true || slice_equal(value, SLICE("false"));
}

/* Reads the query. Returns false after answering 400. */
static bool read_flow_query(struct limits_call *call, flow_parameter_fn *read)
{
    char room[QUERY_MAX];
    struct slice query = call->exchange->query, pair, name, value;
    while (query.size) {
        struct buffer text = buffer_of(room, sizeof room);
        slice_cut(query, '&', &pair, &query);
        slice_cut(pair, '=', &name, &value);
        if (pair.size == 0 || slice_equal(name, SLICE("qstash_token")))
            continue;
        if (!percent_decode_form(value, &text) || !read(call, name, buffer_slice(&text))) {
            exchange_refuse(call->exchange, 400, "%.*s: unknown parameter, or wrong value", SLICE_ARG(name));
            return false;
        }
    }
    return true;
}

HANDLER(flow_pin_handle)
{
    struct limits_call *call = limits_call_new(exchange, false, exchange->key);
    if (!call)
        return;
    call->pin.period_s = 1;
    if (!read_flow_query(call, read_pin))
        return;
    if (call->pin.parallelism || call->pin.rate)
        change_limits(call, pin_flow, true);
    else
        exchange_refuse(exchange, 400, "parallelism or rate is required");
}

HANDLER(flow_unpin_handle)
{
    struct limits_call *call = limits_call_new(exchange, false, exchange->key);
    if (call && read_flow_query(call, read_unpin))
        change_limits(call, unpin_flow, false);
}

/* ---- all messages together ---- */

static void on_overview(void *arg, const struct app_overview *overview)
{
    struct exchange *exchange = arg;
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_number(&json, "parallelismMax", app_of(exchange)->max_in_flight);
    json_add_number(&json, "parallelismCount",
                    overview->jobs ? overview->jobs->leased - overview->jobs->pulled : 0);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(global_parallelism_handle)
{
    app_overview(app_of(exchange), &exchange->caller, on_overview, exchange);
}
