/* carried.h - what a later version wrote and this one does not know.
 *
 * Unknown members are kept as they are spelt. Whatever rewrites a record or settings writes them again:
 * retry, bury, run, PATCH. PUT makes a new job, or new settings, and carries nothing. Neighbours make one
 * run, so that an object has at most one run more than it has known members.
 *
 * A version that gives a job or a topic a meaning which earlier ones would miss names it in "needs":["name",
 * ...]. A process that does not know one of the names gives the job back, or does not serve the topic; it
 * never buries and never rewrites. Where a needed name is unknown, known members may have any value: needs
 * decides before a record is called unreadable. claim.lua passes over a topic that needs more, because giving
 * back its jobs would change their order. The known names are in CMakeLists.txt; "script/build next" makes a
 * version with one member, one setting and one need more. */
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

/* Reads the value of needs. Sets *unknown to the first name that is not known here, without its quotes, and
 * leaves it as it is when all are known. False: value is not an array of names. */
bool needs_read(struct slice value, struct slice *unknown);

#endif
