/* query.h - reads the query parameters of lists and bulk actions. */
#ifndef DUEPOST_API_QUERY_H
#define DUEPOST_API_QUERY_H

#include "api/answer.h"
#include "app/bulk.h"
#include "app/overview.h"
#include "app/topics.h"
#include "http/query.h"
#include "job/job.h"

/* ---- values ----
 *
 * Each macro gives the last two values of a row in a table of parameters: the function that reads the value,
 * and the offset of the field. "in" is the struct, and "member" is the field. If the field has another type,
 * the macro does not compile. */

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

/* ---- lists and bulk actions ---- */

/* The parameters of a list or a bulk action. The exchange has this struct as its state. */
struct list_query {
    const struct app *app;
    struct app_bulk bulk; /* filters and limits; bulk.list.max is the size of a page, also in lists of topics
                             and receivers */
    bool is_all;          /* the parameter all is true */
    bool is_any;          /* the parameter state is any */
    bool has_source;      /* the request has the parameter source; bulk.list.is_of_history has its value */
    struct topic_cursor topic;
    bool is_of_patterns; /* GET /topics lists patterns instead of topics */
    bool is_of_failing;  /* GET /topics lists only topics that fail */
    struct receiver_cursor receiver;
    char text[QUERY_BYTES_MAX + 1]; /* the decoded query; the values point into it */
    struct job_labels labels;
    char joined_labels[JOB_LABELS_MAX * (JOB_LABEL_MAX + 1)]; /* the labels, separated by newlines */
};

static inline struct list_query *list_query(const struct exchange *exchange)
{
    return exchange->state;
}

/* These functions read the parameters of lists of jobs, of GET /topics and GET /receivers.
 * The functions return false after they have answered 400, or 403 if the token has no access to the topic. */
bool query_read_list(struct exchange *);
bool query_read_bulk(struct exchange *, enum app_action);
bool query_read_topics(struct exchange *);
bool query_read_receivers(struct exchange *);

#endif
