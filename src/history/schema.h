/* schema.h - the tables of the history, and the version of their structure. */
#ifndef DUEPOST_HISTORY_SCHEMA_H
#define DUEPOST_HISTORY_SCHEMA_H

#include "history/driver.h"

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
