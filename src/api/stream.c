/* stream.c - GET /events: the events of topics, as server-sent events. */
#include "api/api_private.h"

#include "app/stream.h"
#include "base/memory.h"
#include "http/access.h"
#include "job/attempt_line.h"
#include "job/job.h"

enum {
    TOPICS_MAX = 100,
    TEXT_MAX = 16 * 1024,
    EARLY_MAX = 8 * 1024 * 1024,
    BUSY_BYTES = 64 * 1024,
    /* With several topics, the events of one may be read a little later than those of another, and an id
     * names only one place. So a reader that comes back gets the events of this time once more. */
    OVERLAP_MS = 10 * 1000,
};

static const char *const types[] = {"accepted", "begun", "progress",  "delivered",
                                    "retried",  "dead",  "cancelled", "fired"};
enum { TYPES = sizeof types / sizeof *types };

/* A client that reads. */
struct event_stream {
    struct exchange *exchange;
    struct slice topics[TOPICS_MAX];
    size_t count, pending; /* pending: number of topics without their first answer */
    unsigned wanted;       /* types, as bits; 0: all */
    struct slice key;      /* only events of jobs with this key; empty: of all jobs */
    bool has_begun, is_over;
    struct app_reader *readers[TOPICS_MAX];
    struct buffer early;           /* events before the answer begins */
    char place[APP_EVENT_ID_SIZE]; /* a client that gets no event before it is cut off comes back with this id
                                    */
    char text[TEXT_MAX];
};

static void free_stream(void *arg)
{
    struct event_stream *stream = arg;
    for (size_t i = 0; i < stream->count; i++)
        if (stream->readers[i])
            app_reader_free(stream->readers[i]);
    buffer_fini(&stream->early);
    free(stream);
}

/* ---- the query ---- */

static const char *read_topic(void *into, struct slice value)
{
    struct event_stream *stream = into;
    const char *detail = query_value_topic(&value, value);
    for (size_t i = 0; !detail && i < stream->count; i++)
        if (slice_equal(stream->topics[i], value))
            return NULL;
    if (!detail && stream->count == TOPICS_MAX)
        return "must not appear more than 100 times";
    if (!detail)
        stream->topics[stream->count++] = value;
    return detail;
}

static const char *read_types(void *into, struct slice value)
{
    struct event_stream *stream = into;
    for (struct slice word; value.size;) {
        int i = 0;
        slice_cut(value, ',', &word, &value);
        while (i < TYPES && !slice_equal(word, slice_of(types[i])))
            i++;
        if (i == TYPES)
            return "must be a list of accepted, begun, progress, delivered, retried, dead, cancelled and "
                   "fired";
        stream->wanted |= 1U << i;
    }
    return stream->wanted ? NULL : "must not be empty";
}

static const char *read_event_key(void *into, struct slice value)
{
    struct event_stream *stream = into;
    stream->key = value;
    return lane_key_is_valid(value) ? NULL : LANE_KEY_EXPECTED;
}

/* Reads topics, types and key. Returns false after answering 400 or 403. */
static bool read_query(struct event_stream *stream)
{
    static const struct query_parameter parameters[] = {
        {"topic", read_topic, 0}, {"types", read_types, 0}, {"key", read_event_key, 0}};
    struct exchange *exchange = stream->exchange;
    struct query_reading reading = {
        .exchange = exchange, .parameters = parameters, .count = 3, .known = 7, .repeatable = 1};
    struct buffer text = buffer_of(stream->text, sizeof stream->text);
    query_read(&reading, stream, &text);
    if (reading.errors.count == 0 && stream->count == 0 && !access_admit_topic(exchange, SLICE("")))
        return false;
    if (reading.errors.count == 0 && stream->count == 0)
        query_add_error(&reading, SLICE("topic"), "is required");
    if (reading.errors.count == 0 &&
        !app_topics_are_together(app_of(exchange), stream->topics, stream->count))
        query_add_error(&reading, SLICE("topic"),
                        "these topics are in different shards: read each in a request of its own");
    if (!query_end(&reading))
        return false;
    for (size_t i = 0; i < stream->count; i++)
        if (!access_admit_topic(exchange, stream->topics[i]))
            return false;
    return true;
}

/* ---- events ---- */

static void put_line(struct json_writer *json, struct slice data)
{
    struct attempt_line line;
    if (!attempt_line_take(&data, &line))
        return;
    json_add_number(json, "attempt", line.number);
    if (line.round > 1)
        json_add_number(json, "round", line.round);
    json_add_object(json, "lastAttempt");
    view_add_result(json, &line.result);
    json_end_object(json);
}

static void stream_put(struct event_stream *stream, struct slice piece)
{
    if (stream->is_over)
        return;
    if (stream->has_begun)
        http_stream_write(stream->exchange->request, piece);
    else
        buffer_append(&stream->early, piece);
}

static bool is_wanted(const struct event_stream *stream, struct slice type)
{
    for (int i = 0; i < TYPES; i++)
        if (slice_equal(type, slice_of(types[i])))
            return stream->wanted == 0 || stream->wanted & 1U << i;
    return stream->wanted == 0;
}

static void on_event(void *arg, struct slice topic, const struct app_event *event)
{
    struct event_stream *stream = arg;
    if (!is_wanted(stream, event->type) || (stream->key.size && !slice_equal(stream->key, event->key)))
        return;
    struct buffer *text = exchange_scratch(stream->exchange);
    buffer_printf(text, "id: %.*s\nevent: %.*s\ndata: ", SLICE_ARG(event->id), SLICE_ARG(event->type));
    struct json_writer json = json_writer_to(text);
    json_put_object(&json);
    json_add_text(&json, "topic", topic);
    json_add_text(&json, "jobId", event->job_id);
    if (event->key.size)
        json_add_text(&json, "key", event->key);
    json_add_time(&json, "at", event->at_ms);
    if (slice_equal(event->type, SLICE("progress"))) {
        char room[JOB_KEY_MAX + 1];
        struct buffer id = buffer_of(room, sizeof room);
        buffer_printf(&id, "%.*s/%.*s", SLICE_ARG(topic), SLICE_ARG(event->job_id));
        view_add_progress(&json, buffer_slice(&id), event->data);
    } else if (slice_equal(event->type, SLICE("fired")))
        json_add_raw(&json, "scheduleId", event->data);
    else
        put_line(&json, event->data);
    json_end_object(&json);
    buffer_append(text, SLICE("\n\n"));
    stream_put(stream, buffer_slice(text));
}

static void on_gap(void *arg, struct slice topic)
{
    struct event_stream *stream = arg;
    struct buffer *text = exchange_scratch(stream->exchange);
    buffer_printf(text, "event: gap\ndata: {\"topic\":\"%.*s\"}\n\n", SLICE_ARG(topic));
    stream_put(stream, buffer_slice(text));
}

static bool is_busy(void *arg)
{
    const struct event_stream *stream = arg;
    return !stream->has_begun || http_stream_waiting(stream->exchange->request) > BUSY_BYTES;
}

static void end_stream(void *arg)
{
    struct event_stream *stream = arg;
    if (stream->is_over)
        return;
    stream->is_over = true;
    if (stream->has_begun)
        http_stream_end(stream->exchange->request);
}

static void on_beat(void *arg)
{
    struct event_stream *stream = arg;
    const struct app_caller *caller = &stream->exchange->caller;
    if (caller->has_left(caller->peer)) /* or the token has lost the right */
        end_stream(stream);
    else
        stream_put(stream, SLICE(": \n\n"));
}

/* ---- the beginning ---- */

static void begin_answer(struct event_stream *stream)
{
    struct buffer *text = exchange_scratch(stream->exchange);
    buffer_printf(text, ": events\nid: %s\n\n", stream->place);
    buffer_append(text, buffer_slice(&stream->early));
    buffer_fini(&stream->early);
    stream->has_begun = true;
    exchange_answer_stream(stream->exchange, SLICE("text/event-stream"), buffer_slice(text));
    if (stream->is_over)
        http_stream_end(stream->exchange->request);
}

/* Keeps the latest of the places at which the topics begin: the overlap covers the others. */
static void note_place(struct event_stream *stream, struct slice place)
{
    uint64_t ms = 0, before_ms = 0;
    struct slice first, before, rest;
    if (slice_cut(place, '-', &first, &rest))
        (void)slice_to_number(first, INT64_MAX, &ms);
    if (slice_cut(slice_of(stream->place), '-', &before, &rest))
        (void)slice_to_number(before, INT64_MAX, &before_ms);
    if (!stream->place[0] || ms > before_ms)
        snprintf(stream->place, sizeof stream->place, "%.*s", SLICE_ARG(place));
}

static void on_ready(void *arg, enum status status, struct slice place)
{
    struct event_stream *stream = arg;
    struct exchange *exchange = stream->exchange;
    if (status == STATUS_OK)
        note_place(stream, place);
    if (status == STATUS_OK && --stream->pending == 0)
        begin_answer(stream);
    else if (status == STATUS_NOT_FOUND)
        exchange_refuse(exchange, 409,
                        "Not all of these topics have the setting events. PATCH /topics/<topic> with "
                        "{\"events\":true} turns it on.");
    else if (status != STATUS_OK)
        exchange_refuse(exchange, 503, "Redis is away; send the request again.");
}

/* Returns the id after which a reader begins. */
static struct slice first_id(const struct event_stream *stream, struct slice last,
                             char room[APP_EVENT_ID_SIZE])
{
    struct slice ms, number;
    uint64_t at;
    if (stream->count < 2 || !slice_cut(last, '-', &ms, &number) || !slice_to_number(ms, INT64_MAX, &at))
        return last;
    snprintf(room, APP_EVENT_ID_SIZE, "%llu-0", (unsigned long long)(at > OVERLAP_MS ? at - OVERLAP_MS : 0));
    return slice_of(room);
}

HANDLER(stream_handle)
{
    struct event_stream *stream = NEW(struct event_stream);
    struct slice last = http_request_header(exchange->request, "Last-Event-ID");
    char room[APP_EVENT_ID_SIZE];
    stream->exchange = exchange;
    buffer_init(&stream->early, EARLY_MAX);
    exchange_keep(exchange, stream, free_stream);
    if (!read_query(stream))
        return;
    if (last.size && !app_event_id_is_valid(last)) {
        struct job_errors errors;
        job_errors_clear(&errors);
        job_errors_add(&errors, "Last-Event-ID", "must be the id of an event");
        exchange_refuse_errors(exchange, "request", &errors);
        return;
    }
    if (!http_request_linger(exchange->request, end_stream, stream)) {
        exchange_refuse(exchange, 503, "Too many requests wait (--max-waiting-leases).");
        return;
    }
    struct app_reader_events events = {.on_ready = on_ready,
                                       .on_event = on_event,
                                       .on_gap = on_gap,
                                       .on_drain = end_stream,
                                       .is_busy = is_busy,
                                       .arg = stream};
    struct slice after = last.size ? first_id(stream, last, room) : last;
    stream->pending = stream->count;
    for (size_t i = 0; i < stream->count; i++) {
        events.on_beat = i == 0 ? on_beat : NULL;
        stream->readers[i] = app_reader_new(app_of(exchange), stream->topics[i], after, &events);
    }
}
