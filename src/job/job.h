/* job.h - a job: parsed from a client's JSON, written into a record in Redis, and read from the record again.
 *
 * A record is JSON. Its first member is createdAt. The second one is head, a short text for scripts
 * (store/scripts/lib/records.lua): scripts read no other member by its place. The members that the client
 * sent follow, in duepost's spelling, then members of duepost (attempts, uncounted, lastAttempt, waitMs,
 * reason, answerHeaders, traceparent, tracestate); body is last, byte for byte as the client sent it. topic
 * and jobId are not in the record, because they are the name of the field under which the HASH "jobs" in
 * Redis holds the record. Members that the client left out are not in the record. So duepost can distinguish
 * a repeated request for the same job from a request for another job with the same id.
 *
 * If the process has keys (base/seal.h), the members with MEMBER_SEALED, such as body and headers, and the
 * url with its query are encrypted together in the last member, sealed, whose owner is topic/jobId. */
#ifndef DUEPOST_JOB_JOB_H
#define DUEPOST_JOB_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"
#include "job/job_id.h"
#include "job/request.h"
#include "job/retry.h"
#include "job/target/url.h"
#include "job/text/job_errors.h"
#include "job/unknown_members.h"

/* ---- labels ----
 *
 * Short texts that a client chooses, and with which it can filter lists of jobs. */

enum {
    JOB_LABELS_MAX = 10,
    JOB_LABEL_MAX = 64, /* bytes */
};

struct job_labels {
    struct slice items[JOB_LABELS_MAX];
    size_t count;
};

#define JOB_LABEL_FORM     "UTF-8 of 1 to 64 bytes without control characters"
#define JOB_LABEL_EXPECTED "must be " JOB_LABEL_FORM

/* Returns whether text is a label: UTF-8 of 1 to JOB_LABEL_MAX bytes without control characters. */
bool job_label_is_valid(struct slice);

bool job_labels_have(const struct job_labels *, struct slice label);

/* Returns whether both lists have the same labels, in any order. No list has a label twice. */
bool job_labels_are_same(const struct job_labels *, const struct job_labels *);

/* ---- keys and priorities ----
 *
 * The jobs of a topic with the same key form a lane. In a topic, jobs with a higher priority go first. */

enum {
    LANE_KEY_MAX = 128, /* bytes */
    JOB_DEBOUNCE_WAITS = 10,
    JOB_IDEMPOTENCY_KEY_MAX = 255, /* bytes */
    JOB_PRIORITY_DEFAULT = 5,      /* priority of a job without this member */
    JOB_PRIORITY_MAX = 9,
};

#define LANE_KEY_EXPECTED "must be UTF-8 of 1 to 128 bytes without control characters"

/* Returns whether text is a key: UTF-8 of 1 to LANE_KEY_MAX bytes without control characters. */
bool lane_key_is_valid(struct slice);

/* ---- a job ---- */

enum {
    JOB_RETRY_MAX = 100,
    JOB_DEPTH_MAX = 32,
    JOB_MEMBERS_MAX = 1000,            /* maximum number of members in one object */
    JOB_RECORD_MAX = 64 * 1024 * 1024, /* maximum size of a record; far more than the API accepts */
    JOB_OPENING_MAX = 80, /* maximum size of a record's beginning: {"createdAt":<ms>,"head":"1 <ms> */
    JOB_FORM_MAX = 32,    /* bytes of form */
    JOB_FORM_DATA_MAX = 16 * 1024, /* bytes of formData */
    JOB_WORKFLOW_MAX = 255,        /* bytes of workflow */
    JOB_ANSWER_HEADERS_MAX = 4096, /* bytes of answerHeaders */
    JOB_ROUNDS_MAX = 10000,
    JOB_ATTEMPTS_MAX = 1000000000, /* maximum in a record; real jobs have far fewer attempts */
};
#define JOB_DELAY_MAX_MS   (INT64_C(315360000) * 1000) /* 10 years */
#define JOB_TTL_MAX_MS     (INT64_C(315360000) * 1000) /* 10 years */
#define JOB_TIMEOUT_MIN_MS INT64_C(100)
#define JOB_TIMEOUT_MAX_MS (INT64_C(3600) * 1000)
#define JOB_TIMEOUT_MS     (INT64_C(30) * 1000) /* timeout of a job without the member timeout */

#define JOB_NEVER_MS INT64_MAX

#define JOB_LACKS_KEY "encryption key "

/* Returns the text of value, a JSON string with its quotes that holds the detail of an error. Returns an
 * empty slice if the text is longer than ATTEMPT_DETAIL_MAX or has escapes. */
struct slice attempt_detail(struct slice value);

enum { ATTEMPT_DETAIL_MAX = 256 }; /* bytes */

/* The result of a finished attempt. */
struct attempt_result {
    int64_t at_ms; /* start of the attempt, by Redis's clock; 0: there was no attempt */
    int64_t duration_ms;
    int status; /* status of the answer; 0 if there is an error instead */
    enum failure error;
    /* detail of the error: at most ATTEMPT_DETAIL_MAX bytes, none of which needs an escape in JSON; empty:
     * none */
    struct slice detail;
    struct slice
        text; /* the JSON from which the result was read; empty: the result was not read from a record */
    /* The following members are not recorded. */
    bool was_sent;       /* at least a part of the request was passed to the network */
    bool is_idle_closed; /* with the error RESET: a connection that had been kept open was closed before any
                            line of an answer */
};

/* Adds "status", or "error" and "errorDetail". */
struct json_writer;
void attempt_result_add(struct json_writer *, const struct attempt_result *);

/* Returns whether the receiver answered with a 2xx. */
bool attempt_result_is_success(const struct attempt_result *);

/* The members of a job: the rows of the table in job_members.c, in the order in which a record has them. */
enum job_member {
    JOB_CREATED_AT,
    JOB_TOPIC,
    JOB_JOB_ID,
    JOB_URL,
    JOB_GROUP,
    JOB_METHOD,
    JOB_DELAY,
    JOB_TIMEZONE,
    JOB_DUE_AT,
    JOB_TTL,
    JOB_EXPIRES_AT,
    JOB_RETRY,
    JOB_RETRY_SCHEDULE,
    JOB_RETRY_WAIT,
    JOB_TIMEOUT,
    JOB_HEADERS,
    JOB_KEY,
    JOB_PRIORITY,
    JOB_THROTTLE,
    JOB_DEBOUNCE,
    JOB_IDEMPOTENCY_KEY,
    JOB_LABELS,
    JOB_ON_DELIVERED,
    JOB_ON_DEAD,
    JOB_ON_ATTEMPT,
    JOB_FORM,
    JOB_FORM_DATA,
    JOB_WORKFLOW,
    JOB_ATTEMPTS,
    JOB_UNCOUNTED,
    JOB_ROUNDS,
    JOB_LAST_ATTEMPT,
    JOB_WAIT,
    JOB_ALONE,
    JOB_REASON,
    JOB_ANSWER_HEADERS,
    JOB_PROGRESS,
    JOB_RESULT,
    JOB_TRACE_PARENT,
    JOB_TRACE_STATE,
#ifdef DUEPOST_TEST_NEXT
    JOB_NEXT,
#endif
    JOB_BODY_BASE64,
    JOB_BODY,
};

/* When a job is due. */
struct job_when {
    bool is_absolute;
    int64_t ms; /* a time, or a delay that counts from the time at which Redis runs the script */
};

/* The slices point into the text that was parsed, and into the buffer text. */
struct job {
    struct slice topic, job_id;
    struct slice url;   /* empty: the topic's is used */
    struct slice group; /* group to which the job is sent, instead of a url, see group.h; not in records */
    enum job_method method;
    struct slice body;        /* raw JSON; empty: no such body */
    struct slice body_base64; /* bytes in base64, if has_body_base64 */
    bool has_body_base64;
    bool has_delay, has_due_at, has_ttl, has_expires_at, has_retry, has_schedule, has_timeout, has_headers;
    int64_t delay_ms; /* 0 unless has_delay */
    int64_t due_at_ms;
    /* Only while a client's text is read: due_at_ms is a time on a clock of this zone (app_resolve_due). */
    bool is_due_local;
    struct slice timezone;
    int64_t ttl_ms; /* from created_ms */
    int64_t expires_at_ms;
    int retry;               /* value that the client sent; job_max_retries returns the number that counts */
    struct slice retry_wait; /* used instead of a schedule, see retry.h; empty: none */
    int64_t timeout_ms;      /* the default unless has_timeout */
    size_t header_count;
    struct slice key;  /* empty: the job belongs to the lane without a key */
    bool has_priority; /* false if the priority is JOB_PRIORITY_DEFAULT */
    int priority;      /* value that the client sent; job_priority returns the one that counts */
    /* Only in a new job of a client. One job stands for all jobs that a client sends with the same key within
     * a time. */
    struct slice throttle_key; /* the first job is delivered; empty: no throttle */
    int64_t throttle_per_ms;
    struct slice debounce_key;    /* the last job is delivered; empty: no debounce */
    int64_t debounce_wait_ms;     /* from each of the jobs on */
    int64_t debounce_max_ms;      /* from the first job on; 0: JOB_DEBOUNCE_WAITS times debounce_wait_ms */
    struct slice idempotency_key; /* a repeated job with this key schedules no second one; empty: no key */
    struct slice on_delivered, on_dead, on_attempt; /* see callback.h; empty: those of the topic */

    struct slice form;      /* form of delivery, see delivery_form.h; empty: the standard form */
    struct slice form_data; /* an object that only the form reads; empty: none */
    struct slice workflow;  /* id of the job's workflow, see store/workflow.h; empty: none */

    int64_t created_ms; /* by Redis's clock; 0 in a request */
    bool is_alone; /* a batch with this job was answered with a failure, so it is sent alone from now on */
    struct slice progress, result; /* raw JSON; of a job that has ended, see lease_text.h; empty: none */
    int attempts;                  /* number of failed attempts so far, in this round */
    int uncounted; /* number of failed attempts in this round that used up no retry, see ending.h */
    int rounds;    /* number of rounds that the receiver ended with "not yet", see delivery_form.h */
    struct attempt_result last_attempt;
    int64_t wait_ms;     /* wait from the end of last_attempt to the next attempt; 0: no wait, or unknown */
    struct slice reason; /* reason why the job is dead; else empty */
    struct slice answer_headers; /* headers of the answer with which the job died, one per line, if its form
                                    wants headers */
    struct slice trace_parent, trace_state; /* trace of the scheduling request, see request.h; empty: none */

#ifdef DUEPOST_TEST_NEXT
    struct slice next; /* stands for a member that a later version adds; only in builds for tests */
#endif
    struct slice lacks;   /* the first name in "needs" (unknown_members.h) that this version does not know, or
                             JOB_LACKS_KEY and the name of a key that this process lacks; empty: none */
    struct buffer text;   /* owned: unescaped strings */
    struct buffer opened; /* owned: the text in the member sealed of a record */

    /* Lists, last in the struct: of these, job_init sets only the numbers of items, because zeroing all of
     * them would be a large part of the work for a job. */
    struct job_labels labels;
    struct retry_schedule schedule; /* value that the client sent; job_wait_ms returns the wait that counts */
    struct unknown_members unknown; /* members that this version does not know */
    struct job_header headers[JOB_HEADERS_MAX];
};

/* Sets all members to 0 and empty, and timeout_ms to the default. */
void job_init(struct job *);

/* Parses a client's job. Its times must be within limits, which count from now_ms. If OK, job borrows text.
 * If INVALID, errors has all faults. If NO_MEMORY, errors is empty. After a failure job has nothing to free.
 * If the text has no jobId, the job's jobId is empty. Does not check whether the url leads to an allowed
 * address. */
enum status job_parse(struct slice text, int64_t now_ms, struct job *, struct job_errors *) MUST_USE;

/* Parses a client's job whose id is given, as job_parse does. The text may leave out topic and jobId; if
 * present, they must match id. An id with dots (job_id_has_dots) is an error. The job also borrows id. */
enum status job_parse_named(struct slice id, struct slice text, int64_t now_ms, struct job *,
                            struct job_errors *) MUST_USE;

/* Write and open a value that scripts keep for a job, and add to its record as the member progress or result
 * (text/sealed.h). */
void job_value_write(struct slice id, enum job_member, struct slice value, struct buffer *);
struct sealed_values;
struct slice job_value_open(struct slice id, enum job_member, struct slice value, struct sealed_values *);

/* Reads a record that job_write of this or another version wrote for the job with this id, topic/jobId.
 * INVALID means that duepost did not write the record. The job borrows id and record. If job->lacks is not
 * empty, the job needs a later version: it must not be run or rewritten, and its other members may be
 * missing. */
enum status job_read(struct slice id, struct slice record, struct job *) MUST_USE;

/* Does what job_read does, and checks the body in the same pass. A body that is not valid JSON also makes the
 * record INVALID. For readers that pass the body on as a part of their own JSON. */
enum status job_read_checked(struct slice id, struct slice record, struct job *) MUST_USE;

void job_fini(struct job *);

/* Writes the record. If created_ms is 0, the job is new; then leaves out the opening brace and createdAt. A
 * script writes them and completes the head, because it knows Redis's time (scripts/lib/records.lua). */
void job_write(const struct job *, struct buffer *);

/* Does what job_write does, without the head, and never sealed. For comparisons. */
void job_write_plain(const struct job *, struct buffer *);

/* The same for the definition of a schedule, which may be sealed for its owner. */
void job_write_definition(const struct job *, struct slice owner, struct buffer *);

/* Completes the record of a new job as the script has done. written: JOB_OPENING_MAX free bytes, and the text
 * that job_write wrote. Changes written in place, and returns the record, a part of it. */
struct slice job_record_complete(struct buffer *written, int64_t created_ms);

int job_priority(const struct job *);

/* Returns whether all members that clients can send are equal in both jobs. body is compared byte for byte,
 * numbers by value, and headers in any order. Unknown members are ignored, but a job whose lacks is not empty
 * equals no other job. */
bool job_is_same(const struct job *, const struct job *);

/* Return when a job created at created_ms is due, and when it expires. A job without ttl and expiresAt
 * expires at JOB_NEVER_MS. */
int64_t job_due_ms(const struct job *, int64_t created_ms);
int64_t job_expires_ms(const struct job *, int64_t created_ms);

/* The reason of a cancelled job whose attempt was running when a new job replaced it; lib/lingering.lua
 * writes it. */
#define JOB_REASON_REPLACED "replaced"
bool job_was_replaced(const struct job *);

/* The error of a ttl or an expiresAt that is too early. */
#define JOB_EXPIRES_TOO_SOON "must be later than the due time of the job"

/* Returns whether a job that job_read has read is expired. */
bool job_is_expired(const struct job *, int64_t now_ms);

/* job_max_retries returns the maximum number of retries. job_wait_ms returns the wait in ms before retry n;
 * the first retry is 1. The wait is the value of the job's retry expression. If the job has no expression, or
 * its expression has no value, the wait comes from a retry schedule. */
int job_max_retries(const struct job *, const struct retry_schedule *fallback);
int64_t job_wait_ms(const struct job *, const struct retry_schedule *fallback, int n);

/* Returns the bytes for the receiver. These bytes are the text of a body that is a string, the decoded bytes
 * of bodyBase64, and any other body unchanged. Without a body the result is empty. The result is valid as
 * long as job. If bytes or escapes had to be decoded, the result is in scratch, and is valid only until
 * scratch changes. scratch is marked as failed when it has no room, or when the body cannot be decoded. */
struct slice job_payload(const struct job *, struct buffer *scratch);

/* Returns whether the body of a record cannot be decoded. job_read does not check bodies. */
bool job_has_broken_body(const struct job *);

/* Returns whether duepost adds a Content-Type to the request if its headers have none. duepost adds it to
 * each request with a body, and to each POST, because duepost has always done so. */
bool job_needs_content_type(const struct job *);

/* Returns the Content-Type for a payload whose headers have none: application/octet-stream for bodyBase64,
 * text/plain if body is a string whose text is not JSON, and application/json otherwise. Returns an empty
 * text if there is no memory to check the string. */
struct slice job_content_type(const struct job *, struct slice payload);

/* Returns the value of the header with this name, in any case, or NULL if there is no such header. */
const struct slice *job_header(const struct job *, struct slice name);

/* The states of a job, and a job in its current state. */

/* A job in the state dead, or in a state after it in this list, has left the pool (the HASH "jobs" in Redis)
 * and is kept elsewhere for some time. */
enum job_state {
    JOB_STATE_DELAYED,
    JOB_STATE_READY,
    JOB_STATE_LEASED,
    JOB_STATE_DEAD,
    JOB_STATE_DELIVERED,
    JOB_STATE_CANCELLED,
};

/* Returns the API's word for the state: "delayed", "ready", ... */
const char *job_state_word(enum job_state);

/* A job and its current state. Borrows its slices. */
struct stored_job {
    enum job_state state;
    struct slice id;
    struct slice record;
    int64_t at_ms;         /* delayed, ready: due time; leased: end of the lease; else: end of the job */
    int64_t losses;        /* number of consecutive consumers that were lost while they had the job */
    struct slice settings; /* current settings of the job's topic, see topic_settings.h; empty: none */
    int64_t now_ms;        /* time of reading */
    bool is_workers;       /* leased: by a worker, or its end is deferred; a consumer renews its leases */
    struct slice progress; /* leased: how far the worker is, JSON; empty: unknown */
    /* until_ms and last_lines are set for a job that has left the pool; else they are 0 and empty. */
    int64_t until_ms;        /* time at which the job is removed; 0: there is no limit */
    struct slice last_lines; /* line of its last attempt, if known: see attempt_line.h */
    /* A job in the history, which is no longer in Redis; settings, losses, now_ms and until_ms are unknown.
     */
    bool is_of_history;
    struct slice lines;    /* lines of its attempts */
    bool is_body_left_out; /* the job had a body that the history does not keep */
};

/* ---- the tag of a job ----
 *
 * The tag of a job, which differs after each change of the job. With a tag, a client or C code
 * can ask for a change that is made only if the job has not changed since.
 *
 * The tag is the SHA-1 of the job's state, its place (a time in ms) and its record. Scripts can also compute
 * the tag, so a conditional change is one call, and no other change can happen between check and change.
 * PATCH works the same way: C reads the job and writes the new record, and the script accepts this record
 * only if the job has not changed. */

enum { JOB_TAG_SIZE = 41 }; /* SHA-1 in hex, because scripts in Redis can compute it, and a NUL */

/* Writes the tag. The tags of two jobs differ if their states, their places or their records differ. */
void job_tag_make(struct slice state, int64_t place_ms, struct slice record, char tag[JOB_TAG_SIZE]);

/* Writes the tag of a job's current version. The tag does not depend on the end of a lease, which changes all
 * the time. */
void job_tag_of(const struct stored_job *, char tag[JOB_TAG_SIZE]);

/* The condition of a change is a text. The text is empty for no condition, and "*" for any existing job.
 * Otherwise it is '-' and a list of tags, each after a space; the job's tag must be in the list. If the
 * text begins with JOB_TAGS_EXCLUDED, the job must not meet the condition after it. */
#define JOB_TAGS_EXCLUDED '!'

/* The condition of a cancel: the job has not ended. Its tag does not matter. */
#define JOB_TAGS_ALIVE "alive"

/* Returns whether a job with this tag meets the condition. */
bool job_tags_match(struct slice tags, const char tag[JOB_TAG_SIZE]);

/* Appends the text by which scripts recognize the throttle or the debounce of a job that has one
 * (store/scripts/schedule.lua, replace.lua). It names the key, which belongs to the job's topic. */
void job_write_throttle(const struct job *, struct buffer *);
void job_write_debounce(const struct job *, struct buffer *);

#endif
