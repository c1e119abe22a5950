/* suggestion.h - the known name that a mistyped name probably means: "job_id" and "jobid" mean jobId, "dely"
 * means delay. Members, query parameters, commands and options all use this file. */
#ifndef DUEPOST_JOB_SUGGESTION_H
#define DUEPOST_JOB_SUGGESTION_H

#include "base/slice.h"

struct suggestion {
    struct slice name; /* name as it was typed */
    const char *best;  /* NULL: no name is close */
    unsigned distance; /* distance of best */
};

/* Compares the name with one of the known names. */
void suggestion_weigh(struct suggestion *, const char *name);

/* Writes the detail of an error: the text what, such as "unknown field", and the suggestion if there is one:
 * "unknown field; did you mean jobId?". */
enum { SUGGESTION_DETAIL_SIZE = 128 };
void suggestion_write(const struct suggestion *, const char *what, char detail[SUGGESTION_DETAIL_SIZE]);

/* Writes the same, followed by a hint that begins with a name: "unknown option; did you mean --delay? --help
 * lists all options", or "unknown option; --help lists all options". */
void suggestion_write_hint(const struct suggestion *, const char *what, const char *hint,
                           char detail[SUGGESTION_DETAIL_SIZE]);

#endif
