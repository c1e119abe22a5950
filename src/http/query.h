/* query.h - reads the parameters behind the '?' by a dialect's table. */
#ifndef DUEPOST_HTTP_QUERY_H
#define DUEPOST_HTTP_QUERY_H

#include "http/exchange.h"
#include "job/job.h"

enum { QUERY_BYTES_MAX = 2048 }; /* of the decoded values together */

struct query_parameter {
    const char *name;
    /* Reads a decoded value into what query_read was given. Returns what is wrong with it, or NULL. */
    const char *(*read)(void *into, struct slice value);
};

struct query_reading {
    struct exchange *exchange;
    const struct query_parameter *parameters; /* at most 32 */
    size_t count;
    unsigned known; /* the parameters that this path has, as bits: 1 << index */
    unsigned given; /* of these, the ones that were sent */
    struct job_errors errors;
};

/* Reads the query. Every parameter that is unknown, repeated or wrong becomes an error. text holds the
 * decoded values, and must have room for QUERY_BYTES_MAX. */
void query_read(struct query_reading *, void *into, struct buffer *text);

/* Adds an error. */
void query_add_error(struct query_reading *, struct slice name, const char *detail);

/* Whether all was right. False: it has answered 400. */
bool query_end(const struct query_reading *);

/* Whether there are no parameters. False: it has answered 400, with an error for each. */
bool query_is_empty(struct exchange *);

#endif
