/* follow_up.h - jobs that are scheduled by the script that ends another job's lease. */
#ifndef DUEPOST_STORE_FOLLOW_UP_H
#define DUEPOST_STORE_FOLLOW_UP_H

#include "base/slice.h"

/* A job that is scheduled when another job's lease ends. The topic of the new job is a sibling of that job's
 * topic. */
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
