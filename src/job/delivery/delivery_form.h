/* delivery_form.h - forms of delivery. A form says how a job is delivered: it adds its own headers to the
 * request, and judges the answer. The job's member "form" has the name of the form; without this member, the
 * standard form is used. Only the form reads the job's object "formData". The functions of a form are pure:
 * no clock, no I/O. If a process does not have the form of a job, it releases the job, as it does when
 * "needs" has an unknown name (unknown_members.h). */
#ifndef DUEPOST_JOB_DELIVERY_DELIVERY_FORM_H
#define DUEPOST_JOB_DELIVERY_DELIVERY_FORM_H

#include <stdbool.h>

#include "base/slice.h"
#include "job/job.h"
#include "job/topic/topic_settings.h"

/* ---- dates in headers ---- */

/* Parses a date in one of the three forms of RFC 9110: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94
 * 08:49:37 GMT", "Sun Nov 6 08:49:37 1994". Sets *ms to ms since 1970. */
bool http_date_parse(struct slice, int64_t *ms);

/* ---- "not yet" ----
 *
 * Reads the header Duepost-Again, with which a receiver says "not yet": the attempt has not failed,
 * and the job must be sent again after a time. This begins the next round of the job. */

#define AGAIN_MIN_MS INT64_C(1000)
#define AGAIN_MAX_MS JOB_WAIT_MAX_MS /* a year */

enum { AGAIN_DETAIL_SIZE = ATTEMPT_DETAIL_MAX + 1 };

/* Parses a value: seconds, a duration such as 5m or 1h30m, or an HTTP date (RFC 9110, 5.6.7). The wait for a
 * date is the time from now_ms to the date. Returns false if the value is unreadable or outside of
 * AGAIN_MIN_MS and AGAIN_MAX_MS; detail then says what was found and what was expected, in visible ASCII
 * without quotes and backslashes. */
bool again_parse(struct slice value, int64_t now_ms, int64_t *wait_ms, char detail[AGAIN_DETAIL_SIZE]);

/* ---- deferred ends ----
 *
 * Parses the header Duepost-Defer of a 202, in the same way: how long the attempt stays open (LEASE_MIN_MS to
 * LEASE_MAX_MS, lease_text.h) until a request with its token ends it. */
bool defer_parse(struct slice value, int64_t now_ms, int64_t *lease_ms, char detail[AGAIN_DETAIL_SIZE]);

/* ---- lines of headers ----
 *
 * The headers of a request while it is being written: lines "Name: value" in one text. */

enum { HEADER_LINES_MAX = TOPIC_DEFAULTS_HEADERS_MAX + 24 };

struct header_lines {
    struct buffer *text; /* borrowed; is marked as failed if the lines do not fit */
    size_t starts[HEADER_LINES_MAX + 1];
    size_t count;
};

/* Adds a line. name and value must be valid (request.h). */
void header_lines_add(struct header_lines *, struct slice name, struct slice value);
void header_lines_add_number(struct header_lines *, struct slice name, int64_t value);

/* Returns the line with this index. The result is valid until another line is added. */
struct slice header_lines_at(const struct header_lines *, size_t index);

/* ---- forms ---- */

enum { FORMS_MAX = 4 }; /* maximum number of forms in a process */

/* An attempt whose request is being written. The struct borrows the data of its pointers and slices. */
struct form_attempt {
    const struct job *job; /* job->attempts does not include this attempt yet */
    struct slice id;       /* topic/jobId */
    struct slice url, payload;
    const struct topic_settings *settings; /* settings of the topic; NULL: none */
    const struct signing_keys *keys;       /* signing keys of the server */
    int64_t now_ms;                        /* time of the claim, by Redis's clock */
    int64_t workflow_ms; /* time at which the workflow of the job was created; 0: the job has no workflow */
    const struct job_header *headers; /* headers of the job and of its topic */
    size_t header_count;
    /* With a batch (batch.h): number of its jobs, and its id for the signature. 0: one job */
    size_t batch_count;
    struct slice batch_id;
    /* The token of the attempt, with which a receiver may end it later, and the url for that; empty: none */
    struct slice token, end_url;
};

/* An answer, or an attempt without an answer. The struct borrows the data of its pointers and slices. */
struct form_answer {
    const struct job *job; /* job->attempts does not include this attempt yet */
    const struct attempt_result *result;
    int64_t retry_after_ms; /* -1: no such header */
    bool has_again;         /* the header Duepost-Again, and its value */
    struct slice again;
    bool has_defer; /* the header Duepost-Defer, and its value */
    struct slice defer;
    bool may_defer;       /* the request had a token with which the attempt can be ended */
    struct slice headers; /* lines "Name: value", if the form wants them */
};

/* How a form judges an answer. Unless a member says otherwise, a 2xx delivers the job, and any other status
 * is a failed attempt. */
struct form_judgement {
    int64_t again_ms; /* for a 2xx: the job is to be sent again after this wait ("not yet"); 0: the job is
                         delivered */
    int64_t defer_ms; /* for a 202: the attempt stays open so long, and is ended with its token; 0: the answer
                         ends it */
    const char *reply_fault; /* for a 2xx: the error if a header of the answer cannot be read, so that the
                                attempt has failed; NULL: no error */
    struct slice final;      /* the literal reason why the answer buries the job; else empty */
    struct slice detail; /* with final: a literal that is reported in place of the answer's body; empty: no
                            such text */
    int64_t at_least_ms; /* minimum wait before the next attempt; -1: none */
    bool has_wait;       /* the wait before the next attempt is exactly wait_ms */
    int64_t wait_ms;
    char room[AGAIN_DETAIL_SIZE]; /* reply_fault points into it */
};

struct callback_report;
struct callback_job;
struct group_jobs;

struct delivery_form {
    struct slice name;  /* empty: the standard form */
    bool wants_headers; /* judge needs the headers of the answer */
    /* Adds the form's headers. The caller adds the job's own headers and the trace. */
    void (*write_headers)(const struct form_attempt *, struct header_lines *);
    /* Judges an answer. The caller has set the judgement to zero, and at_least_ms to -1. */
    void (*judge)(const struct form_answer *, struct form_judgement *);
    /* Writes a callback that is sent to url. If is_dead is true, the callback reports the death of the job;
     * otherwise, it reports an attempt. Returns false if there is no memory. If the form has no such function
     * (NULL), duepost writes its own callbacks. */
    bool (*write_callback)(const struct callback_report *, bool is_dead, struct slice url,
                           struct callback_job *);
    /* Writes the jobs for a job that is sent to a group of this form, one for each endpoint. Such a group is
     * a sibling topic (job_id.h), and settings are the settings of this topic in Redis. Returns the same
     * statuses as group_jobs_write. If the form has no groups of its own, this is NULL. */
    enum status (*write_group_jobs)(const struct job *, struct slice settings, struct group_jobs *);
};

/* The forms that a process can deliver. */
struct delivery_forms {
    const struct delivery_form *items[FORMS_MAX]; /* the first is the standard form; NULL: no more */
};

/* The standard form: sends headers duepost-* and webhook-*; reads Duepost-Again, the status 410 and
 * Retry-After. */
extern const struct delivery_form delivery_form_standard;

/* Returns the form with this name, or NULL. */
const struct delivery_form *delivery_form_find(const struct delivery_forms *, struct slice name);

/* Judges an answer as this form does. */
void delivery_form_judge(const struct delivery_form *, const struct form_answer *, struct form_judgement *);

#endif
