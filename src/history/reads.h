/* reads.h - finds, lists and counts rows with any driver. Each function of the first part is one call of
 * history.h, in the history's thread. */
#ifndef DUEPOST_HISTORY_READS_H
#define DUEPOST_HISTORY_READS_H

#include "history/columns.h"
#include "job/job_id.h"

struct driver;

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

/* Removes the oldest rows that match the filter, at most max, which is at most HISTORY_DELETE_MAX. Removes no
 * more rows than have max_bytes together, but at least one. */
enum status read_and_remove(struct driver *, const struct job_filter *, int64_t max_bytes, size_t max,
                            size_t *removed, struct problem *);

/* ---- windows ----
 *
 * A window has the rows that one call of a list or count examines. It is a part of one index: at most
 * rows_max rows after a position, in the order in which the jobs ended. So the time of a call does not depend
 * on the size of the tables. A driver also returns those rows of the window that do not meet the conditions
 * which the index does not cover, so that the caller knows where the window ended.
 *
 * These functions are pure: they do no I/O. */

enum {
    WINDOW_WORDS_MAX = 16, /* maximum number of reasons or statuses */
    WINDOW_PREFIX_MAX =
        2048, /* if an id prefix matches at most this number of rows, all of them are read and sorted */
    SAME_ID_MAX = 20, /* maximum number of rows with the same id that are compared */
};

#define WINDOW_ALL_STATES (1u << JOB_STATE_DEAD | 1u << JOB_STATE_DELIVERED | 1u << JOB_STATE_CANCELLED)

/* The largest characters. A prefix with this text appended sorts after all texts that begin with the
 * prefix. */
#define WINDOW_LARGEST "\xf4\x8f\xbf\xbf\xf4\x8f\xbf\xbf"

struct window {
    /* Borrowed. The key is one of the labels; has_key: only jobs without a key. */
    struct job_filter filter;
    bool is_newest_first;
    struct history_cursor from;
    int64_t rows_max; /* maximum number of rows in the window, or of each outcome in a count */
    /* true: the id prefix matches at most WINDOW_PREFIX_MAX rows, and all of them are examined */
    bool is_by_prefix;
};

/* Returns whether the window's index covers the whole filter. */
bool window_is_covered(const struct window *);

/* Returns the states that jobs matching the filter can have, as bits. */
unsigned window_states(const struct job_filter *);

/* Returns the label by which a window selects its rows. The other labels are conditions. */
struct slice window_label(const struct window *, struct slice *others);

/* Returns the position after which the window's rows come: that of the list, or the filter's limit of time
 * (after_ms or before_ms) if that comes later in the list's order. */
struct history_cursor window_begin(const struct window *);

/* Returns whether a row meets the conditions that the index does not cover, except those on labels and
 * keys. */
bool window_meets(const struct window *, const struct history_columns *);

/* ---- for drivers ---- */

/* The matching rows of a page, before their contents are read. */
struct positions {
    size_t max; /* maximum number of matching rows */
    int64_t max_bytes;
    int64_t *ids;       /* ids of the matching rows; has room for max */
    struct buffer keys; /* for a driver that finds rows by another name than their id */
    size_t count;
    int64_t bytes;
    int64_t seen; /* number of rows in the window */
    bool is_full;
    struct history_cursor last; /* the last row that counts as examined */
};

/* Adds the next row of the window. Returns false if no further row is wanted. The row was added as a position
 * if count has grown. */
bool positions_add(struct positions *, int64_t ended_at, int64_t id, int64_t bytes, bool is_match);

/* Adds a row with its contents. Copies all texts. */
void read_rows_add(struct read_rows *, const struct history_columns *);

/* Moves the rows of other to the end, and frees other. */
void read_rows_take(struct read_rows *, struct read_rows *other);

/* Returns the count of this outcome. */
int64_t *outcome_count(struct outcome_counts *, enum job_state);

#endif
