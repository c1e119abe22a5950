/* job.h - one piece of work: JSON from a client in, the record in Redis out and
 * in again.
 *
 * A record is JSON: the members that the client sent, spelt by us, then what we
 * keep with them (createdAt, attempts, uncounted, lastAttempt, waitMs, reason, traceparent, tracestate), then
 * body, byte for byte as the client spelt it. topic and jobId are not in it: they are the field of the HASH
 * under which it is kept. A member that the client left out is left out, so that "the same job again" can be
 * told from another job under the same id. */
#ifndef DUEPOST_JOB_JOB_H
#define DUEPOST_JOB_JOB_H

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"
#include "job/carried.h"
#include "job/header.h"
#include "job/job_errors.h"
#include "job/job_id.h"
#include "job/retry_schedule.h"
#include "job/url.h"

enum {
    JOB_RETRY_MAX = 100,
    JOB_DEPTH_MAX = 32,
    JOB_MEMBERS_MAX = 1000,            /* in one object */
    JOB_RECORD_MAX = 64 * 1024 * 1024, /* bytes; far above what the API takes */
    JOB_ATTEMPTS_MAX = 1000000000,     /* far above what retries can make */
};
#define JOB_DELAY_MAX_MS   (INT64_C(315360000) * 1000) /* 10 years */
#define JOB_TTL_MAX_MS     (INT64_C(315360000) * 1000) /* 10 years */
#define JOB_TIMEOUT_MIN_MS INT64_C(100)
#define JOB_TIMEOUT_MAX_MS (INT64_C(3600) * 1000)
#define JOB_TIMEOUT_MS     (INT64_C(30) * 1000) /* when the job names none */

#define JOB_NEVER_MS INT64_MAX

/* How an attempt failed without an answer. */
enum attempt_error {
    ATTEMPT_ERROR_NONE,
    ATTEMPT_ERROR_DNS,
    ATTEMPT_ERROR_CONNECT,
    ATTEMPT_ERROR_TLS,
    ATTEMPT_ERROR_TIMEOUT,
    ATTEMPT_ERROR_RESET,
    ATTEMPT_ERROR_TARGET_REFUSED,
    ATTEMPT_ERROR_ANSWER_TOO_LARGE,
    ATTEMPT_ERROR_PROTOCOL,
    ATTEMPT_ERROR_OTHER, /* a word that only a later version knows */
};

/* The word of the API: "dns", "target_refused", ...; "" for NONE. */
const char *attempt_error_word(enum attempt_error);

/* The other way round; OTHER for a word of small letters and _ that is not known here. False: anything else.
 */
bool attempt_error_parse(struct slice word, enum attempt_error *);

/* The detail that a JSON string spells, with its quotes; empty for what is none, because it is too long or
 * has escapes. */
struct slice attempt_detail(struct slice value);

enum { ATTEMPT_DETAIL_MAX = 200 }; /* bytes */

/* What a finished attempt leaves behind. */
struct attempt_result {
    int64_t at_ms; /* when it began, by Redis's clock; 0: there was none */
    int64_t duration_ms;
    int status; /* of the answer; 0 when error says why there is none */
    enum attempt_error error;
    struct slice
        detail; /* of error, for people: ATTEMPT_DETAIL_MAX bytes that JSON takes as they are; empty: none */
    struct slice text; /* as its record spells it, where it was read from one; empty: it is new */
    /* Not recorded. */
    bool was_sent;       /* the request was handed over, if only in part */
    bool is_idle_closed; /* with RESET: a kept-alive connection closed before any line of an answer */
};

/* The rows of the table of members, job_members.c, in the order of a record. */
enum job_member {
    JOB_CREATED_AT,
    JOB_TOPIC,
    JOB_JOB_ID,
    JOB_URL,
    JOB_DELAY,
    JOB_DUE_AT,
    JOB_TTL,
    JOB_EXPIRES_AT,
    JOB_RETRY,
    JOB_RETRY_SCHEDULE,
    JOB_TIMEOUT,
    JOB_HEADERS,
    JOB_ATTEMPTS,
    JOB_UNCOUNTED,
    JOB_LAST_ATTEMPT,
    JOB_WAIT,
    JOB_REASON,
    JOB_TRACE_PARENT,
    JOB_TRACE_STATE,
#ifdef DUEPOST_TEST_NEXT
    JOB_NEXT,
#endif
    JOB_BODY,
};

/* Slices point into the text that was read and into text. */
struct job {
    struct slice topic, job_id;
    struct slice url;  /* empty: that of the topic */
    struct slice body; /* raw JSON; empty: none was sent */
    bool has_delay, has_due_at, has_ttl, has_expires_at, has_retry, has_schedule, has_timeout, has_headers;
    int64_t delay_ms; /* 0 unless has_delay */
    int64_t due_at_ms;
    int64_t ttl_ms; /* from created_ms */
    int64_t expires_at_ms;
    int retry;                      /* as sent; see job_max_retries */
    struct retry_schedule schedule; /* as sent; see job_wait_ms */
    int64_t timeout_ms;             /* the default unless has_timeout */
    struct job_header headers[JOB_HEADERS_MAX];
    size_t header_count;

    int64_t created_ms; /* by Redis's clock; 0 in a request */
    int attempts;       /* failed ones so far */
    int uncounted;      /* of them: those that used up no retry, see ending.h */
    struct attempt_result last_attempt;
    int64_t wait_ms;                        /* from its end to the next one; 0: none, or not known */
    struct slice reason;                    /* why it is dead; empty otherwise */
    struct slice trace_parent, trace_state; /* of the request that brought it, see trace.h; empty: none */

#ifdef DUEPOST_TEST_NEXT
    struct slice next; /* a member of a later version, for tests */
#endif
    struct slice lacks;     /* the first thing that it needs and this version does not know; empty: none */
    struct carried carried; /* members that this version does not know */

    struct buffer text; /* owned: strings that had escapes */
};

/* Reads a client's job. now_ms is for the bounds of its times. INVALID: errors says
 * everything that is wrong. NO_MEMORY: errors says nothing. job needs no fini then. OK: job borrows text.
 * A missing jobId is left empty. Targets are not checked here. */
enum status job_parse(struct slice text, int64_t now_ms, struct job *, struct job_errors *) MUST_USE;

/* The same for a job that is named already: topic and jobId may be left out, and else are those of id.
 * Borrows id. */
enum status job_parse_named(struct slice id, struct slice text, int64_t now_ms, struct job *,
                            struct job_errors *) MUST_USE;

/* Reads what job_write of this or another version wrote for the job with this id, topic/jobId. INVALID: it
 * did not. Borrows id and record. A job that lacks something is for reading only, and may have nothing but
 * that. */
enum status job_read(struct slice id, struct slice record, struct job *) MUST_USE;

void job_fini(struct job *);

/* The record. For a new job (created_ms 0) the opening brace and createdAt are
 * left out: the schedule script writes them, since the time is Redis's. */
void job_write(const struct job *, struct buffer *);

/* Every member equal as sent: body byte for byte, numbers by value, headers in any order. Members that are
 * not known here do not count, but a job that lacks something is equal to none. */
bool job_is_same(const struct job *, const struct job *);

/* When a job that is created at created_ms is due, and from when on it is not delivered any more:
 * JOB_NEVER_MS without ttl and expiresAt. */
int64_t job_due_ms(const struct job *, int64_t created_ms);
int64_t job_expires_ms(const struct job *, int64_t created_ms);

/* Of a job that was read. */
bool job_is_expired(const struct job *, int64_t now_ms);

/* How often it may be retried, and the wait before retry number n (from 1), in ms. */
int job_max_retries(const struct job *, const struct retry_schedule *fallback);
int64_t job_wait_ms(const struct job *, const struct retry_schedule *fallback, int n);

/* The bytes that a receiver gets: the text of a string body, any other body as it
 * is, nothing without one. Borrows from job, or from scratch when a string had escapes
 * (scratch fails when it has no room for them). */
struct slice job_payload(const struct job *, struct buffer *scratch);

/* The Content-Type of that, unless headers name one: JSON, or text/plain for a string
 * whose text is not JSON that we would take as a body. Empty: there is no memory to tell. */
struct slice job_content_type(const struct job *, struct slice payload);

/* The value of the header with this name, in any case; NULL when there is none. */
const struct slice *job_header(const struct job *, struct slice name);

#endif
