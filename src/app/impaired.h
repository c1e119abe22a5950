/* impaired.h - the receivers that are impaired, in short: how many, and those whose next probe is first. */
#ifndef DUEPOST_APP_IMPAIRED_H
#define DUEPOST_APP_IMPAIRED_H

#include "job/receiver.h"
#include "store/store.h"

enum { IMPAIRED_FIRST = 10 };

struct impaired_receiver {
    char name[RECEIVER_NAME_SIZE];
    char cause[RECEIVER_CAUSE_SIZE]; /* of the last failure; empty: unknown */
    bool is_open, is_probing;        /* its breaker; else it has asked for fewer attempts */
    int64_t probe_ms;                /* no probe before this time; 0: its breaker is closed */
};

struct impaired {
    size_t count;
    struct impaired_receiver first[IMPAIRED_FIRST]; /* in the order of their probes */
};

/* Called when all receivers have been read, up to a limit of some thousands. */
typedef void impaired_fn(void *arg, enum status, const struct impaired *);
void impaired_read(struct store *, impaired_fn *, void *arg);

#endif
