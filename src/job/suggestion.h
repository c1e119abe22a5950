/* suggestion.h - which name a mistyped one probably means: "job_id" and "jobid" are jobId, "dely" is delay.
 */
#ifndef DUEPOST_JOB_SUGGESTION_H
#define DUEPOST_JOB_SUGGESTION_H

#include "base/slice.h"

struct suggestion {
    struct slice name; /* as it was typed */
    const char *best;  /* NULL: none is close */
    unsigned distance; /* of best */
};

/* Weighs one of the names that would be right. */
void suggestion_weigh(struct suggestion *, const char *name);

/* "unknown field", or "unknown field; did you mean jobId?" with what as "unknown field". */
enum { SUGGESTION_DETAIL_SIZE = 128 };
void suggestion_write(const struct suggestion *, const char *what, char detail[SUGGESTION_DETAIL_SIZE]);

#endif
