/* follow_up.h - follow-ups: jobs, such as callbacks, that a script schedules when it ends the lease of
 * another job. */
#ifndef DUEPOST_STORE_FOLLOW_UP_H
#define DUEPOST_STORE_FOLLOW_UP_H

#include "base/slice.h"

/* A follow-up. Its topic is a sibling of the other job's topic (as orders~callbacks is of orders). */
struct shard_follow_up {
    struct slice id;
    int64_t delay_ms;    /* counted from the time at which Redis runs the script */
    struct slice record; /* see job_write */
};

struct shard_follow_ups {
    const struct shard_follow_up *jobs;
    size_t count;
};

#endif
