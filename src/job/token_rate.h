/* token_rate.h - a limit on a token's jobs and other requests: "1000/s", "60/m", "10/h".
 *
 * The limit is a token bucket with room for the requests of one period. The bucket is refilled at the given
 * rate. So after a pause, a client may send all requests of one period at once. A bucket belongs to one
 * process, whose reactors share it. */
#ifndef DUEPOST_JOB_TOKEN_RATE_H
#define DUEPOST_JOB_TOKEN_RATE_H

#include <stdatomic.h>

#include "base/slice.h"

struct token_rate {
    int64_t period_ns;       /* 0: no limit */
    int64_t step_ns;         /* time for one request */
    _Atomic int64_t full_ns; /* time at which the bucket is full again, by the caller's clock */
};

enum { TOKEN_RATE_MAX = 1000000 };

/* Parses a rate; the bucket is then full. Returns false if text is not a rate. */
bool token_rate_parse(struct slice text, struct token_rate *);

/* Takes one request from the bucket, at now_ns. Returns false if the bucket is empty; *wait_ns is then the
 * time until it has room for one request. */
bool token_rate_take(struct token_rate *, int64_t now_ns, int64_t *wait_ns);

/* Takes more requests from the bucket, even if it is empty; count is their number. Later requests then wait
 * longer. */
void token_rate_charge(struct token_rate *, int64_t now_ns, size_t count);

#endif
