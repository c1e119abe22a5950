/* carried.h - members that a later version wrote and this one does not know: kept as they are spelt, and
 * written again with the rest.
 *
 * Whatever rewrites a record or settings writes them again: retry, bury, run, PATCH. PUT makes a new job, or
 * new settings, and carries nothing.
 *
 * Neighbours make one run, so that an object has at most one run more than it has members that are known. */
#ifndef DUEPOST_JOB_CARRIED_H
#define DUEPOST_JOB_CARRIED_H

#include "base/json_writer.h"
#include "base/slice.h"

enum { CARRIED_RUNS_MAX = 32 };

struct carried {
    struct slice runs[CARRIED_RUNS_MAX]; /* without the commas around them */
    size_t count;
};

/* Adds a member, as json_next_member gives it, behind those that were added before. Borrows. False: there is
 * no room, which an object of at most CARRIED_RUNS_MAX - 1 different known members never brings about. */
bool carried_add(struct carried *, struct slice key, struct slice value);

/* Writes them as further members. */
void carried_write(const struct carried *, struct json_writer *);

#endif
