/* why.h - the use case that finds out why a job is not delivered yet, or how it ended.
 *
 * The use case reads the job, then its topic, and then its receiver. If one of them changes in between, the
 * results may contradict each other. */
#ifndef DUEPOST_APP_WHY_H
#define DUEPOST_APP_WHY_H

#include "base/seal.h"
#include "app/app.h"
#include "job/target/receiver.h"
#include "job/topic/topic.h"

enum app_why {
    APP_WHY_NOT_DUE,
    APP_WHY_RETRY,   /* the job waits for the next attempt */
    APP_WHY_NOT_YET, /* the receiver asked for a later delivery ("not yet", delivery_form.h); the job waits
                        for its next round of attempts */
    APP_WHY_ENCRYPTION_KEY, /* this process lacks the key with which the job's record is encrypted */
    APP_WHY_LATER_VERSION,  /* the job's record, or the topic's settings, need a later version of duepost */
    APP_WHY_IN_TURN,        /* the job is due and waits for its turn */
    APP_WHY_SETTINGS,       /* the topic's settings cannot be read */
    APP_WHY_NO_URL,         /* neither the job nor its topic has a url */
    APP_WHY_PAUSED,
    APP_WHY_WINDOWS, /* the windows of the topic are closed */
    APP_WHY_BATCH,   /* the job waits for others that are delivered together with it */
    APP_WHY_MAX_IN_FLIGHT,
    APP_WHY_RATE,
    APP_WHY_KEY,   /* the job's key lets no attempt begin: its settings, or perKey of the topic */
    APP_WHY_LIMIT, /* the limit that the topic shares with other topics lets no attempt begin */
    APP_WHY_ORDER, /* the topic is fifo, and the job waits for an earlier job */
    APP_WHY_BREAKER,
    APP_WHY_RECEIVER_LIMIT,
    APP_WHY_WAITS_FOR_WORKER, /* the job is due, and no worker has leased it */
    APP_WHY_UNDER_WAY,
    APP_WHY_DEAD,
    APP_WHY_DELIVERED,
    APP_WHY_CANCELLED,
};

struct app_finding {
    enum app_why why;
    enum job_state state;
    int64_t next_ms; /* time from which the job no longer waits for this reason, without any change by a
                        client; 0: unknown */
    int attempts;    /* number of failed attempts in this round (job/delivery/delivery_form.h) */
    int rounds; /* number of rounds that the receiver has ended with "not yet" (job/delivery/delivery_form.h)
                 */
    struct attempt_result last_attempt;
    const char *reason;             /* reason why the job died */
    int64_t ended_ms, now_ms;       /* DEAD, DELIVERED, CANCELLED: when the job ended, and when it was read */
    bool is_of_history;             /* the job is in the history and no longer in Redis */
    bool is_body_left_out;          /* see stored_job */
    char lacks_key[SEAL_NAME_SIZE]; /* ENCRYPTION_KEY: its name */
    bool is_record;   /* LATER_VERSION: true: the job's record needs the later version; false: the topic's
                         settings need it */
    bool is_deferred; /* leased: the receiver has deferred the end of the attempt */
    bool is_pull;     /* the job's topic is a pull topic: workers lease the jobs */
    bool lacks_zone;  /* WINDOWS: the time zone of a window is unknown, so it is not known when it opens */
    bool is_topic_paused;      /* the topic is paused, so the job will be held when it is due */
    int64_t ready, leased;     /* numbers of jobs of its topic */
    struct slice head;         /* ORDER: jobId of the earlier job */
    const struct limit *limit; /* LIMIT: the limit; only its name is set if it could not be read */
    int64_t before; /* LIMIT: number of topics that wait for the limit and come before; -1: unknown */
    const char *pause_reason; /* PAUSED, KEY, LIMIT: reason of the pause of the topic, key or limit; may be
                                 empty */
    struct slice key;         /* key of the job; empty: none */
    /* KEY, IN_TURN: state of the key; its slices are not set. pending is 0 if it is not known. */
    struct topic_lane lane;
    int64_t key_max_in_flight;              /* KEY: maximum number of attempts of the key; 0: not set */
    const struct receiver_record *receiver; /* BREAKER, RECEIVER_LIMIT: the receiver that holds the job */
};

typedef void app_finding_fn(void *arg, const struct app_finding *);

/* Finds the reason for one job. Calls each() with the struct app_finding, and then fn with the verdict. */
void app_why(struct app *, struct slice id, app_finding_fn *each, app_verdict_fn *fn, void *arg);

#endif
