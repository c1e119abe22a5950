/* query.h - reads the parameters after the '?', as a dialect's table defines them. */
#ifndef DUEPOST_HTTP_QUERY_H
#define DUEPOST_HTTP_QUERY_H

#include "base/json_writer.h"
#include "http/exchange.h"
#include "job/job.h"

enum { QUERY_BYTES_MAX = 2048 }; /* maximum size of all decoded values together, in bytes */

struct query_parameter {
    const char *name;
    /* Reads a decoded value, and writes the result to field. Returns what is wrong with the value, or
     * NULL. */
    const char *(*read)(void *field, struct slice value);
    size_t offset; /* offset of the field in the struct that query_read gets as into; 0: read gets the whole
                      struct */
};

struct query_reading {
    struct exchange *exchange;
    const struct query_parameter *parameters; /* at most 32 parameters */
    size_t count;
    unsigned known; /* parameters that this path accepts, as bits 1 << index */
    unsigned
        repeatable; /* parameters that may be sent several times, as bits; read is called for each value */
    unsigned given; /* parameters that the request has, as bits */
    struct job_errors errors;
};

/* Reads the query. Each parameter that is unknown or wrong, or is repeated although it is not repeatable,
 * becomes an error in errors. text holds the decoded values, and must have room for QUERY_BYTES_MAX. */
void query_read(struct query_reading *, void *into, struct buffer *text);

/* Returns whether the query has this parameter. */
bool query_names(const struct exchange *, struct slice name);

/* Adds an error. */
void query_add_error(struct query_reading *, struct slice name, const char *detail);

/* Returns whether errors is empty. Returns false after answering 400 with the errors. */
bool query_end(const struct query_reading *);

/* Adds the member "cursor": "~", a checksum of the cursor in 4 hexadecimal digits, and the cursor. A client
 * may lose the end of a cursor, for example when it is copied; the rest could be another valid position. */
void query_add_cursor(struct json_writer *, struct slice cursor);

/* Removes the checksum from a cursor that a client sends. Returns false if the checksum is wrong. Takes
 * cursors without a checksum, which earlier versions wrote. */
bool query_open_cursor(struct slice *cursor);

/* Returns whether the request has no parameters. Returns false after answering 400, with an error for each
 * parameter. */
bool query_is_empty(struct exchange *);

#endif
