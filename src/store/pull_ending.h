/* pull_ending.h - ends workers' leases by the rules of job/delivery/ending.h, with the same records, attempt
 * lines, callbacks, metrics and log lines as for jobs that are POSTed. */
#ifndef DUEPOST_STORE_PULL_ENDING_H
#define DUEPOST_STORE_PULL_ENDING_H

#include "job/delivery/ending.h"
#include "store/shard.h"

/* A job that a worker has leased, as scripts return it. Valid until the callback returns. */
struct pulled {
    struct slice id, record;
    struct slice settings; /* settings of the job's topic */
    struct nonce nonce;
    int64_t due_ms, leased_ms;
};

enum pull_cause {
    PULL_CAUSE_COMPLETED,
    PULL_CAUSE_FAILED,   /* the worker requested a retry */
    PULL_CAUSE_REJECTED, /* the worker gave up the job */
    PULL_CAUSE_LAPSED,   /* the lease ran out */
    PULL_CAUSE_UNFIT,    /* the job was not given to a worker: it has expired, has no retry left, or cannot be
                            read */
};

/* The words before a colon name the causes that use the member. */
struct pull_ending_facts {
    enum pull_cause cause;
    int64_t now_ms;
    struct slice error; /* FAILED or REJECTED: the worker's description of the error; empty: none */
    bool has_delay;     /* FAILED: wait delay_ms instead of the time in the retry schedule */
    int64_t delay_ms;
    /* FAILED, LAPSED or UNFIT: default retry schedule for jobs and topics that have none. */
    const struct retry_schedule *schedule;
    bool is_confirmed; /* a client waits for the answer: the change gets the configured durability. If the job
                          or its topic's settings cannot be read or need a later version, nothing changes */
};

/* ending is NULL unless the status is OK or UNDURABLE. now_us is the time of Redis at the end of the lease;
 * it is set only with these statuses and if is_confirmed was true. The statuses are those of shard_done_fn,
 * and also UNREADABLE, LACKING and NO_MEMORY, after which nothing has changed. */
typedef void pull_ended_fn(void *arg, enum status, const struct ending *ending, int64_t now_us);

/* Copies all texts. fn may be NULL, and may be called before pull_end returns. */
void pull_end(struct shard *, const struct pulled *, const struct pull_ending_facts *, pull_ended_fn *fn,
              void *arg);

/* ---- ending and extending leases with the configured durability (pull_end.c) ---- */

/* Called with the status of the call. code is the script's result for the item. */
typedef void pull_sent_fn(void *arg, enum status, int64_t code, int64_t now_us);

/* Adds an item to this batch, whose name begins with SHARD_BATCH_PULL. number is the wait before the next
 * attempt (RETRY) or the length of the lease (EXTEND), in ms. end may be NULL. Borrows all arguments until
 * the callback. */
void pull_send(struct shard *, int batch, const struct lease *, int64_t number, const struct shard_end *end,
               pull_sent_fn *, void *arg);

#endif
