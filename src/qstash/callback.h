/* callback.h - callbacks of messages, as messages of their own. Its functions are pure: no clock, no I/O.
 *
 * A callback is a message of qstash~callbacks. Its settings are those of the message that begin with
 * Upstash-Callback- or Upstash-Failure-Callback-. Its id is made of the id of the message and the nonce of
 * the lease that ended, so each callback exists once. */
#ifndef DUEPOST_QSTASH_CALLBACK_H
#define DUEPOST_QSTASH_CALLBACK_H

#include "job/callback_job.h"

/* Writes the callback; see form.h. */
bool callback_write(const struct callback_report *, bool is_failure, struct slice url, struct callback_job *);

#endif
