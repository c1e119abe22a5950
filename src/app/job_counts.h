/* job_counts.h - counts jobs, topics and impaired receivers in Redis for the metrics and the overview, for
 * all reactors of a process.
 *
 * A process counts at most once a second, for any number of clients: clients that ask within the same second
 * get the same numbers. Clients that ask during a count wait for its result. */
#ifndef DUEPOST_APP_TALLY_H
#define DUEPOST_APP_TALLY_H

#include "app/overview.h"
#include "job/topic/topic.h"
#include "store/store.h"
#include "store/store.h"

struct job_counts_board; /* result of the process's last count; any thread may use the board */
struct job_counts;       /* the calls of job_counts_ask that wait in one reactor */

struct job_counts_board *job_counts_board_new(void);
void job_counts_board_free(struct job_counts_board *); /* NULL is ignored */

/* Creates the counts of a reactor. Borrows both arguments. */
struct job_counts *job_counts_new(struct loop *, struct job_counts_board *);

/* Frees the counts and drops the waiting requests. Must be called after the store has been freed. NULL is
 * ignored. */
void job_counts_free(struct job_counts *);

enum { JOB_COUNTS_TOPICS_MAX = 100, JOB_COUNTS_LIMITS_MAX = 100, JOB_COUNTS_QUOTAS_MAX = 100 };

struct job_counts_result {
    struct store_counts all;
    size_t topic_count;
    struct urgent_topic topics[JOB_COUNTS_TOPICS_MAX]; /* the most urgent topics, see store_topics */
    size_t limit_count;
    struct limit_use {
        char name[JOB_TOPIC_MAX + 1];
        int64_t in_flight, waiting;  /* see struct limit */
    } limits[JOB_COUNTS_LIMITS_MAX]; /* the first limits that topics share, by name */
    size_t quota_count;
    struct quota_topic
        quotas[JOB_COUNTS_QUOTAS_MAX]; /* topics with a quota, those with the most jobs first */
    size_t failing_count;
    struct failing_topic failing[STORE_FAILING_MAX]; /* the most failures first */
    /* See job_counts_want_more. */
    bool has_impaired, has_forecast;
    struct impaired impaired;
    struct forecast forecast; /* numbers of jobs by due time, counted at most two minutes ago */
};

/* Called with a count, which is valid until the callback returns. */
typedef void job_counts_fn(void *arg, enum status, const struct job_counts_result *);

/* Calls fn once, after job_counts_ask has returned, with the last count if it is fresh, or with the next
 * count. The status is not OK if Redis did not answer the count. */
void job_counts_ask(struct job_counts *, struct store *, job_counts_fn *, void *arg);

/* Adds impaired receivers and the forecast (numbers of waiting jobs by due time) to the counts of the next
 * seconds. The first of these counts has all parts: jobs, topics, receivers and forecast. After that, each
 * count refreshes one part, with one call to each shard. So the numbers of jobs are at most two seconds old,
 * and the numbers of topics and receivers at most eight. A walk finds the forecast: it begins at most
 * every ten seconds, and does a step every four seconds. */
void job_counts_want_more(struct job_counts *);

#endif
