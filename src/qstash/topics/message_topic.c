#include "qstash/topics/topics.h"

#include <assert.h>
#include <stddef.h>

#include "app/topics.h"
#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "job/text/json.h"
#include "qstash/qstash_private.h"

/* ---- the limits of a topic: its note ---- */

static const struct {
    const char *name;
    size_t field;
} note_numbers[] = {
    {"createdAt", offsetof(struct limits, created_ms)},
    {"updatedAt", offsetof(struct limits, updated_ms)},
    {"parallelism", offsetof(struct limits, asked.parallelism)},
    {"rate", offsetof(struct limits, asked.rate)},
    {"period", offsetof(struct limits, asked.period_s)},
};
enum { NOTE_NUMBERS = sizeof note_numbers / sizeof *note_numbers };

static int64_t *number_of(struct limits *limits, size_t row)
{
    return (int64_t *)((char *)limits + note_numbers[row].field);
}

/* ---- the limits of a topic: its settings ---- */

struct limits limits_new(bool is_queue, int64_t now_ms)
{
    return (struct limits){.is_queue = is_queue,
                           .parallelism = is_queue ? 1 : 0,
                           .period_s = 1,
                           .asked = {.period_s = 1},
                           .created_ms = now_ms,
                           .updated_ms = now_ms};
}

struct limits limits_read(bool is_queue, const struct topic_settings *settings)
{
    struct limits limits = limits_new(is_queue, 0);
    struct json_cursor cursor;
    struct slice key, value;
    bool is_fifo = topic_settings_are_fifo(settings);
    limits.is_paused = settings->is_paused;
    limits.parallelism = is_fifo ? 1 : settings->max_in_flight;
    limits.rate = settings->rate_jobs;
    limits.period_s = settings->rate_jobs ? settings->rate_per_ms / 1000 : 1;
    limits.since_ms = settings->rate_since_ms;
    bool is_open = settings->note.size && json_open(settings->note, &cursor) && cursor.close == '}';
    while (is_open && json_next_member(&cursor, &key, &value))
        if (key.size > 2) {
            struct slice name = slice_from(key.data + 1, key.size - 2);
            uint64_t number;
            if (slice_equal(name, SLICE("pinnedParallelism")))
                limits.is_pinned_parallelism = slice_equal(value, SLICE("true"));
            if (slice_equal(name, SLICE("pinnedRate")))
                limits.is_pinned_rate = slice_equal(value, SLICE("true"));
            for (size_t i = 0; i < NOTE_NUMBERS; i++)
                if (slice_equal(name, slice_of(note_numbers[i].name)) &&
                    slice_to_number(value, INT64_MAX, &number))
                    *number_of(&limits, i) = (int64_t)number;
        }
    return limits;
}

struct limits limits_read_text(bool is_queue, struct slice text)
{
    struct topic_settings settings;
    if (topic_settings_read(text, &settings) != STATUS_OK)
        return limits_new(is_queue, 0);
    struct limits limits = limits_read(is_queue, &settings);
    topic_settings_fini(&settings);
    return limits;
}

void limits_write(const struct limits *limits, char note[LIMITS_NOTE_SIZE], struct topic_settings *settings)
{
    bool is_fifo = limits->is_queue && limits->parallelism == 1;
    settings->has_paused = settings->is_paused = limits->is_paused;
    settings->pause_reason = SLICE("");
    settings->order = is_fifo ? SLICE("fifo") : SLICE("");
    settings->max_in_flight = is_fifo ? 0 : limits->parallelism;
    settings->rate_jobs = limits->rate;
    settings->rate_per_ms = limits->rate ? limits->period_s * 1000 : 0;
    settings->rate_burst = limits->rate ? 1 : 0;
    settings->has_rate_window = settings->is_rate_window = limits->rate > 0;
    settings->rate_since_ms = limits->rate ? limits->since_ms : 0;
    struct buffer text = buffer_of(note, LIMITS_NOTE_SIZE);
    struct json_writer json = json_writer_to(&text);
    struct limits copy = *limits;
    json_put_object(&json);
    for (size_t i = 0; i < NOTE_NUMBERS; i++)
        if (*number_of(&copy, i))
            json_add_number(&json, note_numbers[i].name, *number_of(&copy, i));
    if (limits->is_pinned_parallelism)
        json_add_bool(&json, "pinnedParallelism", true);
    if (limits->is_pinned_rate)
        json_add_bool(&json, "pinnedRate", true);
    json_end_object(&json);
    settings->note = buffer_slice(&text);
}

/* ---- the limits of a topic: requests of messages ---- */

static void put_in_force(struct limits *limits)
{
    if (!limits->is_pinned_parallelism && !limits->is_queue)
        limits->parallelism = limits->asked.parallelism;
    if (!limits->is_pinned_rate) {
        limits->rate = limits->asked.rate;
        limits->period_s = limits->asked.period_s;
    }
}

bool limits_ask(struct limits *limits, const struct flow_control *flow)
{
    const struct flow_control *asked = &limits->asked;
    bool is_same = asked->parallelism == flow->parallelism && asked->rate == flow->rate &&
                   asked->period_s == flow->period_s;
    if (is_same || (flow->parallelism == 0 && flow->rate == 0))
        return false;
    limits->asked = *flow;
    limits->asked.key = SLICE("");
    put_in_force(limits);
    return true;
}

void limits_unpin(struct limits *limits, bool parallelism, bool rate)
{
    limits->is_pinned_parallelism = limits->is_pinned_parallelism && !parallelism;
    limits->is_pinned_rate = limits->is_pinned_rate && !rate;
    put_in_force(limits);
}

/* ---- names of topics ---- */

static bool is_plain(struct slice name)
{
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] == JOB_SIBLING_MARK)
            return false;
    return name.size > 0;
}

static struct slice end_name(struct buffer *text)
{
    bool is_topic = !text->failed && topic_is_valid(buffer_slice(text));
    return is_topic ? buffer_slice(text) : SLICE("");
}

struct slice queue_topic(struct slice name, char room[MESSAGE_TOPIC_SIZE])
{
    struct buffer text = buffer_of(room, MESSAGE_TOPIC_SIZE);
    if (!is_plain(name))
        return SLICE("");
    buffer_append(&text, SLICE(QUEUE_TOPICS));
    buffer_append(&text, name);
    return end_name(&text);
}

struct slice flow_topic(struct slice key, char room[MESSAGE_TOPIC_SIZE])
{
    struct buffer text = buffer_of(room, MESSAGE_TOPIC_SIZE);
    if (key.size == 0 || key.size > FLOW_KEY_MAX)
        return SLICE("");
    buffer_append(&text, SLICE(FLOW_TOPICS));
    buffer_append(&text, key);
    if (is_plain(key) && end_name(&text).size)
        return buffer_slice(&text);
    buffer_clear(&text);
    buffer_append(&text, SLICE(FLOW_TOPICS "~"));
    base64url_append(&text, key);
    return end_name(&text);
}

struct slice flow_topic_key(struct slice topic, char room[MESSAGE_TOPIC_SIZE])
{
    struct buffer text = buffer_of(room, MESSAGE_TOPIC_SIZE);
    struct slice name = slice_skip(topic, strlen(FLOW_TOPICS));
    if (!slice_starts_with(name, SLICE("~")))
        return name;
    return base64url_decode(slice_skip(name, 1), &text) ? buffer_slice(&text) : name;
}

/* ---- the topic of a message ---- */

struct finding {
    const struct flow_control *flow;
    bool is_queue;
    char topic_room[MESSAGE_TOPIC_SIZE], note[LIMITS_NOTE_SIZE];
    struct slice topic;
    message_topic_fn *fn;
    void *arg;
};

/* Sets the default limits if the queue or key is new, and then the limits that the message requests. */
static enum app_sibling_change place_on_limits(void *arg, struct topic_settings *settings, bool has_settings,
                                               int64_t now_ms)
{
    struct finding *finding = arg;
    struct limits limits =
        has_settings ? limits_read(finding->is_queue, settings) : limits_new(finding->is_queue, now_ms);
    bool is_changed = finding->flow->key.size && limits_ask(&limits, finding->flow);
    if (has_settings && !is_changed)
        return APP_SIBLING_KEEP;
    limits_write(&limits, finding->note, settings);
    return APP_SIBLING_WRITE;
}

static void place_on_changed(void *arg, const struct app_verdict *verdict)
{
    struct finding *finding = arg;
    finding->fn(finding->arg, verdict, finding->topic);
    free(finding);
}

static void refuse_name(message_topic_fn *fn, void *arg, const char *member, const char *detail)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    job_errors_add(&errors, member, detail);
    fn(arg, &(struct app_verdict){.end = STATUS_INVALID, .errors = &errors}, SLICE(""));
}

void message_topic_find(struct app *app, const struct app_caller *caller, struct slice queue,
                        const struct flow_control *flow, message_topic_fn *fn, void *arg)
{
    if (queue.size == 0 && flow->key.size == 0) {
        fn(arg, &(struct app_verdict){.end = STATUS_OK}, SLICE(QSTASH_TOPIC_MESSAGES));
        return;
    }
    struct finding *finding = NEW(struct finding);
    finding->flow = flow;
    finding->is_queue = queue.size > 0;
    finding->fn = fn;
    finding->arg = arg;
    finding->topic = finding->is_queue ? queue_topic(queue, finding->topic_room)
                                       : flow_topic(flow->key, finding->topic_room);
    if (finding->topic.size) {
        app_sibling_change(app, caller, finding->topic, place_on_limits, place_on_changed, finding);
        return;
    }
    static_assert(QUEUE_NAME_MAX == 121, "the error below names the limit");
    if (finding->is_queue)
        refuse_name(fn, arg, "queueName", "must be at most 121 characters of A-Z a-z 0-9 . _ -");
    else
        refuse_name(fn, arg, "Upstash-Flow-Control-Key", "must be at most 90 bytes");
    free(finding);
}

/* ---- lists ---- */

enum { LIST_BYTES_MAX = 8 * 1024 * 1024 };

struct sibling_list {
    struct exchange *exchange;
    sibling_list_fn *put;
    const void *arg;
    struct buffer text;
    struct json_writer json;
};

static void on_sibling(void *arg, const struct topic *topic)
{
    struct sibling_list *list = arg;
    list->put(&list->json, topic, list->arg);
}

static void on_siblings_end(void *arg, const struct app_verdict *verdict)
{
    struct sibling_list *list = arg;
    json_end_array(&list->json);
    if (verdict->end != STATUS_OK)
        answer_refuse_verdict(list->exchange, verdict);
    else if (list->text.failed)
        exchange_refuse(list->exchange, 503, "there is no memory for this list");
    else
        exchange_answer(list->exchange, 200, NULL, 0, buffer_slice(&list->text));
    buffer_fini(&list->text);
    free(list);
}

void sibling_list_answer(struct exchange *exchange, struct slice prefix, size_t max, sibling_list_fn *put,
                         const void *arg)
{
    struct sibling_list *list = NEW(struct sibling_list);
    *list = (struct sibling_list){.exchange = exchange, .put = put, .arg = arg};
    buffer_init_fallible(&list->text, LIST_BYTES_MAX);
    list->json = json_writer_to(&list->text);
    json_put_array(&list->json);
    app_siblings(app_of(exchange), prefix, max, on_sibling, on_siblings_end, list);
}
