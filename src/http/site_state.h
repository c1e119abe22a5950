/* site_state.h - data that all exchanges of one reactor share. Only the files of http/ include it. */
#ifndef DUEPOST_HTTP_SITE_STATE_H
#define DUEPOST_HTTP_SITE_STATE_H

#include "base/buffer.h"
#include "base/list.h"
#include "base/metrics.h"
#include "http/dialect.h"
#include "job/token.h"

enum { SITE_DIALECTS_MAX = 4, SITE_KEY_BUCKETS = 256 };

struct site_options {
    size_t max_body_bytes;
    struct token_table *tokens; /* NULL: requests need no token */
    struct slice listen_host;   /* the address that is listened on, as configured; copied */
    struct slice hosts;         /* additional names of this host, separated by commas; see origin.h */
    struct metrics *metrics;    /* metrics of this reactor */
    struct tracer *tracer;      /* shared; NULL: no spans are recorded */
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

#endif
