/* token_rate.h - a limit on a token's jobs and other requests: "1000/s", "60/m", "10/h".
 *
 * A token bucket with room for one period, refilled at the same rate: after a pause, a whole period's number
 * may come at once. It belongs to one process; its reactors share it. */
#ifndef DUEPOST_JOB_TOKEN_RATE_H
#define DUEPOST_JOB_TOKEN_RATE_H

#include <stdatomic.h>

#include "base/slice.h"

struct token_rate {
    int64_t period_ns;       /* 0: no limit */
    int64_t step_ns;         /* time for one request */
    _Atomic int64_t full_ns; /* when the bucket is full again, by the caller's clock */
};

enum { TOKEN_RATE_MAX = 1000000 };

/* Parses a rate. False: text is not a rate. The bucket is full. */
bool token_rate_parse(struct slice text, struct token_rate *);

/* Takes one, at now_ns. False: the bucket is empty; *wait_ns is the time until the next one. */
bool token_rate_take(struct token_rate *, int64_t now_ns, int64_t *wait_ns);

/* Takes count more even if the bucket is empty; later requests wait for them. */
void token_rate_charge(struct token_rate *, int64_t now_ns, size_t count);

#endif
