/* api_private.h - what the handlers of duepost's own API share: their data, errors and pages as answers,
 * query parameters, and jobs and settings as JSON. */
#ifndef DUEPOST_API_API_PRIVATE_H
#define DUEPOST_API_API_PRIVATE_H

#include <stdatomic.h>

#include "app/app.h"
#include "app/lists.h"
#include "app/overview.h"
#include "app/topics.h"
#include "base/json_writer.h"
#include "http/exchange.h"
#include "http/query.h"
#include "job/job.h"

/* ---- answer.c ---- */

struct app_submission;
struct job_batches;

/* The data of the API in one reactor (a thread with its event loop). */
struct api {
    struct app *app;
    struct loop *loop;
    const atomic_size_t *awaited; /* see api_options */
    bool is_draining;
    struct job_batches *batches;
};

static inline struct api *api_of(const struct exchange *exchange)
{
    return exchange->self;
}

static inline struct app *app_of(const struct exchange *exchange)
{
    return api_of(exchange)->app;
}

/* Defines a handler. routes.c declares all of them. */
#define HANDLER(name)                                                                                        \
    exchange_fn name;                                                                                        \
    void name(struct exchange *exchange)

/* ---- errors as answers: application/problem+json (RFC 9457) ---- */

/* ---- Members of a problem (the JSON object of an error), without its braces, detail first. ---- */

void problem_write(struct buffer *members, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes all errors. The argument what names the part of the request that has these errors: "job" or
 * "query". */
void problem_write_errors(struct buffer *members, const char *what, const struct job_errors *);

/* Parts of the texts of problems that depend on the kind of request. */
struct problem_words {
    const char *what;        /* the object that the request is about: "job", "topic" */
    const char *consequence; /* what to do if the outcome is unknown, as a sentence */
};

extern const struct problem_words problem_of_read; /* words for requests that change nothing */

/* Writes the problem for a verdict other than OK, and returns the HTTP status. */
unsigned problem_write_verdict(struct buffer *members, const struct exchange *, const struct app_verdict *,
                               const struct problem_words *);

/* ---- Whole bodies. ---- */

/* Writes the beginning of a problem: '{', type, title, status and detail. The caller adds further members and
 * '}'. */
void problem_write_head(struct buffer *body, unsigned status, struct slice detail);

/* Writes the body of an error: the function write_error of struct dialect. */
void problem_write_error(struct buffer *body, const struct exchange_error *);

/* ---- These functions answer with an error, and end the exchange. ---- */

void problem_answer_members(struct exchange *, unsigned status, struct slice members,
                            const struct app_verdict *);
void problem_answer_verdict(struct exchange *, const struct app_verdict *, const struct problem_words *);

/* Answers with the errors that a parser found in the body. */
void problem_answer_unparsed(struct exchange *, enum status, const char *what, const struct job_errors *);

/* ---- the answer with one page of a list: {"jobs":[...],"partial":true,"cursor":"..."} ---- */

struct page {
    struct exchange *exchange;
    struct buffer body;
    struct json_writer json; /* receives each item */
};

/* Begins a page. name is the member that has the items, such as "jobs". page_end frees the page. */
struct page *page_new(struct exchange *, const char *name);

/* Answers with the page, or with the error of the use case. page_end is an app_verdict_fn whose arg is the
 * page. */
void page_end(void *arg, const struct app_verdict *);

/* Answers with the object in the scratch buffer, or with the error of the use case, which only reads.
 * page_end_scratch is an app_verdict_fn whose arg is the exchange. */
void page_end_scratch(void *arg, const struct app_verdict *);

/* Adds "partial" if jobs may be missing, and "cursor" if the list has more pages. */
void page_add_end(struct json_writer *, const struct app_page *);

/* ---- the answer for one job of POST /jobs; a request has one job or many ---- */

enum {
    SUBMISSION_LOCATION_MAX =
        sizeof "../../jobs//?group=" + JOB_TOPIC_NAME_MAX + JOB_TOPIC_MAX + (size_t)3 * JOB_ID_MAX
};

/* Writes the path of a job, relative to the path of the request (RFC 9110, section 10.2.2). So the path is
 * also right behind a proxy that serves duepost below a prefix. group: the group to which the jobs were sent;
 * empty: none. */
void submission_write_location(struct buffer *location, const struct exchange *, struct slice id,
                               struct slice group);

/* Writes the members of the answer, without braces. Returns the HTTP status. */
unsigned submission_write(struct buffer *members, const struct exchange *, const struct app_submission *,
                          const struct app_verdict *);

/* ---- query.c ---- */

/* Reads the query parameters of lists and bulk actions. */

/* ---- values ----
 *
 * Each macro gives the last two values of a row in a table of parameters: the function that reads the value,
 * and the offset of the field. "in" is the struct, and "member" is the field. If the field has another type,
 * the macro does not compile. */

#define QUERY_KEY_EXPECTED    "must be empty, or UTF-8 of 1 to 128 bytes without control characters"
#define QUERY_CURSOR_EXPECTED "must be a cursor from a page of this list"

enum { QUERY_LIMIT_DEFAULT = 100 };

/* clang-format off */
#define QUERY_FIELD(read, type, in, member) read, _Generic(((in *)0)->member, type: offsetof(in, member))
/* clang-format on */

/* The maximum number of items in a page: 1 to APP_PAGE_MAX. */
#define QUERY_LIMIT(in, member) QUERY_FIELD(query_value_limit, size_t, in, member)

/* A time in ms since 1970; a time before 1970 becomes 1. */
#define QUERY_TIME(in, member) QUERY_FIELD(query_value_time, int64_t, in, member)

/* true or false. */
#define QUERY_FLAG(in, member) QUERY_FIELD(query_value_flag, bool, in, member)

/* The name of a topic. The field borrows from the decoded query, like the fields of QUERY_ID_PREFIX and
 * QUERY_LABELS. */
#define QUERY_TOPIC(in, member) QUERY_FIELD(query_value_topic, struct slice, in, member)

/* The beginning of a jobId or workflowId. */
#define QUERY_ID_PREFIX(in, member) QUERY_FIELD(query_value_id_prefix, struct slice, in, member)

/* A label. The parameter can be repeated; a label that is sent twice is added once. */
#define QUERY_LABELS(in, member) QUERY_FIELD(query_value_label, struct job_labels, in, member)

/* These functions return what is wrong with the value, or NULL. */
const char *query_value_limit(void *max, struct slice value);
const char *query_value_time(void *time_ms, struct slice value);
const char *query_value_flag(void *flag, struct slice value);
const char *query_value_topic(void *topic, struct slice value);
const char *query_value_id_prefix(void *prefix, struct slice value);
const char *query_value_label(void *labels, struct slice value);

/* ---- lists and bulk actions ---- */

/* The parameters of a list or a bulk action. The exchange has this struct as its state. */
struct list_query {
    const struct app *app;
    struct app_bulk bulk; /* filters and limits; bulk.list.max is the size of a page, also in lists of topics
                             and receivers */
    bool is_all;          /* the parameter all is true */
    bool is_any;          /* the parameter state is any */
    bool has_source;      /* the request has the parameter source; bulk.list.is_of_history has its value */
    struct topic_cursor topic;
    bool is_of_patterns; /* GET /topics lists patterns instead of topics */
    bool is_of_failing;  /* GET /topics lists only topics that fail */
    struct receiver_cursor receiver;
    struct slice after_key; /* place in a list of keys; points into key_room */
    char key_room[APP_CURSOR_MAX];
    char text[QUERY_BYTES_MAX + 1]; /* the decoded query; the values point into it */
    struct job_labels labels;
    char joined_labels[JOB_LABELS_MAX * (JOB_LABEL_MAX + 1)]; /* the labels, separated by newlines */
};

static inline struct list_query *list_query(const struct exchange *exchange)
{
    return exchange->state;
}

/* These functions read the parameters of lists of jobs, of GET /topics, GET /limits, GET /topics/<topic>/keys
 * and GET /receivers. The functions return false after they have answered 400, or 403 if the token has no
 * access to the topic. */
bool query_read_list(struct exchange *);
bool query_read_bulk(struct exchange *, enum app_action);
bool query_read_topics(struct exchange *);
bool query_read_limits(struct exchange *);
bool query_read_lanes(struct exchange *);
bool query_read_receivers(struct exchange *);

/* ---- view.c ---- */

/* Writes jobs and settings as JSON, without secrets. */

struct topic_settings;

/* Adds the "state" of a job and, while the job waits, its "dueAt". */
void view_add_place(struct json_writer *, enum job_state, int64_t at_ms);

/* Adds "jobId", "topic", "state" and "dueAt" of a new job. */
void view_add_placed(struct json_writer *, const struct stored_job *);

/* Adds the numbers of jobs "delivered", "cancelled" and "dead". */
void view_add_outcomes(struct json_writer *, const struct outcome_counts *);

/* Adds the result of an attempt: "at", "durationMs", and "status" or "error". */
void view_add_result(struct json_writer *, const struct attempt_result *);

/* Adds "headers": the headers of the job and those in the settings of its topic. The settings may be NULL. If
 * is_hidden is true, the values are masked. */
void view_add_headers(struct json_writer *, const struct topic_settings *, const struct job *,
                      bool is_hidden);

/* Adds the progress of the job with this id, as it is stored. */
void view_add_progress(struct json_writer *, struct slice id, struct slice value);

/* Writes a job as an object. Members that the job does not have come from the settings of its topic.
 * fallback: the retry schedule if neither the job nor the topic has one. */
void view_put_job(struct json_writer *, const struct stored_job *, const struct retry_schedule *fallback);

/* Adds "group" and "endpoints" of a group. text: the group as Redis stores it. */
void view_add_group(struct json_writer *, struct slice name, struct slice text);

/* Adds "settings" of a topic. text: the settings as Redis stores them. */
void view_add_settings(struct json_writer *, struct slice text);

/* ---- jobs.c, job_batch.c, sends.c ---- */

/* Requests that schedule jobs: one job, many jobs, or a send to a group. */

/* ---- many jobs: a JSON array, or NDJSON ----
 *
 * The text is cut into jobs first. If it is malformed, the request is refused and nothing is stored. Then
 * each job is submitted like the job of a single request (app/jobs.h). The jobs are submitted in order,
 * and an error of one job does not affect the others. For each job, the answer has the same status and
 * members as the answer to a request with only this job.
 *
 * Batches take turns. One turn of the event loop spends about a millisecond on all batches together, and only
 * a limited number of their jobs is being sent to Redis at any time. So a large batch does not delay single
 * requests and deliveries for long. Memory is limited, too: only a few batches are open at the same time, and
 * a waiting batch uses memory only for its text. If its client disconnects, a batch continues, as a single
 * job does. */

enum { JOB_BATCH_BYTES_MAX = 16 * 1024 * 1024 };

/* Creates the batches of one reactor. */
struct job_batches *job_batches_new(struct loop *);

/* Call this function after all batches have ended. NULL is ignored. */
void job_batches_free(struct job_batches *);

/* Returns whether the request has many jobs. Reads only the beginning of the body. */
bool job_batch_is_meant(const struct exchange *);

/* Begins a batch. When the batch ends, it answers the exchange. */
void job_batch_begin(struct exchange *);

/* ---- import.c ---- */

enum { IMPORT_BYTES_MAX = 64 * 1024 * 1024 };

/* Returns true: each import may have IMPORT_BYTES_MAX. */
bool import_is_large(const struct exchange *);

/* ---- sends ----
 *
 * A request with the member "group" sends one job to each endpoint of the group. POST /jobs
 * and PUT /jobs/<topic>/<jobId> send; GET and DELETE /jobs/<topic>/<jobId>?group=<name> read and cancel the
 * jobs of a send. */

struct app_send;
struct sent_job;
struct job;

enum sends_detail { SENDS_WITH_JOBS, SENDS_WITHOUT_JOBS };

/* Writes the result of a send as members of an object, without its braces. Returns the HTTP status. */
unsigned sends_write(struct buffer *members, const struct exchange *, const struct app_send *,
                     const struct app_verdict *, enum sends_detail);

/* Adds the jobs of a send. id is topic/jobId of the request that sent them. */
void sends_add_jobs(struct json_writer *, struct slice id, const struct sent_job *, size_t count);

/* Sends a job whose member "group" is set, and answers. Takes the job's content. */
void sends_submit(struct exchange *, struct job *);

/* Sends the job of a PUT, instead of the jobs that were sent before under its jobId, and answers.
 * exchange->seen has the tags of If-Match or If-None-Match. Takes the job's content. */
void sends_replace(struct exchange *, struct job *);

/* Answer a request to read or to cancel the jobs that were sent under the jobId in the path, to the group in
 * the query. */
void sends_read(struct exchange *);
void sends_cancel(struct exchange *);

#endif
