/* fake_history.h - replaces the functions of history/history.h in a program that tests use cases.
 *
 * The fake history keeps the last call. The test then answers this call in place of the database. */
#ifndef DUEPOST_TESTS_APP_FAKE_HISTORY_H
#define DUEPOST_TESTS_APP_FAKE_HISTORY_H

#include "history/history.h"

/* The last call. Slices point into the caller's texts. */
struct fake_history_call {
    const char *name; /* name of the function, without history_; NULL: there is no call */
    struct slice id;
    struct job_filter filter;
    struct history_list list;
    struct outcome_steps stats;
    struct trail_query trail;
    union {
        history_found_fn *found;
        history_page_fn *page;
        history_counts_fn *counts;
        history_stats_fn *stats;
        history_deleted_fn *deleted;
        history_trail_fn *trail;
    } fn;
    void *arg;
};

/* Returns the fake history, for struct app. Forgets the last call. */
struct history *fake_history(void);

/* Takes the last call, which must be of this function. */
struct fake_history_call fake_history_take(const char *name);

/* Fails if a call waits for its answer. */
void fake_history_expect_none(void);

#endif
