/* unknown_members.h - members that a later version wrote and this version does not know.
 *
 * Unknown members are kept as they are spelt. Operations that rewrite a record or settings write these
 * members again: retry, bury, run, PATCH. PUT creates a new job, or new settings, and carries no unknown
 * members. Unknown members that follow each other form one span. Known members separate the spans, so an
 * object has at most one span more than it has known members.
 *
 * A version may give a job or a topic a feature that earlier versions do not know. That version then names
 * the feature in "needs":["name", ...]. A process that does not know one of the names releases the job, or
 * does not serve the topic. The process never buries or rewrites such a job. If a name in "needs" is unknown,
 * the members that this version knows may have values that it cannot read. So "needs" is checked before a
 * record counts as unreadable. claim.lua skips a topic with unknown needs, because releasing its jobs would
 * change their order. The known names are in CMakeLists.txt; "script/build next" builds a version with one
 * more member, one more setting and one more need. */
#ifndef DUEPOST_JOB_UNKNOWN_MEMBERS_H
#define DUEPOST_JOB_UNKNOWN_MEMBERS_H

#include "base/json_writer.h"
#include "base/slice.h"

enum { UNKNOWN_SPANS_MAX = 56 };

struct unknown_members {
    struct slice spans[UNKNOWN_SPANS_MAX]; /* spans of unknown members, without the commas around them */
    size_t count;
};

/* Adds a member after the members added before. key and value are as json_next_member returns them; they are
 * borrowed. Returns false if there is no room, which cannot happen for an object with at most
 * UNKNOWN_SPANS_MAX - 1 different known members. */
bool unknown_members_add(struct unknown_members *, struct slice key, struct slice value);

/* Writes the unknown members after the members that json has written. */
void unknown_members_write(const struct unknown_members *, struct json_writer *);

/* Writes the member "needs" with the names passed to needs_add, or nothing if there are no names. */
struct needs_writer {
    struct json_writer *json;
    bool is_open; /* needs_add has added a name */
};
void needs_add(struct needs_writer *, const char *name);
void needs_end(struct needs_writer *);

/* Reads the value of the member "needs". Sets *unknown to the first name that this version does not know,
 * without its quotes. Leaves *unknown unchanged when all names are known. Returns false if value is not an
 * array of names. */
bool needs_read(struct slice value, struct slice *unknown);

/* Finds the first name that this version does not know in a record's member "needs". The other members of
 * the record may be unreadable. Returns false if there is no such name, or if duepost did not write the
 * record. */
bool needs_find(struct slice record, struct slice *unknown);

#endif
