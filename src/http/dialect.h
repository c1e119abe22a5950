/* dialect.h - an HTTP API as tables: its routes and its form of errors.
 *
 * A dialect is registered with site_add. The dialect's handlers read the request, call a use case of app/,
 * and answer their exchange exactly once. Everything before the handler is the same for all dialects: paths,
 * methods, tokens, limits, media types. */
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
    BODY_JSON,         /* application/json, or the type or_media of struct method */
    BODY_JSON_OR_NONE, /* a request without a body needs no Content-Type */
    BODY_ANY,
};

/* The requests that a token may send if it is restricted to some topics. */
enum reach {
    REACH_UNDECIDED, /* the table has no value here: the process does not start */
    REACH_FREE,      /* any request; no token is needed, and the method has no scopes */
    /* Any request, because the answer is about the caller itself; the method has no scopes. */
    REACH_CALLER,
    REACH_ALL,   /* no request, because the method concerns all topics: 403 */
    REACH_TOPIC, /* requests for its topics; any other topic in the path: 403 */
    REACH_GROUP, /* requests for its groups; any other group in the path: 403 */
    REACH_JOB,   /* requests for jobs of its topics; any other job in the path: 404, as if it did not exist */
    REACH_ASKED, /* the handler checks, because the body or the query names the topic */
};

struct method {
    const char *name;
    const char *label;   /* name of the route in the metrics */
    exchange_fn *handle; /* called when the whole request has arrived */
    enum reach reach;
    unsigned scopes; /* a token needs all of them: see token.h */
    enum body_kind body;
    const char *or_media; /* another media type that is accepted with BODY_JSON; NULL: none */
    bool takes_query;     /* the handler checks the query; otherwise any parameter is refused */
    /* Returns whether the body may be larger than the site's max_body_bytes, up to large_bytes. Reads the
     * beginning of the body only. NULL: no body may be larger. */
    bool (*is_large)(const struct exchange *);
    size_t large_bytes;
};

/* The names in a path. The slices point into the path buffer of route_find. */
struct route_names {
    struct slice topic, job_id;
    struct slice key;  /* topic/jobId, the topic, the group, or the receiver */
    struct slice rest; /* open path: the rest of the target as sent, with its query */
};

/* Reads names from the decoded segments of a path. text contains the segments, separated by slashes. Returns
 * false if a name is invalid. */
typedef bool route_names_fn(struct buffer *text, struct route_names *);

enum { ROUTE_METHODS_MAX = 5 };

struct route {
    /* Each ":" stands for a segment that names a topic, a jobId, a group or a receiver. A path that ends in
     * "*" is open: any bytes may follow, which are not decoded. */
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
    exchange_fn *refuse_job; /* gives the answer for a job that does not exist; NULL without REACH_JOB */
    struct slice root;  /* common beginning of the dialect's paths; the dialect also answers for unknown paths
                           there; empty: none */
    struct slice topic; /* topic of the routes whose path names no topic; empty: none */
    const char *token_parameter; /* query parameter that may contain the token, too; NULL: none */
};

#endif
