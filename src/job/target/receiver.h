/* receiver.h - the HTTP server behind a job's url: its name, and its health after an attempt. */
#ifndef DUEPOST_JOB_TARGET_RECEIVER_H
#define DUEPOST_JOB_TARGET_RECEIVER_H

#include "job/job.h"
#include "job/target/url.h"

enum {
    RECEIVER_HOST_SIZE = 264, /* this size and the sizes below include the NUL */
    RECEIVER_PATH_MAX = 128,  /* longer paths are cut to this size in bytes, and a hash replaces the rest */
    RECEIVER_NAME_SIZE = RECEIVER_HOST_SIZE + RECEIVER_PATH_MAX + 24,
    RECEIVER_CAUSE_SIZE = 24,
};

/* Writes the receiver's name, "host:port". All spellings of a host have the same name: in lower case, without
 * a dot at the end, addresses in their usual form, IPv6 in brackets. */
void receiver_name(const struct url *, char name[RECEIVER_HOST_SIZE]);

/* Writes the name of a receiver for any spelling of "host:port". Returns false if spelt is not a host with a
 * port. */
bool receiver_name_parse(struct slice spelt, char name[RECEIVER_HOST_SIZE]);

/* Writes "host:port/path", without the query: each path of a receiver has its own breaker. */
void receiver_path_name(const struct url *, char name[RECEIVER_NAME_SIZE]);

/* Return the two parts of a name from receiver_path_name: "host:port", and the path, which may be empty. */
struct slice receiver_host_of(struct slice name);
struct slice receiver_path_of(struct slice name);

/* The health of a receiver, or of a path of a receiver, that failed or asked for fewer attempts
 * within the last hour. */
struct receiver_record {
    struct slice name; /* host:port, or host:port/path */
    int64_t failures;  /* consecutive failures */
    int64_t opened_ms; /* time at which the breaker opened; 0: the breaker is closed, and the next three
                          members are 0, too */
    int64_t probe_ms;  /* earliest time of the next probe */
    int64_t wait_ms;   /* wait after a failed probe */
    int64_t probe;     /* number of the first running probe; 0: none */
    int64_t
        limit; /* maximum number of attempts that a reactor may have in flight to the receiver; 0: no limit */
    int64_t failed_ms;  /* time of the last failure; 0: none */
    struct slice cause; /* cause of the last failure: a status or a word */
    int64_t reported_ms;
    int64_t
        certificate_ms; /* end of the certificate that it has shown; -1: unknown; only from store_receivers */
    int64_t now_us;     /* time of reading */
};

/* Where a list of receivers continues: in this shard, after the receiver with this version. All zeros mean
 * the beginning. */
struct receiver_cursor {
    size_t shard;
    int64_t version;
};

enum receiver_health {
    RECEIVER_INCONCLUSIVE, /* the attempt does not show whether the receiver is reachable */
    RECEIVER_HEALTHY,
    RECEIVER_FAILING,
};

/* receiver_health returns whether the receiver is reachable; receiver_path_health returns whether it serves
 * the path. If an attempt fails after its request was sent, only the path counts as failing. So if one path
 * answers 503 or hangs, jobs for other paths are not held. */
enum receiver_health receiver_health(const struct attempt_result *);
enum receiver_health receiver_path_health(const struct attempt_result *);

/* Returns whether the receiver asked for fewer concurrent attempts. */
bool receiver_is_overloaded(const struct attempt_result *);

/* Writes the cause of a failure: "connect", "503", ... */
void receiver_cause(const struct attempt_result *, char cause[RECEIVER_CAUSE_SIZE]);

/* Returns the time within which a receiver's held jobs come back, one after the other (worker/hold.h).
 * This time is a quarter of impaired_ms, the time for which the receiver has been impaired, but at least
 * RECEIVER_ROW_MIN_MS and at most RECEIVER_ROW_MAX_MS. So the longer a receiver is unreachable, the less
 * often its held jobs are checked. If the receiver recovers soon, its jobs wait only a short time. */
#define RECEIVER_ROW_MIN_MS INT64_C(33750)
#define RECEIVER_ROW_MAX_MS (INT64_C(600) * 1000)
int64_t receiver_row_ms(int64_t impaired_ms);

#endif
