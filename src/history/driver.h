/* driver.h - one kind of database, as history/thread.c uses it. Only the history's thread calls a driver.
 *
 * The parameters of a statement are $1, $2 and so on. In its text, their first occurrences must be in this
 * order, because SQLite numbers parameters by their first occurrence. */
#ifndef DUEPOST_HISTORY_DRIVER_H
#define DUEPOST_HISTORY_DRIVER_H

#include <assert.h>
#include <stdatomic.h>

#include "history/columns.h"

/* A value of a parameter or of a column. */
struct sql_value {
    enum { SQL_NULL, SQL_NUMBER, SQL_TEXT } kind;
    int64_t number;
    struct slice text;
};

#define SQL_NUMBER_OF(value) ((struct sql_value){.kind = SQL_NUMBER, .number = (value)})
#define SQL_TEXT_OF(value)   ((struct sql_value){.kind = SQL_TEXT, .text = (value)})

/* A statement with its parameters, all borrowed. */
struct sql {
    const char *text;
    const struct sql_value *values;
    size_t count;
};

/* Called for each row of the result, until it returns false. The texts of the row are valid until the
 * function returns. */
typedef bool sql_row_fn(void *arg, const struct sql_value *columns, size_t count);

/* A sql_row_fn for a result of one number: copies the number to *arg, which is an int64_t. */
static inline bool sql_take_number(void *arg, const struct sql_value *columns, size_t count)
{
    int64_t *number = arg;
    assert(count == 1);
    *number = columns[0].number;
    return true;
}

struct driver;

/* The functions of a kind of database. Each returns OK, or UNAVAILABLE with a problem, if nothing else is
 * said. After UNAVAILABLE the thread closes the driver and opens it again later. */
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

    /* Runs a query, and passes each row of its result to the function. FULL: the deadline has passed, but the
     * connection can still be used. */
    enum status (*query)(struct driver *, const struct sql *, sql_row_fn *, void *arg, struct problem *);

    /* To add rows, call append_begin, then append for each row, then append_end. The rows are on disk after
     * the next sync. A failure removes all rows that were added since the last sync. INVALID: the database
     * refuses the data; nothing was added. append_end may be NULL. */
    enum status (*append_begin)(struct driver *, struct problem *);
    enum status (*append)(struct driver *, const struct history_parse *, struct problem *);
    enum status (*append_end)(struct driver *, struct problem *);
    /* Writes the added rows to disk. NULL if each append_end already writes the rows to disk. */
    enum status (*sync)(struct driver *, struct problem *);

    /* Removes the rows with these ids. */
    enum status (*remove)(struct driver *, const int64_t *ids, size_t count, struct problem *);

    /* SQL for the condition that the column id is one of the ids in $1. write_ids has written $1 as a
     * text. */
    const char *is_one_of_ids;
    void (*write_ids)(struct buffer *, const int64_t *ids, size_t count);

    /* Measures the size of all rows. */
    enum status (*measure)(struct driver *, int64_t *bytes, struct problem *);

    /* Does a step of upkeep that takes less than 100 ms. If *has_more becomes true, the caller calls it again
     * soon. */
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

/* ---- the tables, and the version of their structure ---- */

enum { SCHEMA_VERSION = 1 };

/* The columns of duepost_jobs in the order of SCHEMA_COLUMNS, apart from id. */
#define SCHEMA_COLUMNS                                                                                       \
    "topic,job_id,outcome,created_at,due_at,ended_at,reason,status,error,duration_ms,attempts,rounds,"       \
    "lost_consumers,method,url,labels,headers,body,body_base64,body_left_out,rest,attempt_log,bytes"
enum { SCHEMA_COLUMN_COUNT = 23 };

/* Fills values with the columns of a row, in the order of SCHEMA_COLUMNS. */
void schema_values(const struct history_columns *, struct sql_value values[SCHEMA_COLUMN_COUNT]);

/* Converts a row. at has the columns in the order of SCHEMA_COLUMNS. The result borrows their texts. */
void schema_read(const struct sql_value *at, struct history_columns *);

/* Reads the version of the tables, or fails. */
enum status schema_version(struct driver *, int64_t *version, struct problem *);

/* Returns UNAVAILABLE if this duepost does not know this version of the tables. */
enum status schema_check(int64_t version, struct problem *);

/* Creates or migrates the tables. Call in a transaction that excludes other processes. steps[n] converts
 * version n to version n + 1; it may have several statements, each ending in ";\n". Fails if the tables have
 * a later version than SCHEMA_VERSION. */
enum status schema_migrate(struct driver *, const char *const steps[SCHEMA_VERSION], struct problem *);

#endif
