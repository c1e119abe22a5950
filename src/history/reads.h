/* reads.h - finds, lists and counts rows with any driver. Each function is one call of history.h, in the
 * history's thread. */
#ifndef DUEPOST_HISTORY_READS_H
#define DUEPOST_HISTORY_READS_H

#include "history/driver.h"

/* Rows that were read. */
struct read_rows {
    struct history_kept_row *items;
    size_t count, capacity;
};

void read_rows_fini(struct read_rows *);

/* Finds the row of the job with this topic/jobId that ended last. The result is at most one row. */
enum status read_one(struct driver *, struct slice id, struct read_rows *, struct problem *);

enum status read_list(struct driver *, const struct history_list *, struct read_rows *,
                      struct history_cursor *next, struct problem *);

enum status read_counts(struct driver *, const struct job_filter *, struct outcome_counts *,
                        struct problem *);

/* Fills the counts of all steps, which the caller has set to 0. */
enum status read_stats(struct driver *, const struct outcome_steps *, struct outcome_counts *steps,
                       size_t count, struct problem *);

/* Reads the ids of at most max rows that match the filter, the oldest first. Stops before the rows have more
 * than max_bytes together, but reads at least one row. */
enum status read_oldest(struct driver *, const struct job_filter *, int64_t max_bytes, int64_t *ids,
                        size_t max, size_t *count, struct problem *);

/* ---- windows ----
 *
 * These functions write the statement that selects the rows which one call of a list or count examines. They
 * do no I/O.
 *
 * A window is a part of one index: at most rows_max rows after a position, in the order in which the jobs
 * ended. So the time of a call does not depend on the size of the tables. A column of the result says
 * whether a row meets the conditions that the index does not cover. Rows that do not meet these conditions
 * are returned, too, so that the caller knows where the window ended. */

enum {
    WINDOW_VALUES_MAX = 128,
    WINDOW_WORDS_MAX = 16, /* maximum number of reasons or statuses */
    WINDOW_TEXT_MAX = 16384,
    WINDOW_PREFIX_MAX =
        2048, /* if an id prefix matches at most this number of rows, all of them are read and sorted */
};

struct window {
    /* Borrowed. The key is one of the labels; has_key: only jobs without a key. */
    struct job_filter filter;
    bool is_newest_first;
    struct history_cursor from;
    int64_t rows_max; /* maximum number of rows in the window */
    /* true: the id prefix matches at most WINDOW_PREFIX_MAX rows, and all of them are examined */
    bool is_by_prefix;
};

/* A statement under construction. */
struct window_sql {
    struct buffer text;
    struct sql_value values[WINDOW_VALUES_MAX];
    size_t count;
    char room[JOB_ID_DERIVED_MAX + 16]; /* room for the end of a prefix */
    bool has_failed;                    /* the filter has too many words, or too long a prefix */
};

void window_sql_init(struct window_sql *);
void window_sql_fini(struct window_sql *);
struct sql window_sql_of(struct window_sql *);

/* Returns whether the window's index covers the whole filter. */
bool window_is_covered(const struct window *);

/* Returns the states that jobs matching the filter can have, as bits. */
unsigned window_states(const struct job_filter *);

/* Each function below writes the statement in its comment.
 *
 * "SELECT id, ended_at, bytes, matches" of the rows of the window. Fails if reasons or statuses have more
 * than WINDOW_WORDS_MAX words. */
void window_write_rows(struct window_sql *, const struct window *);

/* "SELECT outcome, count of matches, count of rows examined". If the index covers the whole filter, all rows
 * after the position are counted, and rows_max is ignored. */
void window_write_counts(struct window_sql *, const struct window *);

/* "SELECT count(*)" of the rows with the prefix, at most WINDOW_PREFIX_MAX + 1. */
void window_write_prefix(struct window_sql *, struct slice prefix);

/* "SELECT outcome, step, count(*)". */
void window_write_stats(struct window_sql *, const struct outcome_steps *);

#endif
