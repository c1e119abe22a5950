/* shared_options.h - the options for which processes on one Redis need the same values. */
#ifndef DUEPOST_SERVER_SHARED_OPTIONS_H
#define DUEPOST_SERVER_SHARED_OPTIONS_H

#include "server/options.h"

/* Appends the options as "name=value", separated by spaces, for app/agreement.h. Values have no spaces,
 * users, passwords and parameters of URLs. Durations are in ms and sizes in bytes, so that 60s equals 1m. */
void shared_options_write(const struct options *, struct buffer *);

#endif
