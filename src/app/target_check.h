/* target_check.h - checks the target of a url, of a job or of a topic's settings. */
#ifndef DUEPOST_APP_TARGET_CHECK_H
#define DUEPOST_APP_TARGET_CHECK_H

#include "app/app.h"
#include "job/target/target.h"

/* Returns whether the target of the url is allowed. A literal address or localhost is checked now. Other
 * names are allowed here; the addresses that they resolve to are checked when the job is due. If it returns
 * false, why names the address, the rule and the option that changes the rule. */
bool target_is_allowed(const struct app *, struct slice url, char why[TARGET_WHY_SIZE]);

/* Returns whether the target of a callback's url (job/delivery/callback.h) is allowed, as target_is_allowed
 * does. An empty value is allowed. */
bool target_is_callback_allowed(const struct app *, struct slice callback, char why[TARGET_WHY_SIZE]);

/* Returns the name of the job's member whose target is not allowed: its url or a callback. Returns NULL if
 * all are allowed. */
const char *target_refused_member(const struct app *, const struct job *, char why[TARGET_WHY_SIZE]);

#endif
