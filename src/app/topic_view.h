/* topic_view.h - the form in which use cases return a topic, and the conversion to it. */
#ifndef DUEPOST_APP_TOPIC_VIEW_H
#define DUEPOST_APP_TOPIC_VIEW_H

#include "app/app.h"

struct store_topic;

/* Why due jobs of a topic are not delivered. */
enum app_hold {
    APP_HOLD_NONE,
    APP_HOLD_NO_URL, /* jobs without a url wait until the topic has one */
    APP_HOLD_PAUSED,
    APP_HOLD_SETTINGS,
    APP_HOLD_IN_FLIGHT,
    APP_HOLD_RATE,
    APP_HOLD_LINE
};

struct app_topic {
    struct slice name;
    struct slice settings; /* the topic's own settings, and for members that it does not set, those of the
                              patterns that match its name; empty: none */
    struct slice own;      /* the topic's own settings; empty: none */
    struct slice pattern;  /* the longest pattern that matches its name; empty: none */
    int64_t delayed, ready, held, leased,
        dead;       /* numbers of jobs; held jobs are due and wait for their receiver */
    int64_t due_ms; /* due time of the first waiting job; -1: no job waits */
    int64_t now_ms;
    bool is_pull;      /* workers lease its jobs (pull topic); if false, the next two members are not set */
    size_t waiting;    /* number of workers that wait in this process for its jobs */
    int64_t leased_ms; /* start of its oldest lease; 0: unknown, or it has no leases */
    enum app_hold hold;
    struct {
        int64_t began_ms, attempts;
    } window; /* current window of its rate; all 0 if the rate has no windows, or no window has begun */
    struct slice head; /* fifo topic: jobId of the job that all later jobs wait for; empty: none */
    /* Time at which the hold ends; 0: unknown, because a pause or a limit holds the topic. */
    int64_t held_until_ms;
    struct {
        int64_t delivered, retried, dead;
    } hour;     /* numbers of attempts within the last hour; the hour is accurate to 5 minutes */
    bool fails; /* too many of its last attempts failed */
    struct slice last_answer; /* to a failed attempt of the last hour: a status or a word; empty: none */
};

/* Converts a topic of the store. The result is valid as long as the data of the topic. Only the files of app/
 * call this. */
struct app_topic topic_view(const struct app *, const struct store_topic *);

#endif
