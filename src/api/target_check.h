/* target_check.h - may a job's url lead where it does? */
#ifndef DUEPOST_API_TARGET_CHECK_H
#define DUEPOST_API_TARGET_CHECK_H

#include "api/exchange.h"

#define TARGET_REFUSED "leads to an address that is not allowed"

/* A literal address can be judged now; a name is judged by what it leads to, when it is due. */
bool target_is_allowed(const struct api *, struct slice url);

/* As problem_write_errors. */
void target_write_refused(struct buffer *members);

/* False: it is not allowed, and 400 was answered. */
bool target_check(struct exchange *, struct slice url);

#endif
