/* needs.h - what a record, or the settings of a topic, ask of the process that serves them.
 *
 * A version that gives a job or a topic a meaning which earlier ones would miss names it in
 * "needs":["name", ...]. A process that does not know one of the names gives the job back, or does not serve
 * the topic; it never buries and never rewrites. The names that are known are in CMakeLists.txt. */
#ifndef DUEPOST_JOB_NEEDS_H
#define DUEPOST_JOB_NEEDS_H

#include "base/slice.h"

/* The first name that is not known here, without its quotes, into *unknown, which is left as it is where all
 * are known. False: value is no array of names. */
bool needs_read(struct slice value, struct slice *unknown);

#endif
