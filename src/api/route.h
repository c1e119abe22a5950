/* route.h - which handler answers which method on which path, and who may ask. */
#ifndef DUEPOST_API_ROUTE_H
#define DUEPOST_API_ROUTE_H

#include "api/exchange.h"

/* What a method's body may be. */
enum body_kind {
    BODY_NONE,  /* nothing that we read */
    BODY_JSON,  /* application/json */
    BODY_PATCH, /* a patch may call itself what it is, too: application/merge-patch+json (RFC 7396) */
    BODY_JOBS,  /* application/x-ndjson, too; many jobs may be over max_body_bytes */
};

/* What a method means for a token that is bound to some topics. */
enum reach {
    REACH_UNDECIDED, /* nobody thought of it: the process does not start */
    REACH_FREE,      /* for everybody, also without a token; it has no scopes */
    REACH_ALL,       /* shows, or acts on, what is of all topics: 403 */
    REACH_TOPIC,     /* the path's topic, of which the refusal tells nothing: 403 */
    REACH_JOB,       /* the path's job: 404, as if it were missing */
    REACH_ASKED,     /* the handler checks, because body or query name the topic: see access.h */
};

struct method {
    const char *name;
    enum metrics_route route;
    exchange_fn *handle; /* all has come */
    enum body_kind body;
    bool takes_query; /* known parameters are the handler's to check; else there are none */
    enum reach reach;
    unsigned scopes; /* of a token, all of which are needed: see token.h */
};

enum { ROUTE_METHODS_MAX = 4 };

struct route {
    const char *path; /* ":" stands for topic and jobId, or for a receiver */
    bool is_probe;    /* asks how we are: ignores its query, and is answered also where there is no room */
    bool has_receiver;
    struct method methods[ROUTE_METHODS_MAX];
};

/* Finds the route of a raw target (RFC 3986: path and query) and fills in the exchange's topic, jobId, key
 * and query. NULL: there is nothing at this path. Segments are decoded; what cannot be a topic, a jobId or a
 * receiver is no path of ours. */
const struct route *route_find(struct exchange *, struct slice target);

/* Stops the process when a method in the table lacks its decision. */
void route_check_table(void);

/* NULL: the path knows no such method. HEAD is GET. */
const struct method *route_method(const struct route *, struct slice name);

/* "GET, HEAD, PUT, PATCH, DELETE", into text. */
void route_allow(const struct route *, struct buffer *text);

#endif
