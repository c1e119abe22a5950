/* receiver.h - the HTTP server behind a job's url: its name, and what an attempt says of its health. */
#ifndef DUEPOST_JOB_RECEIVER_H
#define DUEPOST_JOB_RECEIVER_H

#include "job/job.h"
#include "job/url.h"

enum {
    RECEIVER_HOST_SIZE = 264, /* here and below with a NUL at the end */
    RECEIVER_PATH_MAX = 128,  /* bytes of a path that are kept; what is longer is told apart by a hash */
    RECEIVER_NAME_SIZE = RECEIVER_HOST_SIZE + RECEIVER_PATH_MAX + 24,
    RECEIVER_CAUSE_SIZE = 24,
};

/* "host:port", one for all spellings of a host: lower case, no dot at its end, addresses as their numbers
 * say, IPv6 in brackets. */
void receiver_name(const struct url *, char name[RECEIVER_HOST_SIZE]);

/* The same of what somebody calls it. False: it is no host with a port. */
bool receiver_name_parse(struct slice spelt, char name[RECEIVER_HOST_SIZE]);

/* "host:port/path", without the query: a path of a receiver has a breaker of its own. */
void receiver_path_name(const struct url *, char name[RECEIVER_NAME_SIZE]);

/* The receiver's part of such a name, and the path's, which is empty where there is none. */
struct slice receiver_host_of(struct slice name);
struct slice receiver_path_of(struct slice name);

enum receiver_health {
    RECEIVER_INCONCLUSIVE, /* the attempt says nothing of it */
    RECEIVER_HEALTHY,
    RECEIVER_FAILING,
};

/* Whether the receiver can be reached, and whether it serves the path. Once a request was handed over, its
 * failure is one of the path: 20 answers 503 of one path, or requests that hang there, must not hold the jobs
 * of others. */
enum receiver_health receiver_health(const struct attempt_result *);
enum receiver_health receiver_path_health(const struct attempt_result *);

/* It asks for fewer attempts at once. */
bool receiver_is_overloaded(const struct attempt_result *);

/* "connect", "503" */
void receiver_cause(const struct attempt_result *, char cause[RECEIVER_CAUSE_SIZE]);

/* How long a job is held back whose receiver may be probed in left_ms; its breaker waits wait_ms from probe
 * to probe. At most RECEIVER_HOLD_MAX_MS, so that all jobs go on soon after it closes, and by random (any 32
 * bits) more than left_ms, so that not all come back at once: 0 for the one that is to be there in time. */
#define RECEIVER_HOLD_MS     (INT64_C(30) * 1000)
#define RECEIVER_HOLD_MAX_MS (RECEIVER_HOLD_MS + RECEIVER_HOLD_MS / 8)
int64_t receiver_hold_ms(int64_t left_ms, int64_t wait_ms, uint32_t random);

/* The longest that a job may be held, where there are so many that they come back in a row, for a receiver
 * that has not been well for so long: RECEIVER_HOLD_MAX_MS, or a quarter of that time, or
 * RECEIVER_ROW_MAX_MS. So the jobs behind one that stays away are looked at ever more seldom, and wait little
 * for one that comes back soon. */
#define RECEIVER_ROW_MAX_MS (INT64_C(600) * 1000)
int64_t receiver_row_ms(int64_t impaired_ms);

#endif
