/* target_check.h - may a job's url lead where it does? */
#ifndef DUEPOST_API_TARGET_CHECK_H
#define DUEPOST_API_TARGET_CHECK_H

#include "api/handlers.h"
#include "job/target.h"

/* A literal address, and localhost, can be judged now; another name is judged by what it leads to, when it is
 * due. False: why says which address, which rule and which option. */
bool target_is_allowed(const struct api *, struct slice url, char why[TARGET_WHY_SIZE]);

/* As problem_write_errors. */
void target_write_refused(struct buffer *members, const char *why);

/* False: it is not allowed, and 400 was answered. */
bool target_check(struct exchange *, struct slice url);

#endif
