/* stream.h - readers of the events of topics.
 *
 * All readers of a topic in one reactor share one read of its events, when Redis announces new ones. A reader
 * that has an earlier event gets those in between first, by reads of its own. Readers cost almost nothing
 * while nothing happens: each topic is read every ten seconds, in case an announcement was lost. */
#ifndef DUEPOST_APP_STREAM_H
#define DUEPOST_APP_STREAM_H

#include "app/app.h"

struct loop;
struct app_streams; /* the readers of one reactor */
struct app_reader;

/* Borrows the app. */
struct app_streams *app_streams_new(struct loop *, struct app *);

/* Call it after the store is freed and all readers have ended. NULL is ignored. */
void app_streams_free(struct app_streams *);

/* Ends all streams, because the server stops. */
void app_streams_drain(struct app_streams *);

enum { APP_EVENT_ID_SIZE = 48 };

/* See struct store_event in store/store.h. */
struct app_event {
    struct slice id, type, job_id, key, data;
    int64_t at_ms;
};

/* The functions of a reader. Only on_ready may free readers, unless its status is OK. */
struct app_reader_events {
    /* Called once, before all others. OK; NOT_FOUND: the topic does not have the setting events; UNAVAILABLE:
     * Redis is away. Unless the status is OK, the reader gets nothing more. place: the id after which the
     * reader begins, which is that of the last event if it named none. */
    void (*on_ready)(void *arg, enum status, struct slice place);
    void (*on_event)(void *arg, struct slice topic, const struct app_event *);
    void (*on_gap)(void *arg, struct slice topic); /* events are missing here */
    void (*on_drain)(void *arg);
    void (*on_beat)(void *arg); /* called every 15 s; NULL: never */
    bool (*is_busy)(
        void *arg); /* the client has not read what it got: no events of the past are read for it */
    void *arg;
};

/* Begins to read. after: the reader gets the events after the one with this id, "MS-NUMBER"; empty: those
 * from now on. Copies the texts. */
struct app_reader *app_reader_new(struct app *, struct slice topic, struct slice after,
                                  const struct app_reader_events *);
void app_reader_free(struct app_reader *);

/* Returns whether one shard has all these topics. */
bool app_topics_are_together(const struct app *, const struct slice *topics, size_t count);

/* Returns whether a text has the form of an event's id. */
bool app_event_id_is_valid(struct slice id);

#endif
