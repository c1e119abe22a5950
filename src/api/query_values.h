/* query_values.h - reads the values of query parameters that several lists have.
 *
 * Each macro gives the last two values of a row in a table of parameters: the function that reads the value,
 * and the offset of the field. "in" is the struct, and "member" is the field. If the field has another type,
 * the macro does not compile. */
#ifndef DUEPOST_API_QUERY_VALUES_H
#define DUEPOST_API_QUERY_VALUES_H

#include "http/query.h"
#include "job/job.h"

#define QUERY_CURSOR_EXPECTED "must be a cursor from a page of this list"

enum { QUERY_LIMIT_DEFAULT = 100 };

/* clang-format off */
#define QUERY_FIELD(read, type, in, member) read, _Generic(((in *)0)->member, type: offsetof(in, member))
/* clang-format on */

/* The maximum number of items in a page: 1 to APP_PAGE_MAX. */
#define QUERY_LIMIT(in, member) QUERY_FIELD(query_value_limit, size_t, in, member)

/* A time in ms since 1970; a time before 1970 becomes 1. */
#define QUERY_TIME(in, member) QUERY_FIELD(query_value_time, int64_t, in, member)

/* true or false. */
#define QUERY_FLAG(in, member) QUERY_FIELD(query_value_flag, bool, in, member)

/* The name of a topic. The field borrows from the decoded query, like the fields of QUERY_ID_PREFIX and
 * QUERY_LABELS. */
#define QUERY_TOPIC(in, member) QUERY_FIELD(query_value_topic, struct slice, in, member)

/* The beginning of a jobId or workflowId. */
#define QUERY_ID_PREFIX(in, member) QUERY_FIELD(query_value_id_prefix, struct slice, in, member)

/* A label. The parameter can be repeated; a label that is sent twice is added once. */
#define QUERY_LABELS(in, member) QUERY_FIELD(query_value_label, struct job_labels, in, member)

/* These functions return what is wrong with the value, or NULL. */
const char *query_value_limit(void *max, struct slice value);
const char *query_value_time(void *time_ms, struct slice value);
const char *query_value_flag(void *flag, struct slice value);
const char *query_value_topic(void *topic, struct slice value);
const char *query_value_id_prefix(void *prefix, struct slice value);
const char *query_value_label(void *labels, struct slice value);

#endif
