/* suggestion.h - finds the known name that was probably meant by a mistyped name: "job_id" and "jobid" mean
 * jobId, "dely" means delay, and "payload", a word of other systems, means body. Members, query parameters,
 * commands and options all use this file. */
#ifndef DUEPOST_JOB_SUGGESTION_H
#define DUEPOST_JOB_SUGGESTION_H

#include "base/slice.h"

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
