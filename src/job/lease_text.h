/* lease_text.h - parses the requests of workers that lease jobs of pull topics and end the leases. */
#ifndef DUEPOST_JOB_LEASE_TEXT_H
#define DUEPOST_JOB_LEASE_TEXT_H

#include "base/buffer.h"
#include "base/status.h"
#include "job/job_errors.h"

enum {
    LEASE_JOBS_MAX = 100,  /* maximum number of jobs in one request */
    LEASE_TOKEN_MAX = 128, /* bytes */
    LEASE_ERROR_MAX = 256, /* bytes */
};
#define LEASE_MIN_MS      INT64_C(1000)
#define LEASE_MAX_MS      (INT64_C(12) * 3600 * 1000)
#define LEASE_DEFAULT_MS  INT64_C(30000)
#define LEASE_WAIT_MAX_MS INT64_C(60000)

/* A request for jobs. */
struct lease_request {
    int64_t max, lease_ms, wait_ms;
};

/* Parses the body of a request for jobs. If the body is empty, all members have their defaults. If INVALID,
 * errors has all faults. */
enum status lease_request_parse(struct slice text, struct lease_request *, struct job_errors *) MUST_USE;

enum lease_end_kind {
    LEASE_END_COMPLETE,
    LEASE_END_RETRY,
    LEASE_END_BURY,
    LEASE_END_EXTEND,
    LEASE_END_RELEASE,
    LEASE_END_COUNT,
};

/* A worker's request to end one lease. Each kind of ending uses some of the members; the others are empty. */
struct lease_end_text {
    struct slice job_id, token, error;
    bool has_delay;
    int64_t delay_ms, lease_ms;
    struct buffer text; /* owned: unescaped strings */
};

/* Parses an object. If OK, the struct borrows text. After a failure the struct has nothing to free; errors
 * has all faults unless the status is NO_MEMORY. */
enum status lease_end_parse(enum lease_end_kind, struct slice text, struct lease_end_text *,
                            struct job_errors *) MUST_USE;
void lease_end_fini(struct lease_end_text *);

/* An array of objects, each of which lease_end_parse parses. */
struct lease_end_items {
    struct slice items[LEASE_JOBS_MAX];
    size_t count;
};

/* Returns whether the text is an array, by its first byte. */
bool lease_ends_are_many(struct slice text);

/* Cuts an array. Returns INVALID, with one error, unless the text is JSON and has 1 to LEASE_JOBS_MAX items.
 */
enum status lease_ends_cut(struct slice text, struct lease_end_items *, struct job_errors *) MUST_USE;

#endif
