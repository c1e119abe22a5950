/* tally.h - the numbers of Redis that the metrics show, for all reactors of a process.
 *
 * A process counts at most once a second, for any number of clients. Requests that come within that second
 * get the same numbers; requests that come while Redis is counting wait for the result. */
#ifndef DUEPOST_APP_TALLY_H
#define DUEPOST_APP_TALLY_H

#include "job/job_id.h"
#include "store/store.h"

struct tally_board; /* the last count of the process; any thread may use it */
struct tally;       /* the requests of one reactor that wait for a count */

struct tally_board *tally_board_new(void);
void tally_board_free(struct tally_board *); /* NULL is fine */

/* Borrows both. */
struct tally *tally_new(struct loop *, struct tally_board *);

/* Drops the requests that wait. Call it after the store is gone. NULL is fine. */
void tally_free(struct tally *);

enum { TALLY_TOPICS_MAX = 100 };

struct tally_topic {
    char name[JOB_TOPIC_NAME_MAX + 1];
    int64_t delayed, ready, held, leased, dead; /* jobs */
    int64_t due_ms;                             /* of the first job that waits; INT64_MAX: no job waits */
    int64_t late_ms;                            /* of that job; 0: it is not due */
};

struct tally_count {
    struct store_counts all;
    size_t topic_count;
    struct tally_topic topics[TALLY_TOPICS_MAX]; /* the most urgent ones, see store_topics */
};

/* The count is borrowed until the callback returns. */
typedef void tally_fn(void *arg, enum status, const struct tally_count *);

/* Calls fn once, and never before it returns, with the numbers of the last count or of the next one. status
 * is not OK where Redis did not answer that count. */
void tally_ask(struct tally *, struct store *, tally_fn *, void *arg);

#endif
