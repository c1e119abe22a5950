/* receivers.h - this reactor's copy of the records of impaired receivers in Redis.
 *
 * If attempts to a receiver fail, its circuit breaker opens. If a receiver asks for fewer attempts, it gets a
 * limit. report.lua decides both, by Redis's clock. The copy decides whether an attempt is sent or held
 * (permit.h). Two sources update the copy: the answers to this reactor's reports (permit.h), and the
 * reports of other reactors. Each claim returns the version of the records; if this version is newer than the
 * copy, the newer records are read. A healthy receiver costs Redis nothing.
 *
 * The files form layers: permit.c, hold.c, receivers.c. Each file calls only files that
 * follow it in this list. */
#ifndef DUEPOST_WORKER_RECEIVERS_H
#define DUEPOST_WORKER_RECEIVERS_H

#include "base/list.h"
#include "job/target/receiver.h"
#include "store/store.h"

enum { RECEIVER_BUCKETS = 4096 };

/* A certificate that was noted in Redis. The name is known by its hash only: if two receivers have the same
 * hash, the certificates of one of them may not be noted. */
struct receiver_certificate {
    uint64_t hash;
    int64_t until_ms;
    int64_t noted_us; /* CLOCK_BOOTTIME */
};

enum { RECEIVER_CERTIFICATES = 1024 };

struct shard_view;

/* name is valid until the callback returns. */
typedef void receivers_closed_fn(void *arg, struct slice name);

struct receivers {
    struct store *store;
    struct metrics *metrics;
    struct shard_view *shards;
    struct list buckets[RECEIVER_BUCKETS];
    struct list impaired; /* linked by age_link */
    size_t impaired_count, open_count, limited_count;
    struct list with_news; /* linked by news_link */
    struct timer *later;   /* fires when changed records may be read again */
    bool is_off;           /* breakers are off: they hold only the jobs of topics that turn breakers on */
    receivers_closed_fn *on_closed;
    void *closed_arg;
    struct receiver_certificate
        certificates[RECEIVER_CERTIFICATES]; /* by hash, the last one that was noted */
};

/* The results for the next report about a receiver. */
struct receiver_news {
    bool is_reachable; /* an attempt found the receiver healthy; failures counts only later attempts */
    int64_t failures, crowd, delivered;
    int64_t probe; /* number of a probe that is over; 0: none */
    enum receiver_probe_end {
        RECEIVER_PROBE_CONCLUSIVE,   /* the probe's result is in is_reachable or failures */
        RECEIVER_PROBE_INCONCLUSIVE, /* see RECEIVER_INCONCLUSIVE */
        RECEIVER_PROBE_UNSENT,
    } probe_end;
    bool wants_probe;
    char cause[RECEIVER_CAUSE_SIZE], inconclusive_cause[RECEIVER_CAUSE_SIZE];
};

/* Receives the answer to a request for the right to probe. may_send: the attempt may be sent. probe:
 * number of the probe; 0: the attempt is not a probe. */
typedef void receiver_probe_fn(void *arg, bool may_send, int64_t probe);

/* A receiver, or a path of a receiver, that has attempts in flight or is impaired. The members form groups:
 * the comment above each group names the file that writes its members. Times are those of
 * clock_wait_us unless said otherwise. */
struct receiver {
    /* receivers.c */
    struct receivers *receivers;
    struct list link;     /* link in its bucket of the hash table */
    struct list age_link; /* link in receivers.impaired; the record that was copied first comes first */
    bool is_path;         /* false: the name has no path */
    size_t shard;         /* number of the shard that has the receiver's record */
    size_t in_flight;     /* attempts of this reactor */
    bool is_impaired;     /* Redis has a record of the receiver, so all results are reported */
    int64_t version;      /* version of the shard's records when this one was copied */
    int64_t copied_us;
    bool is_open;      /* the breaker is open */
    int64_t probe_us;  /* no process may probe the receiver before this time */
    int64_t wait_ms;   /* wait between a failed probe and the next probe */
    int64_t probe;     /* number of the first probe under way, of any reactor; 0: none */
    int64_t probed_us; /* start of this probe */
    int64_t limit;     /* maximum of in_flight; 0: no limit */
    int64_t since_us;  /* time at which the breaker opened, or the limit began; converted from Redis's clock,
                          so the time may be slightly in the future */

    /* permit.c */
    struct list news_link; /* link in receivers.with_news, if there are results to report and no report is
                              under way */
    struct receiver_news news, sent;
    bool is_reporting;
    bool is_work;                /* there is something to report, see clock_note_work */
    int64_t reported_us;         /* time at which the report was sent (CLOCK_BOOTTIME) */
    receiver_probe_fn *on_probe; /* callback of the attempt that asked to probe; NULL: no attempt waits */
    void *probe_arg;
    /* The answer to a request for the right to probe has not come yet; the attempt that asked may have
     * ended. */
    bool is_asking;

    /* hold.c */
    int64_t row_us; /* time at which the last job of the row comes back */

    char name[];
};

/* Borrows store and metrics. */
struct receivers *receivers_new(struct loop *, struct store *, struct metrics *);

/* Sets the only function that is called when a breaker that was open in this copy closes. fn must not call
 * this module. */
void receivers_on_closed(struct receivers *, receivers_closed_fn *, void *arg);

/* Turns breakers off or on. When breakers are turned off, the jobs that they hold must resume. So the
 * function set by receivers_on_closed is called for each open breaker. At the start of a process with
 * breakers off, it is called for each breaker that is open in Redis. Breakers may open later, too: other
 * processes may have breakers on, and topics may turn them on. */
void receivers_turn_off(struct receivers *, bool is_off);

/* Frees the receivers. Call it after all permits have ended and the store was freed. NULL is ignored. */
void receivers_free(struct receivers *);

/* Notes that the records of the shard with this number have this version, and reads the records that are
 * newer than the copy. The version came with a claim or with the answer to a report, which was sent at
 * asked_us (CLOCK_BOOTTIME). */
void receivers_note_version(struct receivers *, size_t number, int64_t version, int64_t asked_us);

/* receivers_find returns the receiver with this name, and creates it if necessary. receiver_settle and
 * receiver_leave free a receiver that has no attempts in flight, no results to report, and no record in
 * Redis. */
struct receiver *receivers_find(struct receivers *, const char *name);
void receiver_settle(struct receiver *);

/* These functions count the attempts in flight. Call receiver_enter when an attempt begins, and
 * receiver_leave when it ends. */
void receiver_enter(struct receiver *);
void receiver_leave(struct receiver *);

/* Notes in Redis until when the certificate is valid that the receiver of the url has shown (ms since 1970),
 * unless this was done lately. */
void receivers_note_certificate(struct receivers *, const struct url *, int64_t until_ms);

/* Returns whether the receiver's limit of attempts in flight is reached. */
bool receiver_is_full(const struct receiver *);

/* Returns whether the receiver has results that were not reported yet. */
bool receiver_has_news(const struct receiver *);

/* Copies the record that Redis had when the shard was at this version. record is NULL if Redis had no record.
 * Answers on two connections may arrive in any order; an answer with an older version than the copy changes
 * nothing. */
void receiver_copy_record(struct receiver *, const struct receiver_record *, int64_t version);

/* Closes the breaker in this copy only. Used when the receiver answered but Redis did not. */
void receiver_close(struct receiver *);

/* Restarts the breaker's wait. Used when Redis did not answer the request for the right to probe, so that the
 * next jobs of this reactor do not ask at once. */
void receiver_put_off_probe(struct receiver *);

void receivers_count(const struct receivers *);

#endif
