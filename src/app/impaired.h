/* impaired.h - a summary of the impaired receivers, which failed or asked for fewer attempts: their number,
 * and the receivers that will be probed next. */
#ifndef DUEPOST_APP_IMPAIRED_H
#define DUEPOST_APP_IMPAIRED_H

#include "base/status.h"
#include "job/target/receiver.h"

struct store;

enum { IMPAIRED_FIRST = 10 };

struct impaired_receiver {
    char name[RECEIVER_NAME_SIZE];
    char cause[RECEIVER_CAUSE_SIZE]; /* cause of the last failure; empty: unknown */
    /* is_open: the receiver's breaker is open; otherwise the receiver asked for fewer attempts */
    bool is_open, is_probing;
    int64_t probe_ms; /* earliest time of the next probe; 0: the breaker is closed */
};

struct impaired {
    size_t count;
    /* the receivers whose probes are next, the earliest first */
    struct impaired_receiver first[IMPAIRED_FIRST];
};

/* Called when the receivers have been read. At most a few thousand receivers are read. */
typedef void impaired_fn(void *arg, enum status, const struct impaired *);
void impaired_read(struct store *, impaired_fn *, void *arg);

#endif
