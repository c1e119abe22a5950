/* carried.h - members that a later version wrote and this version does not know.
 *
 * Unknown members are kept as they are spelt. Operations that rewrite a record or settings write them again:
 * retry, bury, run, PATCH. PUT makes a new job, or new settings, and carries nothing. Neighbouring members
 * form one run, so an object has at most one run more than it has known members.
 *
 * A version that gives a job or a topic a meaning which earlier versions would miss names it in
 * "needs":["name", ...]. A process that does not know one of the names gives the job back, or does not serve
 * the topic; it never buries and never rewrites. When a needed name is unknown, known members may have any
 * value: needs is checked before a record is called unreadable. claim.lua passes over a topic with unknown
 * needs, because giving back its jobs would change their order. The known names are in CMakeLists.txt;
 * "script/build next" makes a version with one member, one setting and one need more. */
#ifndef DUEPOST_JOB_CARRIED_H
#define DUEPOST_JOB_CARRIED_H

#include "base/json_writer.h"
#include "base/slice.h"

enum { CARRIED_RUNS_MAX = 32 };

struct carried {
    struct slice runs[CARRIED_RUNS_MAX]; /* without the commas around them */
    size_t count;
};

/* Adds a member, as json_next_member returns it, after those added before. Borrows. False: there is no room.
 * That cannot happen for an object with at most CARRIED_RUNS_MAX - 1 different known members. */
bool carried_add(struct carried *, struct slice key, struct slice value);

/* Writes the unknown members after the others. */
void carried_write(const struct carried *, struct json_writer *);

/* Reads the value of needs. Sets *unknown to the first name that this version does not know, without its
 * quotes; leaves it unchanged when all are known. False: value is not an array of names. */
bool needs_read(struct slice value, struct slice *unknown);

#endif
