/* topic_settings.h - the settings of a topic: parsed from the API's JSON, stored in Redis, and used by
 * consumers.
 *
 * The stored text is JSON, too. Redis's scripts read paused, maxInFlight, rate, weight, order, onHeadDead,
 * delivery, url, the callbacks and retention; consumers read the rest. Settings that are not set are not in
 * the text. A topic without settings has no text.
 *
 * Processes of several versions share the texts, as they share records (job.h). Members that only a later
 * version knows are carried unchanged. needs names the features that a process must know to serve the
 * topic. */
#ifndef DUEPOST_JOB_TOPIC_SETTINGS_H
#define DUEPOST_JOB_TOPIC_SETTINGS_H

#include "job/job.h"
#include "job/members.h"
#include "job/signature.h"

enum {
    TOPIC_MAX_IN_FLIGHT_MAX = 1000000,
    TOPIC_RATE_JOBS_MAX = 1000000,
    TOPIC_WEIGHT_MAX = 100,
    TOPIC_JITTER_MAX_PPM = 1000000,       /* 100 % of a wait */
    TOPIC_PAUSE_REASON_MAX = 1024,        /* bytes */
    TOPIC_SETTINGS_BYTES_MAX = 80 * 1024, /* bytes of a text */
    TOPIC_PATCH_BYTES_MAX = 64 * 1024,    /* including spaces */
};
#define TOPIC_RATE_PER_MIN_MS  INT64_C(1)
#define TOPIC_RATE_PER_MAX_MS  (INT64_C(7) * 86400 * 1000)
#define TOPIC_RETENTION_MIN_MS INT64_C(1000)
#define TOPIC_RETENTION_MAX_MS (INT64_C(90) * 86400 * 1000)

struct topic_settings {
    bool has_paused, is_paused;
    int64_t
        weight; /* the topic's share of attempts, relative to other topics; 0: not set, which counts as 1 */
    int64_t max_in_flight; /* maximum number of concurrent attempts, in all processes; 0: not set */
    int64_t rate_jobs, rate_per_ms,
        rate_burst; /* rate_jobs attempts may begin in rate_per_ms; rate_jobs is 0 if not set */
    bool has_rate_window, is_rate_window; /* rate_jobs attempts may begin in each window, at any time in it;
                                             there is no burst */
    int64_t rate_since_ms; /* windows that began before this time do not count; 0: not set. Clients cannot set
                              it. */
    struct slice pause_reason; /* text for people; empty unless is_paused */
    struct slice order;        /* "due", "fifo"; empty: not set */
    struct slice on_head_dead; /* "go", "pause": a dead job pauses a fifo topic; empty: not set */
    struct slice delivery;     /* "push", "pull": workers lease the jobs; empty: not set */
    bool has_schedule, has_timeout;
    struct retry_schedule schedule; /* default for jobs without a schedule */
    int64_t timeout_ms;             /* default for jobs without a timeout */
    struct slice url;               /* default for jobs without a url; empty: not set. Borrows the text */
    struct job_header headers[JOB_HEADERS_MAX]; /* added to each job that has no header of the same name */
    size_t header_count;
    struct buffer text;          /* owned: decoded headers */
    struct buffer united;        /* owned: the text of several layers, see topic_layers.h */
    struct signing_keys secrets; /* for deliveries; empty: the keys of the server are used */
    /* The callbacks of jobs without their own, see callback.h; empty: not set. Borrows the text. */
    struct slice on_delivered, on_dead, on_attempt;
    int64_t retention_ms;            /* how long a job can be read after its end; 0: not set */
    int64_t jitter_ppm;              /* maximum random share by which each wait grows, in millionths */
    bool has_breaker, is_breaker_on; /* whether breakers of receivers hold the topic's jobs */
    /* JSON of the code that writes a sibling topic's settings, such as the settings of a QStash queue; empty:
     * none. Borrows the text. Clients cannot set or see it. */
    struct slice note;
    /* JSON of the keys with which forms of delivery sign; empty: none. Borrows the text. Clients cannot set
     * or see it. */
    struct slice form_keys;
#ifdef DUEPOST_TEST_NEXT
    struct slice next; /* a setting of a later version, for tests */
#endif
    struct slice lacks;                   /* the first need that this version does not know; empty: none */
    struct carried carried, rate_carried; /* members that this version does not know */
};

/* The table of settings, see members.h. */
extern const struct members topic_settings_members;

/* Parses a client's settings. If OK, the settings borrow text. If INVALID, errors has all faults. If
 * NO_MEMORY, errors is empty. After a failure the settings have nothing to free. */
enum status topic_settings_parse(struct slice text, struct topic_settings *, struct job_errors *) MUST_USE;

/* Reads a text that topic_settings_write of this or another version wrote, or the layers of a topic
 * (topic_layers.h); for an empty text, no setting is set. If OK, the settings borrow text. INVALID means that
 * duepost did not write the text; the settings then have nothing to free. */
enum status topic_settings_read(struct slice text, struct topic_settings *) MUST_USE;

/* Reads the settings that a job of this topic gets from the text. Otherwise works like topic_settings_read. A
 * sibling topic gets parts of its owner's settings: the signing secrets, the retention, the headers, and the
 * url, which limits the receivers of the headers. */
enum status topic_settings_read_for(struct slice topic, struct slice text, struct topic_settings *) MUST_USE;

void topic_settings_fini(struct topic_settings *);

/* Writes the text, or nothing if no setting is set. */
void topic_settings_write(const struct topic_settings *, struct buffer *);

/* Writes the known settings as clients may see them: values of headers and queries of urls are masked. */
void topic_settings_show(const struct topic_settings *, struct buffer *);

/* Says whether this process serves a topic with this stored text. */
enum topic_service {
    TOPIC_SERVED,
    TOPIC_PAUSED,
    TOPIC_UNREADABLE, /* duepost did not write the text: no process serves the topic */
    TOPIC_LACKING,    /* processes of a later version serve it */
};
enum topic_service topic_settings_service(struct slice text);

/* Applies a JSON merge patch (RFC 7396) to old. text is a buffer for the new settings. If OK, the new
 * settings borrow text and the members that old carries. If INVALID, errors has all faults. If NO_MEMORY,
 * errors is empty. After a failure the new settings have nothing to free. */
enum status topic_settings_patch(const struct topic_settings *old, struct slice patch, struct buffer *text,
                                 struct topic_settings *, struct job_errors *) MUST_USE;

/* Returns whether jobs of the topic are delivered in order, one at a time. */
bool topic_settings_are_fifo(const struct topic_settings *);

/* Returns whether workers lease the jobs of the topic (store/pull.h), so that they are not POSTed. */
bool topic_settings_are_pull(const struct topic_settings *);

/* Returns a wait with its jitter. random is any 32 bits. */
int64_t topic_settings_wait_ms(const struct topic_settings *, int64_t wait_ms, uint32_t random);

#endif
