/* query.h - reads the query parameters of lists and bulk actions. */
#ifndef DUEPOST_API_QUERY_H
#define DUEPOST_API_QUERY_H

#include "api/handler.h"
#include "app/bulk.h"
#include "app/receivers.h"
#include "app/topics.h"
#include "http/query.h"

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
