/* dialect.h - an HTTP API as a table (a dialect): its routes, and how it writes errors.
 *
 * A dialect is registered with site_add. Each of its handlers reads the request, calls a use case (an
 * operation of app/), and answers its exchange exactly once. The checks before the handler are the same for
 * all dialects: paths, methods, tokens, limits, media types. */
#ifndef DUEPOST_HTTP_DIALECT_H
#define DUEPOST_HTTP_DIALECT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/slice.h"

struct exchange;
struct job_errors;

typedef void exchange_fn(struct exchange *);

/* The body that a method accepts. */
enum body_kind {
    BODY_NONE,         /* the body is not read */
    BODY_JSON,         /* application/json, or the media type in the member or_media */
    BODY_JSON_OR_NONE, /* as BODY_JSON, but the body may be absent; then Content-Type is not required */
    BODY_ANY,
};

/* Which requests to a method a token may send if it is restricted to some topics. */
enum reach {
    REACH_UNDECIDED, /* the value is missing in the table: the process does not start */
    REACH_FREE,      /* any request; no token is needed, and the method has no scopes */
    /* Any request, because the answer is about the caller itself; the method has no scopes. */
    REACH_CALLER,
    REACH_ALL,   /* no request, because the method concerns all topics: 403 */
    REACH_TOPIC, /* requests for the token's topics; for another topic in the path: 403 */
    REACH_GROUP, /* requests for the token's groups; for another group in the path: 403 */
    REACH_JOB, /* requests for jobs in the token's topics; for another job in the path: 404, as if it did not
                  exist */
    REACH_ASKED, /* the handler checks, because the body or the query names the topic */
};

struct method {
    const char *name;
    const char *label;   /* name of the route in the metrics */
    exchange_fn *handle; /* called after the whole request has arrived */
    enum reach reach;
    unsigned scopes; /* the token must have all of these scopes, see token.h */
    enum body_kind body;
    const char *or_media; /* with BODY_JSON: a second media type that is accepted; NULL: none */
    /* The method needs no token, although its requests can change something. Called before the body is read;
     * the function must answer, or call exchange_proceed. NULL: not such a method. */
    exchange_fn *admit_guest;
    /* The method needs no token if its body has the token of an attempt (lease_text.h), which the handler
     * checks. */
    bool takes_lease_token;
    bool takes_query; /* the handler checks the query; otherwise any parameter is refused */
    /* Returns whether the body may have up to large_bytes instead of the site's max_body_bytes. The function
     * reads only the beginning of the body. NULL: never. */
    bool (*is_large)(const struct exchange *);
    size_t large_bytes;
};

/* The names in a path. The slices point into the path buffer of route_find. */
struct route_names {
    struct slice topic, job_id;
    struct slice key;  /* topic/jobId, the topic, topic/key, the limit, the group, or the receiver */
    struct slice rest; /* open path: the rest of the target as sent, with its query */
};

/* Reads names from the decoded segments of a path. text contains the segments, separated by slashes. Returns
 * false if a name is invalid. */
typedef bool route_names_fn(struct buffer *text, struct route_names *);

enum { ROUTE_METHODS_MAX = 5 };

struct route {
    /* Each ":" is a segment with a name: a topic, a jobId, a group or a receiver. A path that ends in "*" is
     * open: any bytes may follow, and they are not decoded. */
    const char *path;
    route_names_fn *names; /* NULL: the path has no ":" */
    bool is_probe;         /* reports health: its query is ignored, and it is answered even over the limits */
    struct method methods[ROUTE_METHODS_MAX];
};

/* One error, before a dialect writes it. */
struct exchange_error {
    unsigned status;     /* HTTP status */
    struct slice detail; /* a sentence for people; empty if errors is set */
    const char
        *what; /* the part of the request that has the errors: "job" or "query"; NULL if errors is not set */
    const struct job_errors *errors; /* NULL: none */
};

struct dialect {
    const struct route *routes;
    size_t route_count;
    struct slice error_type; /* media type of an error */
    /* Writes the whole body of an error's answer. */
    void (*write_error)(struct buffer *body, const struct exchange_error *);
    exchange_fn *refuse_job; /* answers as for a job that does not exist; NULL if no method has REACH_JOB */
    struct slice root;  /* beginning of all paths of the dialect, which then also answers for unknown paths
                           with this beginning; empty: none */
    struct slice topic; /* topic of the routes whose path names no topic; empty: none */
    const char *token_parameter; /* query parameter that may also contain the token; NULL: none */
};

#endif
