/* exchange.h - one request while it is being answered.
 *
 * It begins when the head has come and ends with its answer, which every handler gives exactly once, now or
 * in a callback of a use case. */
#ifndef DUEPOST_HTTP_EXCHANGE_H
#define DUEPOST_HTTP_EXCHANGE_H

#include "app/app.h"
#include "base/list.h"
#include "http/route.h"
#include "http/site_state.h"
#include "io/http_server.h"

struct exchange {
    struct site *site;
    const struct dialect *dialect;
    void *self; /* the dialect's own, see site_add */
    struct http_request *request;
    const struct method *method;
    bool is_probe;              /* of its route */
    int64_t began_us;           /* CLOCK_BOOTTIME */
    struct token_table *tokens; /* shared; holds token */
    struct token *token;        /* NULL: no tokens, or a free route */
    struct app_caller caller;   /* as use cases take it; without tokens it reaches all topics */
    struct slice topic, job_id; /* from the path, decoded; empty where the route has none */
    struct slice key;           /* see route_names */
    struct slice query;         /* without its '?' */
    struct buffer path;         /* topic, job_id and key point into it */
    bool is_other_media;        /* the body has the method's or_media */
    bool is_large, is_crowded;  /* the body may be over max_body_bytes; or only too many others are already */
    struct buffer seen;         /* tags of If-Match or If-None-Match, see etag.h; empty without */
    struct buffer once;         /* fingerprint and idempotency key, see idempotency.h; empty without */
    struct list key_link;
    void *state; /* the handler's own, see exchange_keep */
    void (*free_state)(void *);
};

/* Begins an exchange and makes it the request's context. */
struct exchange *exchange_new(struct site *, struct http_request *);

/* Keeps state until the exchange ends; free_state frees it then. */
void exchange_keep(struct exchange *, void *state, void (*free_state)(void *));

/* The empty scratch buffer. It is the exchange's until the next one asks for it. */
struct buffer *exchange_scratch(struct exchange *);

/* The same for a part of an answer that is written before the rest. */
struct buffer *exchange_members(struct exchange *);

/* ---- These answer, and end the exchange. ---- */

/* Answers with application/json, or from status 400 on with the dialect's error_type. */
void exchange_answer(struct exchange *, unsigned status, const struct http_header *headers, size_t count,
                     struct slice body);

/* Answers 200 with a text of this type. */
void exchange_answer_text(struct exchange *, struct slice content_type, struct slice body);

/* Answers with an error as the dialect writes it. 503 gets a Retry-After. */
void exchange_refuse(struct exchange *, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with one more header. */
void exchange_refuse_with(struct exchange *, unsigned status, const struct http_header *, const char *format,
                          ...) __attribute__((format(printf, 4, 5)));

/* 400: what is "job", "query" or "request". */
void exchange_refuse_errors(struct exchange *, const char *what, const struct job_errors *);

/* 503: over the limits; nothing changed. */
void exchange_refuse_over_limit(struct exchange *);

/* ---- */

/* Ends an exchange whose client is gone. */
void exchange_free(struct exchange *);

/* Tells the client of a 503 when to try again. */
extern const struct http_header exchange_retry_after;

#endif
