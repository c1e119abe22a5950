/* flow_control.c - /v2/flowControl and /v2/globalParallelism: limits of messages with the same key. The key
 * has its own topic, see message_topic.h. */
#include "app/overview.h"
#include "app/topics.h"
#include "base/memory.h"
#include "base/percent.h"
#include "qstash/handler.h"
#include "qstash/topics/message_topic.h"

enum { FLOWS_MAX = 10000 /* maximum number of keys in a list */, FLOW_QUERY_MAX = 512 };

struct flow_call;
typedef void flow_change_fn(struct flow_call *, struct limits *, int64_t now_ms);

/* A request about a key. */
struct flow_call {
    struct exchange *exchange;
    struct slice topic;
    char topic_room[MESSAGE_TOPIC_SIZE], note[LIMITS_NOTE_SIZE];
    flow_change_fn *change;
    bool creates; /* creates the limits of an unknown key; false: an unknown key is an error */
    bool is_known;
    struct flow_control pin; /* POST .../pin */
    bool unpins_parallelism, unpins_rate;
};

/* Creates the state of a request. Returns NULL after answering with an error. */
static struct flow_call *flow_call_new(struct exchange *exchange)
{
    struct flow_call *call = NEW(struct flow_call);
    call->exchange = exchange;
    call->topic = flow_topic(exchange->key, call->topic_room);
    exchange_keep(exchange, call, free);
    if (call->topic.size)
        return call;
    exchange_refuse(exchange, 400, "the flow control key must be at most 90 bytes");
    return NULL;
}

static void refuse_unknown_flow(struct exchange *exchange)
{
    exchange_refuse(exchange, 404, "flow control key %.*s not found", SLICE_ARG(exchange->key));
}

/* ---- GET ---- */

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

static void on_flow(void *arg, const struct topic *topic)
{
    struct flow_call *call = arg;
    struct json_writer json = json_writer_to(exchange_scratch(call->exchange));
    call->is_known = topic->own.size > 0;
    put_flow(&json, topic);
}

static void on_flow_end(void *arg, const struct app_verdict *verdict)
{
    const struct flow_call *call = arg;
    struct exchange *exchange = call->exchange;
    if (verdict->end != STATUS_OK)
        answer_refuse_verdict(exchange, verdict);
    else if (!call->is_known)
        refuse_unknown_flow(exchange);
    else
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(&exchange->site->scratch));
}

HANDLER(flow_handle)
{
    struct flow_call *call = flow_call_new(exchange);
    if (call)
        app_topic(app_of(exchange), call->topic, on_flow, on_flow_end, call);
}

/* ---- changes ---- */

static enum app_sibling_change on_flow_limits(void *arg, struct topic_settings *settings, bool has_settings,
                                              int64_t now_ms)
{
    struct flow_call *call = arg;
    struct limits limits = has_settings ? limits_read(false, settings) : limits_new(false, now_ms);
    if (!has_settings && !call->creates)
        return APP_SIBLING_MISSING;
    call->change(call, &limits, now_ms);
    limits.updated_ms = now_ms;
    limits_write(&limits, call->note, settings);
    return APP_SIBLING_WRITE;
}

static void on_flow_changed(void *arg, const struct app_verdict *verdict)
{
    const struct flow_call *call = arg;
    if (verdict->end == STATUS_NOT_FOUND)
        refuse_unknown_flow(call->exchange);
    else
        answer_done(call->exchange, verdict);
}

static void change_flow(struct flow_call *call, flow_change_fn *change, bool creates)
{
    call->change = change;
    call->creates = creates;
    app_sibling_change(app_of(call->exchange), &call->exchange->caller, call->topic, on_flow_limits,
                       on_flow_changed, call);
}

static void pause_flow(struct flow_call *call, struct limits *limits, int64_t now_ms)
{
    (void)call, (void)now_ms;
    limits->is_paused = true;
}

static void resume_flow(struct flow_call *call, struct limits *limits, int64_t now_ms)
{
    (void)call, (void)now_ms;
    limits->is_paused = false;
}

/* Resets the rate, so that the attempts of the current window no longer count. */
static void reset_rate(struct flow_call *call, struct limits *limits, int64_t now_ms)
{
    (void)call;
    limits->since_ms = now_ms + 1;
}

static void pin_flow(struct flow_call *call, struct limits *limits, int64_t now_ms)
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

static void unpin_flow(struct flow_call *call, struct limits *limits, int64_t now_ms)
{
    (void)now_ms;
    limits_unpin(limits, call->unpins_parallelism, call->unpins_rate);
}

HANDLER(flow_pause_handle)
{
    struct flow_call *call = flow_call_new(exchange);
    if (call)
        change_flow(call, pause_flow, true);
}

HANDLER(flow_resume_handle)
{
    struct flow_call *call = flow_call_new(exchange);
    if (call)
        change_flow(call, resume_flow, false);
}

HANDLER(flow_reset_rate_handle)
{
    struct flow_call *call = flow_call_new(exchange);
    if (call)
        change_flow(call, reset_rate, false);
}

/* ---- the query of pin and unpin ---- */

/* Reads one parameter. Returns false if its value is wrong or it is unknown. */
typedef bool flow_parameter_fn(struct flow_call *, struct slice name, struct slice value);

static bool read_pin(struct flow_call *call, struct slice name, struct slice value)
{
    return flow_control_take(&call->pin, name, value);
}

static bool read_unpin(struct flow_call *call, struct slice name, struct slice value)
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
static bool read_flow_query(struct flow_call *call, flow_parameter_fn *read)
{
    char room[FLOW_QUERY_MAX];
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
    struct flow_call *call = flow_call_new(exchange);
    if (!call)
        return;
    call->pin.period_s = 1;
    if (!read_flow_query(call, read_pin))
        return;
    if (call->pin.parallelism || call->pin.rate)
        change_flow(call, pin_flow, true);
    else
        exchange_refuse(exchange, 400, "parallelism or rate is required");
}

HANDLER(flow_unpin_handle)
{
    struct flow_call *call = flow_call_new(exchange);
    if (call && read_flow_query(call, read_unpin))
        change_flow(call, unpin_flow, false);
}

/* ---- lists ---- */

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
    char room[FLOW_QUERY_MAX];
};

static bool read_search(struct flow_search *search, struct slice query)
{
    struct slice pair, name, value;
    struct buffer text = buffer_of(search->room, FLOW_QUERY_MAX);
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
        sibling_list_answer(exchange, SLICE(FLOW_TOPICS), FLOWS_MAX, put_found_flow, &search->text);
    else
        exchange_refuse(exchange, 400, "search: is not valid percent-encoding");
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
