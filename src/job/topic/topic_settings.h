/* topic_settings.h - the settings of a topic: parsed from the API's JSON, stored in Redis, and used by
 * consumers; the settings of a limit that several topics share, and of a key of a topic; and the set of all
 * patterns with their settings.
 *
 * The stored text is JSON, too. Redis's scripts read paused, pauseReason, maxInFlight, maxPending, rate,
 * limit, perKey, priorityAge, retryPriority, weight, order, onHeadDead, delivery, url, the callbacks and
 * retention; consumers read the rest. Settings that are not set are not in the text. A topic without settings
 * has no text.
 *
 * Processes of several versions share the texts, as they share records (job.h). Members that only a later
 * version knows are carried unchanged. The member "needs" has the names of the features that a process must
 * know to serve the topic (unknown_members.h). The secret members may be encrypted (topic_sealed.h). */
#ifndef DUEPOST_JOB_TOPIC_TOPIC_SETTINGS_H
#define DUEPOST_JOB_TOPIC_TOPIC_SETTINGS_H

#include "job/delivery/signature.h"
#include "job/job.h"
#include "job/text/members.h"
#include "job/topic/topic_auth.h"
#include "job/topic/topic_layers.h"
#include "job/topic/topic_patterns.h"

enum {
    TOPIC_MAX_IN_FLIGHT_MAX = 1000000,
    TOPIC_MAX_PENDING_MAX = 1000000000,
    TOPIC_RATE_JOBS_MAX = 1000000,
    TOPIC_BATCH_SIZE_MAX = 100,
    TOPIC_BATCH_WAIT_MAX_MS = 60 * 1000,
    TOPIC_BATCH_BYTES_MIN = 1024,
    TOPIC_BATCH_BYTES_MAX = 4 * 1024 * 1024, /* a claim ends at as many bytes of records */
    TOPIC_BATCH_BYTES = 1024 * 1024,         /* the default */
    TOPIC_WEIGHT_MAX = 100,
    TOPIC_JITTER_MAX_PPM = 1000000,       /* 100 % of a wait, in millionths */
    TOPIC_PAUSE_REASON_MAX = 1024,        /* bytes */
    TOPIC_SETTINGS_BYTES_MAX = 80 * 1024, /* maximum size of a text in bytes */
    TOPIC_PATCH_BYTES_MAX = 64 * 1024,    /* including spaces */
};
#define TOPIC_PRIORITY_AGE_MIN_MS INT64_C(1000)
#define TOPIC_PRIORITY_AGE_MAX_MS (INT64_C(365) * 86400 * 1000)
#define TOPIC_RATE_PER_MIN_MS     INT64_C(1)
#define TOPIC_RATE_PER_MAX_MS     (INT64_C(7) * 86400 * 1000)
#define TOPIC_RETENTION_MIN_MS    INT64_C(1000)
#define TOPIC_RETENTION_MAX_MS    (INT64_C(90) * 86400 * 1000)

/* Bounds of the jobs of one key, which form a lane of their topic. They apply to each key without a value of
 * its own (the setting "perKey"), or to this key. */
struct lane_settings {
    int64_t max_in_flight;                      /* maximum number of concurrent attempts; 0: not set */
    int64_t rate_jobs, rate_per_ms, rate_burst; /* see struct topic_settings; there are no windows */
    struct slice order; /* "fifo": one at a time, in order; empty: not set. Borrows the text. */
    bool has_max_pending;
    int64_t max_pending; /* quota: the most jobs that may wait or be in flight */
    int64_t weight;      /* the key's share of the topic's attempts, relative to other keys; 0: not set, which
                            counts as 1 */
    struct unknown_members unknown, rate_unknown;
};

struct topic_settings {
    bool has_paused, is_paused;
    int64_t
        weight; /* the topic's share of attempts, relative to other topics; 0: not set, which counts as 1 */
    int64_t max_in_flight; /* maximum number of concurrent attempts, in all processes; 0: not set */
    bool has_max_pending;
    int64_t max_pending; /* quota: the most jobs that may wait or be in flight */
    int64_t rate_jobs, rate_per_ms,
        rate_burst; /* rate_jobs attempts may begin per rate_per_ms; rate_jobs is 0 if not set */
    bool has_rate_window, is_rate_window; /* rate_jobs attempts may begin in each window, even all at once;
                                             rate_burst is not used */
    int64_t rate_since_ms; /* windows that began before this time are forgotten; 0: not set. Clients cannot
                              set it. */
    struct slice limit;    /* the limit that the topic shares with other topics; empty: none */
    struct slice windows;  /* as in the text, see windows.h; empty: attempts may begin at any time */
    bool has_per_key;
    struct lane_settings per_key; /* bounds of each key; the settings of a key have their bounds here, too */
    int64_t priority_age_ms;      /* time after which a job goes first like a job of the next higher priority;
                                     MEMBER_OFF: never; 0: not set */
    bool has_retry_priority;
    int retry_priority;        /* priority of jobs that had an attempt */
    struct slice pause_reason; /* why the topic is paused, a text for people; empty unless is_paused */
    struct slice order;        /* "due", "fifo"; empty: not set */
    struct slice on_head_dead; /* "go", "pause": a dead job pauses a fifo topic; empty: not set */
    struct slice delivery;     /* "push", "pull": workers lease the jobs; empty: not set */
    bool has_schedule, has_timeout;
    struct retry_schedule schedule; /* for jobs without their own retry schedule */
    int64_t timeout_ms;             /* default for jobs without a timeout */
    struct slice url;               /* default for jobs without a url; empty: not set. Borrows the text */
    struct job_header headers[JOB_HEADERS_MAX]; /* each is sent with jobs that have no header of this name */
    size_t header_count;
    struct buffer text;   /* owned: decoded headers */
    struct buffer united; /* owned: the text into which several layers were merged, see topic_layers.h, or
                             that was sealed */
    struct signing_keys secrets; /* keys that sign deliveries; empty: the keys of the server sign */
    bool has_auth;
    struct topic_auth auth;    /* how requests say who sends them */
    struct slice egress_proxy; /* HTTP proxy for the topic's requests; empty: that of the server */
    struct slice signature;    /* "standard", "rfc9421", "both" (signature.h); empty: not set */
    /* The callbacks of jobs without their own, see callback.h; empty: not set. Borrows the text. */
    struct slice on_delivered, on_dead, on_attempt;
    struct slice alerts;  /* rules of alerts, see alert_rules.h; empty: not set. Borrows the text. */
    int64_t retention_ms; /* how long a job can be read after its end; 0: not set */
    int64_t jitter_ppm;   /* each wait grows by a random share of itself; this is the largest share, in
                             millionths */
    bool has_breaker, is_breaker_on; /* whether breakers of receivers hold the topic's jobs */
    /* JSON that the code for a sibling topic keeps here, such as the settings of a QStash queue; empty: none.
     * Borrows the text. Clients cannot set or see this member. */
    struct slice note;
    /* JSON of the keys with which forms of delivery sign; empty: none. Borrows the text. Clients cannot set
     * or see it. */
    struct slice form_keys;
#ifdef DUEPOST_TEST_NEXT
    struct slice next; /* stands for a setting that a later version adds; only in builds for tests */
#endif
    bool has_defer, is_deferring;       /* receivers may end an attempt later, see lease_text.h */
    bool has_results, are_results_kept; /* the answer that delivers a job is kept with it */
    bool has_events, are_events_kept;   /* what happens to jobs can be read as a stream (app/stream.h) */
    struct slice lacks; /* the first name in "needs" that this version does not know; or JOB_LACKS_KEY and the
                           name of a key that this process lacks; empty: none. Valid as long as the text
                           and the settings */
    int64_t batch_size; /* maximum number of jobs that are delivered together; 0: each job alone */
    int64_t batch_wait_ms; /* how long the first of them waits for others */
    int64_t batch_bytes;   /* maximum size of their request; 0: TOPIC_BATCH_BYTES */
    struct unknown_members unknown, rate_unknown, batch_unknown,
        auth_unknown; /* members that this version does not know */
};

/* The table of settings, see members.h. */
extern const struct members topic_settings_members;

/* Parses a client's settings. If OK, the settings borrow text. If INVALID, errors has all faults. If
 * NO_MEMORY, errors is empty. After a failure the settings have nothing to free. */
enum status topic_settings_parse(struct slice text, struct topic_settings *, struct job_errors *) MUST_USE;

/* Reads a text that topic_settings_write of this or another version wrote, or the layers of a topic
 * (topic_layers.h). If the text is empty, no setting is set. If OK, the settings borrow text. INVALID means
 * that duepost did not write the text; the settings then have nothing to free. */
enum status topic_settings_read(struct slice text, struct topic_settings *) MUST_USE;

/* Works like topic_settings_read, but reads only the settings that apply to jobs of this topic, and refuses
 * secrets that were sealed for another one. A sibling topic gets parts of its owner's settings: the signing
 * secrets, the retention, the headers, and the url, because the headers are sent only to the url's scheme,
 * host and port. */
enum status topic_settings_read_for(struct slice topic, struct slice text, struct topic_settings *) MUST_USE;

void topic_settings_fini(struct topic_settings *);

/* Writes the text, or nothing if no setting is set. Before it is stored, it must pass topic_settings_seal. */
void topic_settings_write(const struct topic_settings *, struct buffer *);

/* Writes the known settings as clients may see them: values of headers and queries of urls are masked. */
void topic_settings_show(const struct topic_settings *, struct buffer *);

/* Whether this process serves a topic whose stored settings have this text. */
enum topic_service {
    TOPIC_SERVED,
    TOPIC_PAUSED,
    TOPIC_UNREADABLE, /* duepost did not write the text: no process serves the topic */
    TOPIC_LACKING,    /* only processes of a later version serve the topic */
};
enum topic_service topic_settings_service(struct slice text);

/* Applies a JSON merge patch (RFC 7396) to old. text is a buffer for the new settings. If OK, the new
 * settings borrow text, and the unknown members in old. If INVALID, errors has all faults. If NO_MEMORY,
 * errors is empty. After a failure the new settings have nothing to free. */
enum status topic_settings_patch(const struct topic_settings *old, struct slice patch, struct buffer *text,
                                 struct topic_settings *, struct job_errors *) MUST_USE;

/* ---- limits that topics share ----
 *
 * A limit bounds the attempts of all topics that name it in their setting "limit". Its settings are paused,
 * pauseReason, maxInFlight and rate, with the same meaning and the same text as those of a topic; the other
 * members of the struct are not set. */

/* Work as the functions of topics above. A limit without settings has the text "{}", which bounds nothing. */
enum status limit_settings_parse(struct slice text, struct topic_settings *, struct job_errors *) MUST_USE;
enum status limit_settings_read(struct slice text, struct topic_settings *) MUST_USE;
enum status limit_settings_patch(const struct topic_settings *old, struct slice patch, struct buffer *text,
                                 struct topic_settings *, struct job_errors *) MUST_USE;
void limit_settings_write(const struct topic_settings *, struct buffer *);

/* ---- keys of a topic ----
 *
 * A key of a topic may have settings of its own, which win over the topic's setting "perKey": paused,
 * pauseReason, maxInFlight, rate, maxPending and weight. The bounds are in per_key; the other members of the
 * struct are not set. A key without settings has no text. */
enum status key_settings_parse(struct slice text, struct topic_settings *, struct job_errors *) MUST_USE;
enum status key_settings_read(struct slice text, struct topic_settings *) MUST_USE;
enum status key_settings_patch(const struct topic_settings *old, struct slice patch, struct buffer *text,
                               struct topic_settings *, struct job_errors *) MUST_USE;
void key_settings_write(const struct topic_settings *, struct buffer *);
void key_settings_show(const struct topic_settings *, struct buffer *);

/* ---- using ---- */

/* Returns whether jobs of the topic are delivered in order, one at a time. */
bool topic_settings_are_fifo(const struct topic_settings *);

/* Returns whether workers lease the jobs of the topic (store/pull.h), so that they are not POSTed. */
bool topic_settings_are_pull(const struct topic_settings *);

/* Returns the wait, lengthened by the jitter of these settings. random has 32 random bits. */
int64_t topic_settings_wait_ms(const struct topic_settings *, int64_t wait_ms, uint32_t random);

/* ---- defaults of jobs ----
 *
 * Values that a job does not set: they come from its topic, or from duepost's defaults.
 *
 * settings is NULL for a topic without settings. Results are valid as long as job and settings. */

enum { TOPIC_DEFAULTS_HEADERS_MAX = 2 * JOB_HEADERS_MAX };

/* Returns the url, which is empty if neither job nor topic has a url. */
struct slice topic_defaults_url(const struct topic_settings *settings, const struct job *);

int64_t topic_defaults_timeout_ms(const struct topic_settings *settings, const struct job *);

/* Returns the retry schedule for jobs without their own: that of the topic, or else "ours", which is
 * duepost's default. */
const struct retry_schedule *topic_defaults_schedule(const struct topic_settings *settings,
                                                     const struct retry_schedule *ours);

/* Fills headers and returns their number. The headers of the job come first, then the topic's headers whose
 * names the job does not have. A topic with a url adds its headers to jobs without a url and to jobs whose
 * url has the same scheme, host and port. A topic without a url adds its headers to all jobs. */
size_t topic_defaults_headers(const struct topic_settings *settings, const struct job *,
                              struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX]);

/* ---- the set of all patterns ----
 *
 * All patterns of topics, with the texts of their settings (topic_layers.h). One change can
 * affect the texts of several patterns. */

enum { PATTERN_SET_MAX = 100 };

/* A zeroed struct is an empty set. */
struct pattern_set {
    size_t count;
    struct pattern {
        struct buffer name, text; /* owned */
    } patterns[PATTERN_SET_MAX + 1];
};

void pattern_set_fini(struct pattern_set *);

/* Adds a pattern that Redis has, and opens its text. Returns false if the set is full. */
bool pattern_set_add(struct pattern_set *, struct slice name, struct slice text);

/* Returns the pattern's text, or "" if it has no settings. A text that does not open is still sealed. */
struct slice pattern_set_text(const struct pattern_set *, struct slice name);

enum pattern_set_end {
    PATTERN_SET_DONE,
    PATTERN_SET_FULL,       /* the set already has PATTERN_SET_MAX patterns */
    PATTERN_SET_UNREADABLE, /* duepost did not write the text of the pattern, or of a longer pattern */
    PATTERN_SET_LACKING,    /* a longer pattern needs a later version, or a key that the process lacks */
};

/* Sets the pattern's own settings, or removes the pattern if "own" is empty. Then writes the texts of all
 * longer patterns that match some of its topics, because these texts contain its settings. Then seals all
 * texts, if the process has keys. If the result is not DONE, the caller must not use the set any more. */
enum pattern_set_end pattern_set_change(struct pattern_set *, struct slice name, struct slice own) MUST_USE;

#endif
