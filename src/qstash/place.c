#include "qstash/topics/message_topic.h"

#include <assert.h>

#include "app/topics.h"
#include "base/base64.h"
#include "base/memory.h"
#include "qstash/topics/message_topic.h"
#include "qstash/messages/message.h"

/* ---- names ---- */

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

struct slice place_of_queue(struct slice name, char room[PLACE_SIZE])
{
    struct buffer text = buffer_of(room, PLACE_SIZE);
    if (!is_plain(name))
        return SLICE("");
    buffer_append(&text, SLICE(PLACE_QUEUES));
    buffer_append(&text, name);
    return end_name(&text);
}

struct slice place_of_flow(struct slice key, char room[PLACE_SIZE])
{
    struct buffer text = buffer_of(room, PLACE_SIZE);
    if (key.size == 0 || key.size > PLACE_KEY_MAX)
        return SLICE("");
    buffer_append(&text, SLICE(PLACE_FLOWS));
    buffer_append(&text, key);
    if (is_plain(key) && end_name(&text).size)
        return buffer_slice(&text);
    buffer_clear(&text);
    buffer_append(&text, SLICE(PLACE_FLOWS "~"));
    base64url_append(&text, key);
    return end_name(&text);
}

struct slice place_flow_key(struct slice topic, char room[PLACE_SIZE])
{
    struct buffer text = buffer_of(room, PLACE_SIZE);
    struct slice name = slice_skip(topic, strlen(PLACE_FLOWS));
    if (!slice_starts_with(name, SLICE("~")))
        return name;
    return base64url_decode(slice_skip(name, 1), &text) ? buffer_slice(&text) : name;
}

/* ---- the place of a message ---- */

struct place {
    const struct settings_flow *flow;
    bool is_queue;
    char topic_room[PLACE_SIZE], note[LIMITS_NOTE_SIZE];
    struct slice topic;
    place_fn *fn;
    void *arg;
};

/* Sets the default limits if the queue or key is new, and then the limits that the message requests. */
static enum app_sibling_change place_on_limits(void *arg, struct topic_settings *settings, bool has_settings,
                                               int64_t now_ms)
{
    struct place *place = arg;
    struct limits limits =
        has_settings ? limits_read(place->is_queue, settings) : limits_new(place->is_queue, now_ms);
    bool is_changed = place->flow->key.size && limits_ask(&limits, place->flow);
    if (has_settings && !is_changed)
        return APP_SIBLING_KEEP;
    limits_write(&limits, place->note, settings);
    return APP_SIBLING_WRITE;
}

static void place_on_changed(void *arg, const struct app_verdict *verdict)
{
    struct place *place = arg;
    place->fn(place->arg, verdict, place->topic);
    free(place);
}

static void refuse_name(place_fn *fn, void *arg, const char *member, const char *detail)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    job_errors_add(&errors, member, detail);
    fn(arg, &(struct app_verdict){.end = STATUS_INVALID, .errors = &errors}, SLICE(""));
}

void place_find(struct app *app, const struct app_caller *caller, struct slice queue,
                const struct settings_flow *flow, place_fn *fn, void *arg)
{
    if (queue.size == 0 && flow->key.size == 0) {
        fn(arg, &(struct app_verdict){.end = STATUS_OK}, SLICE(QSTASH_TOPIC_MESSAGES));
        return;
    }
    struct place *place = NEW(struct place);
    place->flow = flow;
    place->is_queue = queue.size > 0;
    place->fn = fn;
    place->arg = arg;
    place->topic = place->is_queue ? place_of_queue(queue, place->topic_room)
                                   : place_of_flow(flow->key, place->topic_room);
    if (place->topic.size) {
        app_sibling_change(app, caller, place->topic, place_on_limits, place_on_changed, place);
        return;
    }
    static_assert(PLACE_QUEUE_MAX == 121, "the error below names the limit");
    if (place->is_queue)
        refuse_name(fn, arg, "queueName", "must be at most 121 characters of A-Z a-z 0-9 . _ -");
    else
        refuse_name(fn, arg, "Upstash-Flow-Control-Key", "must be at most 90 bytes");
    free(place);
}
