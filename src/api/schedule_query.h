/* schedule_query.h - the parameters of lists of schedules. */
#ifndef DUEPOST_API_SCHEDULE_QUERY_H
#define DUEPOST_API_SCHEDULE_QUERY_H

#include "api/handler.h"
#include "app/schedules.h"
#include "http/query.h"

/* The parameters of a list. The exchange has this struct as its state. */
struct schedule_query {
    const struct app *app;
    struct app_schedule_list list;
    struct recurring_cursor from;
    struct job_labels labels;
    char text[QUERY_BYTES_MAX + 1]; /* the decoded query; the values point into it */
};

/* Reads the query. Returns NULL after answering 400. */
const struct schedule_query *schedule_query_read(struct exchange *);

#endif
