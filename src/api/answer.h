/* answer.h - what all handlers of duepost's own API use: its data, errors as answers, and pages as answers.
 */
#ifndef DUEPOST_API_ANSWER_H
#define DUEPOST_API_ANSWER_H

#include <stdatomic.h>

#include "app/app.h"
#include "base/json_writer.h"
#include "http/exchange.h"

struct app_submission;
struct job_batches;

/* The data of the API in one reactor (a thread with its event loop). */
struct api {
    struct app *app;
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

void problem_answer_members(struct exchange *, unsigned status, struct slice members);
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

#endif
