/* hold.h - decides how long a due job is held (released to Redis) when it cannot be sent now, and resumes the
 * jobs that a breaker held.
 *
 * A job that comes back too early costs a claim and a release, and is held again. Therefore the held jobs of
 * a receiver form a row: they come back one after the other, at least 2 ms apart.
 *
 * Held by a breaker: a row of 100 jobs comes back when the receiver may be probed. One of them becomes the
 * probe. All further jobs wait until the breaker closes. If no process resumes them, they come
 * back at a random time within 1 to 10 minutes. With 1,000,000 held jobs, about 2,000 jobs a second come
 * back.
 *
 * Held by a limit: the time between two jobs of the row is 20 ms divided by the limit, as if each attempt
 * took 20 ms. The last job of the row comes back after at most 34 s, or a quarter of the time for which the
 * limit has existed if this is longer, but within 10 minutes (receiver_row_ms). Jobs that do not fit into the
 * row come back at random times in the last quarter of this period.
 *
 * Held because only a later version of duepost can serve the job, or because neither the job nor its topic
 * has a url: the job comes back after at least 5 s and at most 10 minutes. When the topic has a url again,
 * settings.lua and reoffer.lua resume its jobs at once. */
#ifndef DUEPOST_WORKER_HOLD_H
#define DUEPOST_WORKER_HOLD_H

#include "store/shard.h"
#include "worker/receivers.h"

int64_t hold_by_breaker_ms(struct receiver *);
int64_t hold_by_limit_ms(struct receiver *);

/* ---- jobs that this process must neither deliver nor bury ---- */

enum unserved_why {
    UNSERVED_JOB_LACKS,   /* the job's record needs a later version */
    UNSERVED_TOPIC_LACKS, /* the settings of its topic need a later version */
    UNSERVED_JOB_SHUT,    /* JOB_LACKS, because this process lacks an encryption key */
    UNSERVED_TOPIC_SHUT,  /* TOPIC_LACKS, because of that */
    UNSERVED_SETTINGS,    /* the settings of its topic cannot be read */
    UNSERVED_NO_KEY,      /* the server has no key for the topic's tokens */
    UNSERVED_NO_URL,      /* neither the job nor its topic has a url */
    UNSERVED_WHYS,
};

/* A consumer's state for jobs that this process cannot serve. Times are CLOCK_BOOTTIME. */
struct unserved {
    int64_t row_us; /* time at which the last job of the row comes back */
    struct {
        int64_t us;     /* time of the last warning */
        uint64_t quiet; /* number of jobs held without a warning since the last warning */
    } warned[UNSERVED_WHYS];
};

int64_t hold_unserved_ms(struct unserved *, int64_t now_us);

/* Logs a warning, at most once in ten seconds for each value of why. name is the job or topic. lacks is
 * empty, or names what this version of duepost lacks (unknown_members.h), or the encryption key that this
 * process lacks: JOB_LACKS then becomes JOB_SHUT, and TOPIC_LACKS becomes TOPIC_SHUT. */
void unserved_warn(struct unserved *, int64_t now_us, enum unserved_why, struct slice name,
                   struct slice lacks);

/* ---- resuming ----
 *
 * Gives held jobs back the due times that they had before the hold, when the circuit breaker of
 * their receiver closes.
 *
 * Every reactor in whose copy (receivers.h) the breaker was open does this, in each shard, in bounded
 * steps (sweep.h). The reactors share the work. Other processes may still hold jobs at the moment at which
 * the breaker closes, so each shard gets a second call a second later. If all these processes die before
 * they have done this, the jobs come back at the end of their hold (hold.h). */

struct resumer;

/* Borrows the store. */
struct resumer *resumer_new(struct loop *, struct store *);

/* Copies the receiver's name. */
void resumer_resume(struct resumer *, struct slice receiver);

/* Call it after the store was freed. NULL is ignored. */
void resumer_free(struct resumer *);

#endif
