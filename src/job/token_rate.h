/* token_rate.h - how many jobs and other requests a token may bring: "1000/s", "60/m", "10/h".
 *
 * A bucket that holds as many as the period has, and fills up again at that pace: after a silence all of
 * them may come at once. It belongs to one process; its reactors share it. */
#ifndef DUEPOST_JOB_TOKEN_RATE_H
#define DUEPOST_JOB_TOKEN_RATE_H

#include <stdatomic.h>

#include "base/slice.h"

struct token_rate {
    int64_t period_ns;       /* 0: no bound */
    int64_t step_ns;         /* of the period, for one */
    _Atomic int64_t full_ns; /* when the bucket is full again, by the clock that it is asked with */
};

enum { TOKEN_RATE_MAX = 1000000 };

/* False: it is none. The bucket is full. */
bool token_rate_parse(struct slice text, struct token_rate *);

/* Takes one, at now_ns. False: there is none left; *wait_ns until there will be. */
bool token_rate_take(struct token_rate *, int64_t now_ns, int64_t *wait_ns);

/* Takes count more, whether they are there or not: the next ones wait for it. */
void token_rate_charge(struct token_rate *, int64_t now_ns, size_t count);

#endif
