/* exchange.h - one request while it is being answered.
 *
 * An exchange begins when the head of the request has arrived, and ends with the answer. Every handler
 * answers exactly once: at once, or in a callback of a use case. */
#ifndef DUEPOST_HTTP_EXCHANGE_H
#define DUEPOST_HTTP_EXCHANGE_H

#include "app/app.h"
#include "app/audit.h"
#include "base/buffer.h"
#include "base/list.h"
#include "base/metrics.h"
#include "http/dialect.h"
#include "http/route.h"
#include "io/http/server.h"
#include "job/request.h"
#include "job/job.h"
#include "job/token.h"

/* ---- what all exchanges of one reactor share (site.h) ---- */

enum { SITE_DIALECTS_MAX = 4, SITE_KEY_BUCKETS = 256 };

struct site_options {
    size_t max_body_bytes;
    struct token_table *tokens; /* NULL: requests need no token */
    struct slice listen_host;   /* the address that is listened on, as configured; copied */
    struct slice hosts;         /* additional names of this host, separated by commas; see access.h */
    struct metrics *metrics;    /* metrics of this reactor */
    struct tracer *tracer;      /* shared; NULL: no spans are recorded */
    struct slice inner_token;   /* borrowed: the token of this process itself, see site_attach_inner */
    struct app
        *app; /* borrowed: with its history, the lines of the audit log are written there; NULL: none is */
};

struct site {
    struct site_options options;
    char *listen_host; /* copy of listen_host in options */
    struct {
        const struct dialect *dialect;
        void *self;
    } dialects[SITE_DIALECTS_MAX];
    size_t dialect_count;
    struct buffer scratch;              /* the body of one answer */
    struct buffer members;              /* a part of the answer's body that must be written before the rest */
    size_t large_count;                 /* number of exchanges whose is_large is set */
    struct list keys[SITE_KEY_BUCKETS]; /* exchanges with an idempotency key, by the key's hash */
};

/* ---- one exchange ---- */

enum { EXCHANGE_ONCE_MAX = 512 }; /* bytes of a fingerprint, a topic and an idempotency key */

struct exchange {
    struct site *site;
    const struct dialect *dialect;
    void *self; /* data of the dialect, as given to site_add */
    struct http_request *request;
    const struct method *method;
    bool is_inner;              /* the request came to a server of site_attach_inner */
    bool is_probe;              /* the route reports health, see struct route */
    int64_t began_us;           /* time at which the request began (CLOCK_BOOTTIME) */
    struct token_table *tokens; /* shared; the table in which token was found */
    struct token *token;        /* NULL: there are no tokens, or the route needs no token */
    struct app_caller caller;   /* passed to use cases; without tokens it has a right to all topics */
    struct slice topic, job_id; /* names from the path, decoded; empty if the path has no such name */
    struct slice key;           /* see route_names */
    struct slice rest;          /* open path: the rest of the target as sent, with its query */
    struct slice query;         /* query without its '?' */
    struct buffer path;         /* topic, job_id and key point into it */
    bool is_other_media;        /* the body has the media type or_media of its method (dialect.h) */
    bool is_large, is_crowded;  /* is_large: the body may be larger than max_body_bytes. is_crowded: it may
                                   not, because there are too many such bodies now */
    struct buffer seen;         /* tags of If-Match or If-None-Match, see request_headers.h; else empty */
    struct buffer once;         /* fingerprint and idempotency key, see request_headers.h; else empty */
    struct list key_link;
    struct app_notes notes;     /* lines of the audit log that the answer waits for */
    struct held_answer *held;   /* the answer, while it waits for them; NULL: none */
    struct exchange_span *span; /* the span if the request schedules jobs; NULL: none */
    void *state;                /* data of the handler, see exchange_keep */
    void (*free_state)(void *);
};

/* Begins an exchange, and sets it as the context of the request. */
struct exchange *exchange_new(struct site *, struct http_request *);

/* Returns whether the request has no token although the server has some, and its method allows this. */
bool exchange_is_guest(const struct exchange *);

/* Keeps the data of a handler until the exchange ends; then calls free_state with it. */
void exchange_keep(struct exchange *, void *state, void (*free_state)(void *));

/* Returns the scratch buffer of the reactor, emptied. Its text is lost when another exchange calls this
 * function. */
struct buffer *exchange_scratch(struct exchange *);

/* Returns a second scratch buffer, for the part of an answer that must be written before the rest. */
struct buffer *exchange_members(struct exchange *);

/* ---- functions that answer; each ends the exchange ---- */

/* Answers with application/json, or from status 400 on with the dialect's error_type. */
void exchange_answer(struct exchange *, unsigned status, const struct http_header *headers, size_t count,
                     struct slice body);

/* Answers 200 with application/json. Calls on_end once, see http_answer. If there is no room for the answer,
 * answers 503 instead, and calls on_end with false. */
void exchange_answer_watched(struct exchange *, struct slice body, void (*on_end)(void *arg, bool was_sent),
                             void *arg);

/* Answers with a body of this media type. If content_type is empty, the answer has no Content-Type. */
void exchange_answer_as(struct exchange *, unsigned status, struct slice content_type,
                        const struct http_header *headers, size_t count, struct slice body);

/* Answers 200 with a body of this media type that has no end yet, see http_stream_begin. The exchange, and
 * its request, live until the answer has ended. */
void exchange_answer_stream(struct exchange *, struct slice content_type, struct slice body);

/* Answers 200 with a body of this media type. */
void exchange_answer_text(struct exchange *, struct slice content_type, struct slice body);

/* Answers with an error in the dialect's form. Adds Retry-After to a 503 and a 429. */
void exchange_refuse(struct exchange *, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Answers like exchange_refuse, with one more header. */
void exchange_refuse_with(struct exchange *, unsigned status, const struct http_header *, const char *format,
                          ...) __attribute__((format(printf, 4, 5)));

/* Answers 400 with these errors. what names the part of the request that has the errors: "job", "query" or
 * "request". */
void exchange_refuse_errors(struct exchange *, const char *what, const struct job_errors *);

/* Continues a request for which admit_guest of its method was called: its body is read. */
void exchange_proceed(struct exchange *);

/* Answers 503, because this process is over its limits. The request must not have changed anything. */
void exchange_refuse_over_limit(struct exchange *);

/* ---- */

/* Ends an exchange without an answer, because its client has disconnected. */
void exchange_free(struct exchange *);

/* The header Retry-After of answers 503, and of those 429 that know no longer wait. */
extern const struct http_header exchange_retry_after;

/* ---- traces ----
 *
 * Passes the trace of a request (W3C Trace Context) on to its jobs. If duepost records
 * spans, the request becomes a span of its trace, or of a new trace, and the attempts of its jobs become
 * children of this span. */

struct trace_context {
    char parent[TRACE_PARENT_BYTES], state[TRACE_STATE_MAX + 1];
};

/* Reads the trace of the request into context, and adds it to the job, which borrows context. */
void trace_context_take(struct exchange *, struct trace_context *, struct job *);

#endif
