/* tally.h - counts jobs and topics in Redis for the metrics, for all reactors of a process.
 *
 * A process counts at most once a second, for any number of clients: clients that ask within the same second
 * get the same numbers. Clients that ask during a count wait for its result. */
#ifndef DUEPOST_APP_TALLY_H
#define DUEPOST_APP_TALLY_H

#include "app/agreement.h"
#include "job/topic/topic.h"
#include "store/coming.h"
#include "store/store.h"

struct tally_board; /* result of the process's last count; any thread may use the board */
struct tally;       /* the calls of tally_ask that wait in one reactor */

struct tally_board *tally_board_new(void);
void tally_board_free(struct tally_board *); /* NULL is ignored */

/* Creates a tally. Borrows both arguments. */
struct tally *tally_new(struct loop *, struct tally_board *);

/* Frees a tally and drops the waiting requests. Must be called after the store has been freed. NULL is
 * ignored. */
void tally_free(struct tally *);

enum { TALLY_TOPICS_MAX = 100 };

struct tally_count {
    struct store_counts all;
    size_t topic_count;
    struct urgent_topic topics[TALLY_TOPICS_MAX]; /* the most urgent topics, see store_topics */
    size_t failing_count;
    struct failing_topic failing[STORE_FAILING_MAX]; /* the most failures first */
    /* See tally_want_more. */
    bool has_impaired, has_coming;
    struct impaired impaired;
    struct coming coming; /* numbers of jobs by due time, counted at most two minutes ago */
};

/* Called with a count, which is valid until the callback returns. */
typedef void tally_fn(void *arg, enum status, const struct tally_count *);

/* Calls fn once, after tally_ask has returned, with the last count if it is fresh, or with the next count.
 * The status is not OK if Redis did not answer the count. */
void tally_ask(struct tally *, struct store *, tally_fn *, void *arg);

/* Adds impaired receivers and coming jobs (numbers of waiting jobs by due time) to the counts of the next
 * seconds. The first of these counts has all parts: jobs, topics, receivers and coming jobs. After that, each
 * count refreshes one part, with one call to each shard. So the numbers of jobs are at most two seconds old,
 * and the numbers of topics and receivers at most eight. A walk finds the coming jobs: it begins at most
 * every ten seconds, and does a step every four seconds. */
void tally_want_more(struct tally *);

#endif
