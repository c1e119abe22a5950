/* pull_ending.h - ends workers' leases by the rules of job/ending.h, with the same records, lines, callbacks,
 * metrics and log lines as those of attempts that are POSTed. */
#ifndef DUEPOST_STORE_PULL_ENDING_H
#define DUEPOST_STORE_PULL_ENDING_H

#include "job/ending.h"
#include "store/shard.h"

/* A job that a worker has leased, as scripts return it. Borrowed. */
struct pulled {
    struct slice id, record;
    struct slice settings; /* settings of the job's topic */
    struct nonce nonce;
    int64_t due_ms, leased_ms;
};

enum pull_cause {
    PULL_CAUSE_COMPLETED,
    PULL_CAUSE_FAILED,   /* the worker asks for a retry */
    PULL_CAUSE_REJECTED, /* the worker gives the job up */
    PULL_CAUSE_LAPSED,   /* the lease ran out */
    PULL_CAUSE_UNFIT,    /* the job was not given to a worker */
};

struct pull_ending_facts {
    enum pull_cause cause;
    int64_t now_ms;
    struct slice error; /* FAILED, REJECTED: text of the worker; empty: none */
    bool has_delay;     /* FAILED */
    int64_t delay_ms;
    /* FAILED, LAPSED: default for jobs and topics without a schedule */
    const struct retry_schedule *schedule;
    bool is_confirmed; /* a client relies on the change, so it gets the configured durability. If this version
                          does not know the job or its topic, or cannot read them, nothing changes */
};

/* ending is NULL unless the status is OK. Besides the statuses of shard_done_fn, UNREADABLE, LACKING or
 * NO_MEMORY; nothing changed then. */
typedef void pull_ended_fn(void *arg, enum status, const struct ending *ending);

/* Copies all texts. fn may be NULL, and may be called before pull_end returns. */
void pull_end(struct shard *, const struct pulled *, const struct pull_ending_facts *, pull_ended_fn *fn,
              void *arg);

/* ---- ends that have the configured durability (pull_end.c) ---- */

/* code is the script's result for the item. Called with the status of the call. */
typedef void pull_sent_fn(void *arg, enum status, int64_t code, int64_t now_us);

/* batch is one of SHARD_BATCH_PULL_COMPLETE and the others. number: wait of RETRY, lease of EXTEND, in ms.
 * end may be NULL. Borrows everything until the callback. */
void pull_send(struct shard *, int batch, const struct lease *, int64_t number, const struct shard_end *end,
               pull_sent_fn *, void *arg);

#endif
