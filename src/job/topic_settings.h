/* topic_settings.h - what an operator sets for a topic: JSON from the API, the text that Redis keeps, and
 * what a consumer makes of it.
 *
 * The text is JSON, too: Redis's scripts read paused, maxInFlight, rate, url, onDead and retention, consumers
 * the rest. What is not set is not in it; where nothing is set there is no text.
 *
 * Processes of several versions share the texts, as they do records (job.h): members that only a later
 * version knows are carried through unchanged, and needs names what a process must know to serve the topic.
 */
#ifndef DUEPOST_JOB_TOPIC_SETTINGS_H
#define DUEPOST_JOB_TOPIC_SETTINGS_H

#include "job/job.h"
#include "job/members.h"
#include "job/signature.h"

enum {
    TOPIC_MAX_IN_FLIGHT_MAX = 1000000,
    TOPIC_RATE_JOBS_MAX = 1000000,
    TOPIC_JITTER_MAX_PPM = 1000000,       /* all of a wait */
    TOPIC_SETTINGS_BYTES_MAX = 32 * 1024, /* of a text */
    TOPIC_PATCH_BYTES_MAX = 64 * 1024,    /* spaces and all */
};
#define TOPIC_RATE_PER_MIN_MS  INT64_C(1)
#define TOPIC_RATE_PER_MAX_MS  (INT64_C(86400) * 1000)
#define TOPIC_RETENTION_MIN_MS INT64_C(1000)
#define TOPIC_RETENTION_MAX_MS (INT64_C(90) * 86400 * 1000)

struct topic_settings {
    bool is_paused;
    int64_t max_in_flight;                      /* attempts at once, over all processes; 0: not set */
    int64_t rate_jobs, rate_per_ms, rate_burst; /* so many attempts begin in so long; rate_jobs 0: not set */
    bool has_schedule, has_timeout;
    struct retry_schedule schedule; /* of jobs that bring none */
    int64_t timeout_ms;             /* of jobs that bring none */
    struct slice url;               /* of jobs that bring none; empty: not set. Borrowed from the text */
    struct job_header headers[JOB_HEADERS_MAX]; /* of each job that has none with the same name */
    size_t header_count;
    struct buffer text;              /* owned: headers that had escapes */
    struct signing_keys secrets;     /* sign its jobs; none: those of all topics do */
    struct slice on_dead;            /* url that gets each dead job; empty: not set. Borrowed from the text */
    int64_t retention_ms;            /* for which a job can be read after its end; 0: not set */
    int64_t jitter_ppm;              /* each wait grows by a random share of up to this, in millionths */
    bool has_breaker, is_breaker_on; /* whether its jobs are held while their receiver's breaker is open */
#ifdef DUEPOST_TEST_NEXT
    struct slice next; /* a setting of a later version, for tests */
#endif
    struct slice lacks; /* the first thing that the text needs and this version does not know; empty: none */
    struct carried carried, rate_carried; /* members that this version does not know */
};

/* The table of settings, see members.h. */
extern const struct members topic_settings_members;

/* Reads what a client sends. INVALID: errors says everything that is wrong. NO_MEMORY: errors says nothing.
 * The settings need no fini then. OK: they borrow text. */
enum status topic_settings_parse(struct slice text, struct topic_settings *, struct job_errors *) MUST_USE;

/* Reads what topic_settings_write of this or another version wrote; an empty text sets nothing. INVALID: it
 * did not write that. The settings need no fini then. OK: they borrow text. */
enum status topic_settings_read(struct slice text, struct topic_settings *) MUST_USE;

/* Reads what a job of this topic gets of the text, as topic_settings_read does. A sibling topic gets parts of
 * its owner's settings: the signing secrets, the retention, and the headers with the url that says where
 * these may go. */
enum status topic_settings_read_for(struct slice topic, struct slice text, struct topic_settings *) MUST_USE;

void topic_settings_fini(struct topic_settings *);

/* The text; nothing where nothing is set. */
void topic_settings_write(const struct topic_settings *, struct buffer *);

/* The known settings alone; "{}" where nothing is set. */
void topic_settings_write_known(const struct topic_settings *, struct buffer *);

/* The same for people, without what may be secret: values of headers, queries of urls. */
void topic_settings_show(const struct topic_settings *, struct buffer *);

/* Whether a topic with this text, as it is kept, is served. */
enum topic_service {
    TOPIC_SERVED,
    TOPIC_PAUSED,
    TOPIC_UNREADABLE, /* somebody else wrote the text: no process serves the topic */
    TOPIC_LACKING,    /* processes of a later version serve it */
};
enum topic_service topic_settings_service(struct slice text);

/* Applies a JSON merge patch (RFC 7396) to old. text: where the new settings are put together. INVALID:
 * errors says all that is wrong. NO_MEMORY: errors says nothing. The settings need no fini then. OK: they
 * borrow text, and what old carries. */
enum status topic_settings_patch(const struct topic_settings *old, struct slice patch, struct buffer *text,
                                 struct topic_settings *, struct job_errors *) MUST_USE;

/* Returns whether "*" may have these settings: those with MEMBER_FOR_ALL. They count where a topic has none
 * of its own. */
bool topic_settings_are_for_all(const struct topic_settings *);

/* A wait with its jitter; random: any 32 bits. */
int64_t topic_settings_wait_ms(const struct topic_settings *, int64_t wait_ms, uint32_t random);

#endif
