/* query.h - reads the parameters after the '?', as a dialect's table defines them. */
#ifndef DUEPOST_HTTP_QUERY_H
#define DUEPOST_HTTP_QUERY_H

#include "http/exchange.h"
#include "job/job.h"

enum { QUERY_BYTES_MAX = 2048 }; /* bytes of all decoded values together */

struct query_parameter {
    const char *name;
    /* Reads a decoded value into the field. Returns the error in the value, or NULL. */
    const char *(*read)(void *field, struct slice value);
    size_t offset; /* position of the field in the struct into of query_read; 0: the reader gets the whole
                      struct */
};

struct query_reading {
    struct exchange *exchange;
    const struct query_parameter *parameters; /* at most 32 parameters */
    size_t count;
    unsigned known;      /* parameters that this path accepts, as bits: 1 << index */
    unsigned repeatable; /* parameters that may be sent several times, as bits; read is called for each */
    unsigned given;      /* the known parameters that were sent */
    struct job_errors errors;
};

/* Reads the query. Every parameter that is unknown or wrong, or is repeated but must not be, becomes an
 * error. text holds the decoded values, and must have room for QUERY_BYTES_MAX. */
void query_read(struct query_reading *, void *into, struct buffer *text);

/* Adds an error. */
void query_add_error(struct query_reading *, struct slice name, const char *detail);

/* Returns whether there were no errors. Returns false after answering 400. */
bool query_end(const struct query_reading *);

/* Returns whether there are no parameters. Returns false after answering 400 with an error for each. */
bool query_is_empty(struct exchange *);

#endif
