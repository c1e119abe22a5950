/* query.h - the parameters of lists. */
#ifndef DUEPOST_API_QUERY_H
#define DUEPOST_API_QUERY_H

#include "api/cursor.h"
#include "api/handlers.h"
#include "http/query.h"

/* The query of a list, which its exchange keeps. */
struct list_query {
    struct store_list jobs;
    struct store_topics topics;
    struct store_receivers receivers;
    /* Of a redrive: from job to job, 0 for none; when the first is due, 0 for now. */
    int64_t step_us, begin_ms;
    bool is_dry_run; /* of a bulk action: count, and change nothing */
    size_t shards;   /* of the store */
    char cursor[CURSOR_ROOM];       /* jobs.from points into it */
    char text[QUERY_BYTES_MAX + 1]; /* decoded values point into it */
};

static inline struct list_query *list_query(const struct exchange *exchange)
{
    return exchange->state;
}

/* These read the parameters of lists of jobs, of GET /topics and of GET /receivers. False: it has answered 400, or
 * 403 where the token does not reach the topic. */
bool query_read_list(struct exchange *);
bool query_read_cancel(struct exchange *);
bool query_read_redrive(struct exchange *);
bool query_read_topics(struct exchange *);
bool query_read_receivers(struct exchange *);

#endif
