/* needs.h - what a record, or the settings of a topic, ask of the process that serves them.
 *
 * A version that gives a job or a topic a meaning which earlier ones would miss names it in
 * "needs":["name", ...]. A process that does not know one of the names gives the job back, or does not serve
 * the topic; it never buries and never rewrites. Where a needed name is unknown, known members may have any
 * value: needs decides before a record is called unreadable. claim.lua passes over a topic that needs more,
 * because giving back its jobs would change their order. The names that are known are in CMakeLists.txt;
 * "script/build next" makes a version with one member, one setting and one need more. */
#ifndef DUEPOST_JOB_NEEDS_H
#define DUEPOST_JOB_NEEDS_H

#include "base/slice.h"

/* The first name that is not known here, without its quotes, into *unknown, which is left as it is where all
 * are known. False: value is no array of names. */
bool needs_read(struct slice value, struct slice *unknown);

#endif
