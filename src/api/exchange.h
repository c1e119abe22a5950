/* exchange.h - one request while it is being answered.
 *
 * It is born when the head has come, knows its route, and ends with its answer,
 * which every handler gives exactly once, now or in a callback of the store. */
#ifndef DUEPOST_API_EXCHANGE_H
#define DUEPOST_API_EXCHANGE_H

#include "api/api.h"
#include "api/cursor.h"
#include "api/submission.h"
#include "base/buffer.h"
#include "base/list.h"
#include "job/job.h"

struct exchange;
struct job_batch;
struct job_batches;
struct tally;

typedef void exchange_fn(struct exchange *);

enum { EXCHANGE_PATH_MAX = 1024, EXCHANGE_QUERY_MAX = 2048, API_KEY_BUCKETS = 256 };

struct api {
    struct api_options options;
    char *listen_host; /* of options */
    bool is_draining;
    struct buffer scratch; /* for the body of one answer */
    struct buffer members; /* of what is said of one job, or of a problem */
    struct job_batches *batches;
    struct tally *tally;               /* requests that wait for numbers of Redis */
    size_t large_count;                /* requests that is_large */
    struct list keys[API_KEY_BUCKETS]; /* exchanges with an idempotency key, by its hash */
};

struct exchange {
    struct api *api;
    struct http_request *request;
    const struct method *method;
    enum metrics_route route;
    bool is_probe;                /* of its route */
    int64_t began_us;             /* CLOCK_BOOTTIME */
    struct token_table *tokens;   /* shared; holds token */
    struct token *token;          /* whose request it is; NULL: no tokens, or a free route */
    struct slice topic, job_id;   /* of the path, decoded; empty where the route has none */
    struct slice key;             /* topic/jobId of the path, or its topic, or its receiver */
    struct slice query;           /* without its '?' */
    struct buffer path;           /* topic, job_id and key point into it */
    bool has_lines;               /* the body is NDJSON */
    bool is_large, is_crowded;    /* the body may be over max_body_bytes; might, but for too many others */
    struct submission submission; /* of the job that is POSTed */
    struct job_batch *batch;      /* owned; NULL unless many are */
    struct buffer seen;           /* tags of If-Match, as the store takes them; empty without one */
    struct buffer once; /* its fingerprint and idempotency key, see store_schedule; empty without one */
    struct list key_link;
    struct exchange_query *parameters; /* owned; NULL until query_read_... has read some */
};

/* Apart, because it is large and most requests have none. */
struct exchange_query {
    struct store_list jobs;
    struct store_topics topics;
    /* Of a redrive: from job to job, 0 for none; when the first is due, 0 for now. */
    int64_t step_us, begin_ms;
    bool is_dry_run;          /* of a bulk action: count, and change nothing */
    char cursor[CURSOR_ROOM]; /* jobs.from points into it */
    struct store_receivers receivers;
    char text[EXCHANGE_QUERY_MAX + 1]; /* decoded values point into it */
};

/* The empty scratch buffer; it lives until the next one asks for it. */
struct buffer *exchange_scratch(struct exchange *);

/* The same for members of a JSON object. */
struct buffer *api_members(struct api *);

/* These answer, and end the exchange. */
void exchange_answer_json(struct exchange *, unsigned status, const struct http_header *headers, size_t count,
                          struct slice body);

/* 200 with a text of this type. */
void exchange_answer_text(struct exchange *, struct slice content_type, struct slice body);

void exchange_free(struct exchange *);

#endif
