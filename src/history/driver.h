/* driver.h - one kind of database, as history/thread.c uses it. Only the history's thread calls a driver.
 *
 * SQLite and PostgreSQL share the functions of sql.h, which read by SQL. */
#ifndef DUEPOST_HISTORY_DRIVER_H
#define DUEPOST_HISTORY_DRIVER_H

#include <stdatomic.h>

#include "history/reads.h"
#include "history/trail.h"

struct driver;

/* The functions of a kind of database. Each returns OK, or UNAVAILABLE with a problem, if nothing else is
 * said. After UNAVAILABLE the thread closes the driver and opens it again later. Functions that read may also
 * return FULL: the deadline has passed, but the connection can still be used. */
struct driver_kind {
    const char *name;

    /* Reads the version of the tables without creating or changing anything. *version 0: the tables do not
     * exist yet. Can be called before open. */
    enum status (*find_version)(struct driver *, int64_t *version, struct problem *);

    /* Connects. */
    enum status (*open)(struct driver *, struct problem *);
    /* Closes the connection. Allowed at any time. */
    void (*close)(struct driver *);
    void (*free)(struct driver *);

    /* Creates the tables, or migrates the tables of an earlier version. */
    enum status (*prepare)(struct driver *, struct problem *);

    /* Finds the row of the job that ended last among those that were created last under this id, at most
     * SAME_ID_MAX of them. The result is at most one row. */
    enum status (*find)(struct driver *, struct slice topic, struct slice job_id, struct read_rows *,
                        struct problem *);
    /* Counts the rows whose jobId has this prefix, up to WINDOW_PREFIX_MAX + 1. */
    enum status (*count_prefix)(struct driver *, struct slice prefix, int64_t *count, struct problem *);
    /* Passes the rows of the window in their order to positions_add, until that returns false. */
    enum status (*look)(struct driver *, const struct window *, struct positions *, struct problem *);
    /* Reads the rows at the positions, at least one, in their order. Leaves out rows that have been removed
     * meanwhile. */
    enum status (*fetch)(struct driver *, const struct history_list *, const struct positions *,
                         struct read_rows *, struct problem *);
    /* Counts the rows of the window that match. The counts are 0 before the call. */
    enum status (*count)(struct driver *, const struct window *, struct outcome_counts *, struct problem *);
    /* Counts the rows of each step. The counts are 0 before the call. */
    enum status (*plot)(struct driver *, const struct outcome_steps *, struct outcome_counts *steps,
                        size_t count, struct problem *);
    enum status (*has_rows)(struct driver *, bool *, struct problem *);

    /* To add rows, call append_begin, then append for each row, then append_end. The rows are on disk after
     * the next sync. A failure removes all rows that were added since the last sync, or may leave some of
     * them; appending them again does no harm. INVALID: the database refuses the data. append_end may be
     * NULL. */
    enum status (*append_begin)(struct driver *, struct problem *);
    enum status (*append)(struct driver *, const struct history_parse *, struct problem *);
    enum status (*append_end)(struct driver *, struct problem *);
    /* Writes the added rows to disk. NULL if each append_end already writes the rows to disk. */
    enum status (*sync)(struct driver *, struct problem *);

    /* Adds lines of the audit log, between append_begin and the next sync. Statuses and failures as of
     * append. Lines that exist already stay. */
    enum status (*note)(struct driver *, const struct trail_line *, size_t count, struct problem *);
    /* Reads a page of lines. */
    enum status (*trail)(struct driver *, const struct trail_query *, struct trail_rows *, struct problem *);
    /* Removes some of the lines before before_ms, and of those beyond HISTORY_LINES_MAX. */
    enum status (*forget)(struct driver *, int64_t before_ms, bool *has_more, struct problem *);

    /* Removes the rows at the positions, at least one. */
    enum status (*remove)(struct driver *, const struct positions *, struct problem *);

    /* Measures the size of all rows. */
    enum status (*measure)(struct driver *, int64_t *bytes, struct problem *);

    /* Does a step of upkeep that takes less than 100 ms. If *has_more becomes true, the caller calls it again
     * soon. May be NULL. */
    enum status (*tidy)(struct driver *, bool *has_more, struct problem *);
};

struct driver {
    const struct driver_kind *kind;
    int64_t deadline_us;            /* deadline of the call under way, by CLOCK_MONOTONIC */
    const atomic_bool *is_stopping; /* borrowed: when set to true, the call under way fails at once */
    int stop_fd;                    /* borrowed: readable when is_stopping is true */
};

struct driver *sqlite_new(const char *path);
struct driver *postgres_new(const char *url);
struct driver *mongo_new(const char *url);

/* Check a url without connecting, see history_url_check. */
enum status postgres_url_check(const char *url, bool *has_password, struct problem *) MUST_USE;
enum status mongo_url_check(const char *url, bool *has_password, struct problem *) MUST_USE;

#endif
