/* topic.h - a topic: numbers of its jobs, and why they wait; a limit that several topics share. */
#ifndef DUEPOST_JOB_TOPIC_TOPIC_H
#define DUEPOST_JOB_TOPIC_TOPIC_H

#include "job/job.h"
#include "job/job_id.h"

enum { TOPIC_FREE = -1, TOPIC_HELD = -2 };

/* Why due jobs of a topic are not delivered. */
enum topic_hold {
    HOLD_NONE,
    HOLD_NO_URL, /* jobs without a url wait until the topic has one */
    HOLD_PAUSED,
    HOLD_SETTINGS,
    HOLD_IN_FLIGHT,
    HOLD_RATE,
    HOLD_LINE,
    HOLD_WINDOWS, /* the windows of the topic are closed */
    HOLD_BATCH,   /* jobs wait for others of their batch */
    HOLD_LIMIT    /* the limit that the topic shares with other topics */
};

/* A topic and its current state. Borrows its slices. */
struct topic {
    struct slice name;
    /* settings of the topic, completed by its patterns, see topic_settings.h; empty: none */
    struct slice settings;
    struct slice own;                     /* the topic's own settings only; empty: none */
    struct slice pattern;                 /* the longest pattern that matches; empty: none */
    int64_t delayed, ready, leased, dead; /* numbers of jobs */
    /* Jobs that are due but held until the next check of their receiver. Such jobs count neither as delayed
     * nor as ready. */
    int64_t held;
    bool has_quota;
    int64_t quota;  /* the most jobs that may wait or be in flight, see topic_pending. A sibling topic has the
                       quota of its owner, for its own jobs */
    bool lacks_url; /* some of the held jobs have no url, and the topic has none either */
    int64_t now_ms; /* time of reading */
    int64_t due_ms; /* due time of the first waiting job; -1: no job waits */
    /* Time until which the first waiting job is held although it is due. TOPIC_FREE if this job is
     * not held; TOPIC_HELD if no time is known, because a pause or a limit holds the job. */
    int64_t held_ms;
    /* The head of a fifo topic: id of the job that all later jobs wait for, which is the job in flight or
     * else the first waiting job. Empty if the topic is not fifo or has no jobs. */
    struct slice head;
    /* The current window of the topic's rate: its start, and the number of attempts that began in it; both 0
     * if there is no window. */
    struct {
        int64_t began_ms, attempts;
    } window;
    /* Start of the oldest lease of a worker; 0: unknown, or no lease. Only set for a topic that was requested
     * by name. */
    int64_t leased_ms;
    /* Numbers of attempts in the last hour, accurate to 5 minutes, by outcome: the job was delivered, had
     * to be retried, or was dead. */
    struct {
        int64_t delivered, retried, dead;
    } hour;
    int64_t opens_ms;  /* when its windows let the next attempt begin; TOPIC_FREE: now; TOPIC_HELD: unknown */
    bool is_gathering; /* the first ready job waits for its batch until held_ms */
    bool lacks_zone;   /* opens_ms is unknown because the time zone of a window is */
    bool fails;        /* too many of its last attempts failed, see scripts/lib/hours.lua */
    struct slice last_answer; /* status or word for the last error within the hour; empty: none */

    /* Only use cases (app/) set the following members. */
    bool is_pull;          /* workers lease its jobs (pull topic) */
    size_t waiting;        /* pull topic: number of workers that wait in this process for its jobs */
    enum topic_hold hold;  /* why its due jobs are not delivered */
    struct slice head_job; /* jobId of head */
    int64_t held_until_ms; /* time at which the hold ends; 0: unknown, because a pause or a limit holds the
                              topic */
};

/* A limit that several topics share, and its current state. Borrows its slices. */
struct limit {
    struct slice name, settings; /* settings: see limit_settings_read */
    int64_t in_flight;           /* number of attempts in flight of all its topics */
    int64_t waiting;             /* number of topics that wait for it */
    int64_t next_ms;             /* time at which its rate lets the next attempt begin; -1: now */
    int64_t now_ms;              /* time of reading */
    struct slice topics; /* names of the first topics that wait, in their order, separated by spaces; only set
                            for a limit that was requested by name */

    /* Only use cases (app/) set the following members. */
    int64_t max_in_flight; /* 0: not set */
    enum topic_hold hold;  /* why it lets no attempt begin now: HOLD_PAUSED, HOLD_IN_FLIGHT or HOLD_RATE; or
                              HOLD_NONE */
};

/* A key of a topic, whose jobs form a lane, and its current state. Borrows its slices. */
struct topic_lane {
    struct slice key;        /* empty: the jobs without a key */
    struct slice settings;   /* the key's own settings, see key_settings_read; empty: none */
    int64_t pending;         /* number of jobs that wait or are in flight */
    int64_t in_flight;       /* number of attempts in flight */
    int64_t topic_in_flight; /* number of attempts in flight of the whole topic */
    int64_t due_ms;          /* due time of the first waiting job; -1: no job waits */
    /* HOLD_PAUSED, HOLD_IN_FLIGHT, HOLD_LINE, HOLD_RATE or HOLD_BATCH: why this job is held although it is
     * due; or HOLD_NONE */
    enum topic_hold hold;
    int64_t held_until_ms; /* time at which the hold ends; 0: unknown */
    int64_t now_ms;        /* time of reading */
};
/* Returns the number of the topic's jobs that wait or are in flight. */
static inline int64_t topic_pending(const struct topic *topic)
{
    return topic->delayed + topic->ready + topic->held + topic->leased;
}

/* Where a list of topics continues: in this shard, after the topic with this name. All zeros mean the
 * beginning. */
struct topic_cursor {
    size_t shard;
    struct slice name;
};

/* A topic whose jobs have been overdue longest, or are due next. */
struct urgent_topic {
    char name[JOB_TOPIC_NAME_MAX + 1];
    int64_t delayed, ready, held, leased, dead; /* numbers of jobs */
    int64_t due_ms;  /* due time of the first waiting job; INT64_MAX: no job waits */
    int64_t late_ms; /* time since this job was due; 0: it is not due */
    bool is_paused, is_pull;
    bool lacks_url; /* see struct topic */
};

/* The quota of a topic that has refused new jobs. */
struct topic_quota {
    struct slice topic;
    int64_t max;     /* see quota in struct topic */
    int64_t pending; /* see topic_pending */
    int64_t wait_ms; /* time until the topic may have room */
    bool has_key;    /* the quota is that of a key of the topic */
    struct slice key;
};

/* A topic with a quota, and its number of jobs. */
struct quota_topic {
    char name[JOB_TOPIC_NAME_MAX + 1];
    int64_t quota, pending;
};

enum { TOPIC_ANSWER_MAX = 31 };

/* A topic that fails: numbers of attempts within the last hour, and the last answer to a failed attempt. */
struct failing_topic {
    char name[JOB_TOPIC_NAME_MAX + 1];
    int64_t failed, attempts;
    char last_answer[TOPIC_ANSWER_MAX + 1]; /* empty: none */
};

#endif
