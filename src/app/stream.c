/* stream.c - fans the events of topics out to their readers.
 *
 * A reader begins with a read of its own, from the event that it has. When this read has found all events up
 * to the last one that the topic's other readers got, the reader gets its events with them. */
#include "app/stream.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/app_private.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/memory.h"
#include "io/loop.h"
#include "store/shard.h"

static_assert((int)APP_EVENT_ID_SIZE == (int)STORE_EVENT_ID_SIZE, "a place fits");

enum {
    BUCKETS = 256,
    RENEW_MS = 5 * 1000,
    READ_RENEWALS = 2,
    BEAT_RENEWALS = 3,
    WAIT_MS = 30 * 1000, /* how long Redis announces events of a topic */
    BUSY_MS = 50,
    PAUSE_MS = 25, /* between two reads of a topic: one read gets the events of this time */
};

struct app_streams {
    struct loop *loop;
    struct app *app;
    struct list buckets[BUCKETS];
    size_t count;          /* number of topics */
    struct timer *renewal; /* runs while there are topics */
    uint64_t renewals;
    bool is_draining;
};

/* The place of an event. Ids of all topics of a shard come from the clock of one Redis. */
struct event_place {
    uint64_t ms, number;
};

struct stream_topic {
    struct list link;
    struct app_streams *streams;
    struct list readers;
    struct timer *pause;
    bool is_reading, must_read;
    bool has_last; /* last is known, because a reader has joined */
    struct event_place last;
    char last_text[APP_EVENT_ID_SIZE];
    struct slice name;
};

struct app_reader {
    struct list link;
    struct stream_topic *topic;
    struct app_reader_events events;
    struct timer *pause; /* runs while the client has not read its events */
    bool is_ready, is_reading, is_live;
    bool is_closed; /* freed by its owner during a read */
    bool has_after;
    struct event_place after;
    char after_text[APP_EVENT_ID_SIZE];
};

static bool place_read(struct slice text, struct event_place *place)
{
    struct slice ms, number;
    return text.size < APP_EVENT_ID_SIZE && slice_cut(text, '-', &ms, &number) &&
           slice_to_number(ms, INT64_MAX, &place->ms) && slice_to_number(number, INT64_MAX, &place->number);
}

bool app_event_id_is_valid(struct slice id)
{
    struct event_place ignored;
    return place_read(id, &ignored);
}

bool app_topics_are_together(const struct app *app, const struct slice *topics, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (store_shard_of(app->store, topics[i]) != store_shard_of(app->store, topics[0]))
            return false;
    return true;
}

static bool place_is_before(struct event_place one, struct event_place other)
{
    return one.ms < other.ms || (one.ms == other.ms && one.number < other.number);
}

static struct slice place_write(struct event_place place, char text[APP_EVENT_ID_SIZE])
{
    snprintf(text, APP_EVENT_ID_SIZE, "%llu-%llu", (unsigned long long)place.ms,
             (unsigned long long)place.number);
    return slice_of(text);
}

/* ---- topics ---- */

static void topic_read(struct stream_topic *);

static void on_pause_end(void *arg)
{
    struct stream_topic *topic = arg;
    if (topic->must_read)
        topic_read(topic);
}

static struct stream_topic *topic_of(struct app_streams *streams, struct slice name)
{
    struct list *bucket = &streams->buckets[hash_of(name) % BUCKETS];
    for (struct list *link = bucket->next; link != bucket; link = link->next) {
        struct stream_topic *topic = LIST_ENTRY(link, struct stream_topic, link);
        if (slice_equal(topic->name, name))
            return topic;
    }
    struct stream_topic *topic = memory_new(sizeof *topic + name.size);
    memcpy(topic + 1, name.data, name.size);
    topic->name = slice_from((char *)(topic + 1), name.size);
    topic->streams = streams;
    topic->pause = timer_new(streams->loop, on_pause_end, topic);
    list_init(&topic->readers);
    list_append(bucket, &topic->link);
    if (streams->count++ == 0)
        timer_start(streams->renewal, RENEW_MS * INT64_C(1000));
    return topic;
}

static void topic_free_if_idle(struct stream_topic *topic)
{
    if (topic->is_reading || !list_is_empty(&topic->readers))
        return;
    list_remove(&topic->link);
    timer_free(topic->pause);
    if (--topic->streams->count == 0)
        timer_stop(topic->streams->renewal);
    free(topic);
}

static void reader_give(struct app_reader *reader, const struct store_event *event)
{
    struct event_place place;
    if (!place_read(event->id, &place) || (reader->has_after && !place_is_before(reader->after, place)))
        return;
    reader->after = place;
    reader->has_after = true;
    const struct app_event given = {.id = event->id,
                                    .type = event->type,
                                    .job_id = event->job_id,
                                    .key = event->key,
                                    .data = event->data,
                                    .at_ms = event->at_ms};
    reader->events.on_event(reader->events.arg, reader->topic->name, &given);
}

static void on_topic_read(void *arg, enum status status, const struct store_streamed *streamed)
{
    struct stream_topic *topic = arg;
    topic->is_reading = false;
    for (struct list *link = topic->readers.next; link != &topic->readers && status == STATUS_OK;
         link = link->next) {
        struct app_reader *reader = LIST_ENTRY(link, struct app_reader, link);
        if (reader->is_live && streamed->has_gap)
            reader->events.on_gap(reader->events.arg, topic->name);
        for (size_t i = 0; reader->is_live && i < streamed->count; i++)
            reader_give(reader, &streamed->events[i]);
    }
    if (status == STATUS_OK && streamed->count)
        (void)place_read(streamed->events[streamed->count - 1].id, &topic->last);
    if (status == STATUS_OK && streamed->has_more)
        topic_read(topic);
    topic_free_if_idle(topic);
}

/* Reads the events since the last read, for all readers that are live. */
static void topic_read(struct stream_topic *topic)
{
    topic->must_read = true;
    if (topic->is_reading || !topic->has_last)
        return;
    topic->must_read = false;
    topic->is_reading = true;
    timer_start(topic->pause, PAUSE_MS * INT64_C(1000));
    struct store_stream what = {
        .topic = topic->name, .after = place_write(topic->last, topic->last_text), .wait_ms = WAIT_MS};
    store_stream(topic->streams->app->store, &what, on_topic_read, topic);
}

/* ---- readers ---- */

static void reader_read(struct app_reader *);

static void join(struct app_reader *reader)
{
    struct stream_topic *topic = reader->topic;
    if (topic->has_last && place_is_before(reader->after, topic->last)) {
        reader_read(reader); /* the others have got events since this read */
        return;
    }
    if (!topic->has_last)
        topic->last = reader->after;
    topic->has_last = true;
    reader->is_live = true;
    topic_read(topic);
}

static void on_reader_read(void *arg, enum status status, const struct store_streamed *streamed)
{
    struct app_reader *reader = arg;
    struct stream_topic *topic = reader->topic;
    enum status verdict = status != STATUS_OK ? STATUS_UNAVAILABLE
                          : streamed->is_on   ? STATUS_OK
                                              : STATUS_NOT_FOUND;
    reader->is_reading = false;
    if (reader->is_closed) {
        list_remove(&reader->link);
        free(reader);
        topic_free_if_idle(topic);
        return;
    }
    if (!reader->is_ready) {
        reader->is_ready = verdict == STATUS_OK;
        if (verdict == STATUS_OK && !reader->has_after)
            reader->has_after = place_read(streamed->last, &reader->after);
        reader->events.on_ready(reader->events.arg, verdict, place_write(reader->after, reader->after_text));
        if (verdict == STATUS_OK && topic->streams->is_draining)
            reader->events.on_drain(reader->events.arg);
    } else if (verdict != STATUS_OK) {
        reader->events.on_drain(reader->events.arg); /* the client connects again */
    }
    if (verdict != STATUS_OK)
        return;
    if (streamed->has_gap)
        reader->events.on_gap(reader->events.arg, topic->name);
    for (size_t i = 0; i < streamed->count; i++)
        reader_give(reader, &streamed->events[i]);
    if (!streamed->has_more)
        join(reader);
    else if (reader->events.is_busy(reader->events.arg))
        timer_start(reader->pause, BUSY_MS * INT64_C(1000));
    else
        reader_read(reader);
}

static void on_reader_pause(void *arg)
{
    struct app_reader *reader = arg;
    if (reader->events.is_busy(reader->events.arg))
        timer_start(reader->pause, BUSY_MS * INT64_C(1000));
    else
        reader_read(reader);
}

static void reader_read(struct app_reader *reader)
{
    struct stream_topic *topic = reader->topic;
    struct store_stream what = {.topic = topic->name, .wait_ms = WAIT_MS, .after = SLICE("")};
    if (reader->has_after)
        what.after = place_write(reader->after, reader->after_text);
    reader->is_reading = true;
    store_stream(topic->streams->app->store, &what, on_reader_read, reader);
}

struct app_reader *app_reader_new(struct app *app, struct slice topic, struct slice after,
                                  const struct app_reader_events *events)
{
    struct app_reader *reader = NEW(struct app_reader);
    reader->topic = topic_of(app->streams, topic);
    reader->events = *events;
    reader->has_after = after.size > 0 && place_read(after, &reader->after);
    reader->pause = timer_new(app->streams->loop, on_reader_pause, reader);
    list_append(&reader->topic->readers, &reader->link);
    reader_read(reader);
    return reader;
}

void app_reader_free(struct app_reader *reader)
{
    struct stream_topic *topic = reader->topic;
    reader->is_live = false;
    reader->is_closed = true;
    timer_free(reader->pause);
    if (reader->is_reading)
        return;
    list_remove(&reader->link);
    free(reader);
    topic_free_if_idle(topic);
}

/* ---- the readers of a reactor ---- */

static void each_topic(struct app_streams *streams, void (*fn)(struct stream_topic *))
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct list *link = streams->buckets[i].next, *next; link != &streams->buckets[i]; link = next) {
            next = link->next;
            fn(LIST_ENTRY(link, struct stream_topic, link));
        }
}

static void topic_beat(struct stream_topic *topic)
{
    for (struct list *link = topic->readers.next; link != &topic->readers; link = link->next) {
        struct app_reader *reader = LIST_ENTRY(link, struct app_reader, link);
        if (reader->events.on_beat && !reader->is_closed && reader->is_ready)
            reader->events.on_beat(reader->events.arg);
    }
}

static void on_renewal(void *arg)
{
    struct app_streams *streams = arg;
    timer_start(streams->renewal, RENEW_MS * INT64_C(1000));
    streams->renewals++;
    if (streams->renewals % READ_RENEWALS == 0)
        each_topic(streams, topic_read);
    if (streams->renewals % BEAT_RENEWALS == 0)
        each_topic(streams, topic_beat);
}

static void topic_wake(struct stream_topic *topic)
{
    topic->must_read = true;
    if (!timer_is_armed(topic->pause))
        topic_read(topic);
}

static void on_wake(void *arg, struct slice name)
{
    struct app_streams *streams = arg;
    if (streams->count == 0)
        return;
    if (name.size == 0) {
        each_topic(streams, topic_wake);
        return;
    }
    struct list *bucket = &streams->buckets[hash_of(name) % BUCKETS];
    for (struct list *link = bucket->next, *next; link != bucket; link = next) {
        struct stream_topic *topic = LIST_ENTRY(link, struct stream_topic, link);
        next = link->next;
        if (slice_equal(topic->name, name))
            topic_wake(topic);
    }
}

struct app_streams *app_streams_new(struct loop *loop, struct app *app)
{
    struct app_streams *streams = NEW(struct app_streams);
    streams->loop = loop;
    streams->app = app;
    for (size_t i = 0; i < BUCKETS; i++)
        list_init(&streams->buckets[i]);
    streams->renewal = timer_new(loop, on_renewal, streams);
    store_on_stream_wake(app->store, on_wake, streams);
    return streams;
}

void app_streams_free(struct app_streams *streams)
{
    if (!streams)
        return;
    timer_free(streams->renewal);
    free(streams);
}

static void topic_drain(struct stream_topic *topic)
{
    for (struct list *link = topic->readers.next; link != &topic->readers; link = link->next) {
        struct app_reader *reader = LIST_ENTRY(link, struct app_reader, link);
        if (!reader->is_closed && reader->is_ready)
            reader->events.on_drain(reader->events.arg);
    }
}

void app_streams_drain(struct app_streams *streams)
{
    streams->is_draining = true;
    each_topic(streams, topic_drain);
}
