/* schema.h - the version of the tables, and the columns of duepost_jobs as a list of values. Pure. */
#ifndef DUEPOST_HISTORY_SCHEMA_H
#define DUEPOST_HISTORY_SCHEMA_H

#include "history/columns.h"

enum { SCHEMA_VERSION = 1 };

/* The version of the table of the audit log, which is counted by itself: earlier versions of duepost work on
 * with a database that has this table. */
enum { SCHEMA_TRAIL_VERSION = 1 };

/* Returns UNAVAILABLE if this duepost does not know this version of the tables. */
enum status schema_check(int64_t version, struct problem *) MUST_USE;

/* A value of a parameter or of a column. */
struct column_value {
    enum { COLUMN_NULL, COLUMN_NUMBER, COLUMN_TEXT } kind;
    int64_t number;
    struct slice text;
};

#define COLUMN_NUMBER_OF(value) ((struct column_value){.kind = COLUMN_NUMBER, .number = (value)})
#define COLUMN_TEXT_OF(value)   ((struct column_value){.kind = COLUMN_TEXT, .text = (value)})

/* The columns of duepost_jobs in the order of SCHEMA_COLUMNS, apart from id. */
#define SCHEMA_COLUMNS                                                                                       \
    "topic,job_id,outcome,created_at,due_at,ended_at,reason,status,error,duration_ms,attempts,rounds,"       \
    "lost_consumers,method,url,labels,headers,body,body_base64,body_left_out,rest,attempt_log,bytes"
enum { SCHEMA_COLUMN_COUNT = 23 };

extern const char *const schema_names[SCHEMA_COLUMN_COUNT];

/* Fills values with the columns of a row, in the order of SCHEMA_COLUMNS. */
void schema_values(const struct history_columns *, struct column_value values[SCHEMA_COLUMN_COUNT]);

/* Converts a row. at has the columns in the order of SCHEMA_COLUMNS. The result borrows their texts. */
void schema_read(const struct column_value *at, struct history_columns *);

/* Returns the state of the word in the column outcome. */
enum job_state schema_outcome(struct slice word);

#endif
