/* target_check.h - may the url of a job, or of a topic's settings, lead where it does? */
#ifndef DUEPOST_APP_TARGET_CHECK_H
#define DUEPOST_APP_TARGET_CHECK_H

#include "app/app.h"
#include "job/target.h"

/* Judges a literal address, and localhost, now. Any other name is judged by what it resolves to when the job
 * is due. False: why names the address, the rule and the option that changes it. */
bool target_is_allowed(const struct app *, struct slice url, char why[TARGET_WHY_SIZE]);

#endif
