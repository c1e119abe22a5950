/* sql.h - what the drivers of SQL databases share: the functions of driver.h that read, as SQL statements.
 *
 * The parameters of a statement are $1, $2 and so on. In its text, their first occurrences must be in this
 * order, because SQLite numbers parameters by their first occurrence. */
#ifndef DUEPOST_HISTORY_SQL_H
#define DUEPOST_HISTORY_SQL_H

#include <assert.h>

#include "history/driver.h"
#include "history/schema.h"

/* A statement with its parameters, all borrowed. */
struct sql {
    const char *text;
    const struct column_value *values;
    size_t count;
};

/* Called for each row of the result, until it returns false. The texts of the row are valid until the
 * function returns. */
typedef bool sql_row_fn(void *arg, const struct column_value *columns, size_t count);

/* A sql_row_fn for a result of one number: copies the number to *arg, which is an int64_t. */
static inline bool sql_take_number(void *arg, const struct column_value *columns, size_t count)
{
    int64_t *number = arg;
    assert(count == 1);
    *number = columns[0].number;
    return true;
}

/* The differences between SQL databases. */
struct sql_kind {
    /* Runs a query, and passes each row of its result to the function, which may be NULL. */
    enum status (*query)(struct driver *, const struct sql *, sql_row_fn *, void *arg, struct problem *);
    /* SQL for the condition that the column id is one of the ids in $1. write_ids has written $1 as a
     * text. */
    const char *is_one_of_ids;
    void (*write_ids)(struct buffer *, const int64_t *ids, size_t count);
};

/* The beginning of each driver of a SQL database. */
struct sql_driver {
    struct driver driver;
    const struct sql_kind *sql;
};

/* ---- functions of driver.h; each takes a sql_driver ---- */

enum status sql_find(struct driver *, struct slice topic, struct slice job_id, struct read_rows *,
                     struct problem *);
enum status sql_count_prefix(struct driver *, struct slice prefix, int64_t *count, struct problem *);
enum status sql_look(struct driver *, const struct window *, struct positions *, struct problem *);
enum status sql_fetch(struct driver *, const struct history_list *, const struct positions *,
                      struct read_rows *, struct problem *);
enum status sql_count(struct driver *, const struct window *, struct outcome_counts *, struct problem *);
enum status sql_plot(struct driver *, const struct outcome_steps *, struct outcome_counts *steps,
                     size_t count, struct problem *);
enum status sql_has_rows(struct driver *, bool *, struct problem *);

/* ---- versions of the tables ---- */

/* Reads the version of the tables, or fails. */
enum status sql_version(struct driver *, int64_t *version, struct problem *);

/* Reads whether all tables exist in this version, or fails. */
enum status sql_is_current(struct driver *, bool *is_current, struct problem *);

/* Creates or migrates the tables. Call in a transaction that excludes other processes. steps[n] converts
 * version n to version n + 1; it may have several statements, each ending in ";\n". Fails if the tables have
 * a later version than SCHEMA_VERSION. */
enum status sql_migrate(struct driver *, const char *const steps[SCHEMA_VERSION], struct problem *);

/* ---- the statement of a window (window.c) ----
 *
 * These functions write the statement that selects the rows of a window. They do no I/O. A column of the
 * result says whether a row meets the conditions that the index does not cover. */

enum { WINDOW_VALUES_MAX = 128, WINDOW_TEXT_MAX = 16384 };

/* A statement under construction. */
struct window_sql {
    struct buffer text;
    struct column_value values[WINDOW_VALUES_MAX];
    size_t count;
    char room[JOB_ID_DERIVED_MAX + 16]; /* room for the end of a prefix */
};

void window_sql_init(struct window_sql *);
void window_sql_fini(struct window_sql *);
struct sql window_sql_of(struct window_sql *);

/* Each function below writes the statement in its comment.
 *
 * "SELECT id, ended_at, bytes, matches" of the rows of the window. */
void window_write_rows(struct window_sql *, const struct window *);

/* "SELECT outcome, count of matches, count of rows examined". If the index covers the whole filter, all rows
 * after the position are counted, and rows_max is ignored. */
void window_write_counts(struct window_sql *, const struct window *);

/* "SELECT count(*)" of the rows with the prefix, at most WINDOW_PREFIX_MAX + 1. */
void window_write_prefix(struct window_sql *, struct slice prefix);

/* "SELECT outcome, step, count(*)". */
void window_write_stats(struct window_sql *, const struct outcome_steps *);

#endif
