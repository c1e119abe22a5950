/* job_errors.h - a list of the rules that a client's text breaks, in the order in which they were found; and
 * what a mistyped name probably means.
 *
 * The size of the list is limited. Further errors are dropped when there is no more room, or after
 * JOB_ERRORS_MAX errors. */
#ifndef DUEPOST_JOB_TEXT_JOB_ERRORS_H
#define DUEPOST_JOB_TEXT_JOB_ERRORS_H

#include "base/slice.h"

enum {
    JOB_ERRORS_MAX = 64,         /* maximum number of errors in one answer */
    JOB_ERRORS_BYTES_MAX = 4096, /* size of all texts: 64 bytes for each of JOB_ERRORS_MAX errors */
    JOB_ERROR_TEXT_SIZE = 160,   /* size of a field or a detail, with its NUL; a longer text is cut */
};

/* One broken rule. */
struct job_error {
    const char *field;  /* "retrySchedule[2]"; "" for the document as a whole */
    const char *detail; /* "must be 0 to 31536000" */
};

struct job_errors {
    size_t count;
    size_t size;                     /* size of text */
    char text[JOB_ERRORS_BYTES_MAX]; /* for each error: field, NUL, detail, NUL */
};

/* Removes all errors. The bytes of text are not cleared. */
static inline void job_errors_clear(struct job_errors *errors)
{
    errors->count = errors->size = 0;
}

/* Adds an error of the field. A field of "" means the whole document. */
void job_errors_add(struct job_errors *, const char *field, const char *detail);

/* Adds an error of a field. The field's name is prefix followed by name, which comes from the client. */
void job_errors_add_named(struct job_errors *, const char *prefix, struct slice name, const char *detail);

/* Returns the error at position *at, and moves *at to the next error. Set *at to 0 before the first call.
 * Returns false if there are no more errors. */
bool job_errors_take(const struct job_errors *, size_t *at, struct job_error *);

/* ---- suggestions ----
 *
 * Finds the known name that was probably meant by a mistyped name: "job_id" and "jobid" mean
 * jobId, "dely" means delay, and "payload", a word of other systems, means body. Members, query parameters,
 * commands and options all use this file. */

struct suggestion {
    struct slice name; /* name as it was typed */
    const char *best;  /* the closest known name so far; NULL: no name is close */
    unsigned distance; /* distance of best */
};

/* Compares the name that was typed with one known name. Call it for each known name. */
void suggestion_weigh(struct suggestion *, const char *name);

/* Writes the detail of an error: the text "what", followed by the suggestion if there is one. For example,
 * "unknown field" becomes "unknown field; did you mean jobId?". */
enum { SUGGESTION_DETAIL_SIZE = 128 };
void suggestion_write(const struct suggestion *, const char *what, char detail[SUGGESTION_DETAIL_SIZE]);

/* Writes the same, followed by a hint that begins with a name: "unknown option; did you mean --delay? --help
 * lists all options", or "unknown option; --help lists all options". */
void suggestion_write_hint(const struct suggestion *, const char *what, const char *hint,
                           char detail[SUGGESTION_DETAIL_SIZE]);

#endif
