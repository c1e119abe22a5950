/* callback.h - callbacks of messages, as messages of their own. Its functions are pure: no clock, no I/O.
 *
 * A callback is a message of qstash~callbacks. Its settings are those of the message that begin with
 * Upstash-Callback- or Upstash-Failure-Callback-. Its id is made of the id of the message and the nonce of
 * the lease that ended, so each callback exists once. A run fails once, so the id of its failure callback is
 * made of the id of the message alone. */
#ifndef DUEPOST_QSTASH_CALLBACK_H
#define DUEPOST_QSTASH_CALLBACK_H

#include "job/callback_job.h"

/* Writes the callback; see form.h. */
bool callback_write(const struct callback_report *, bool is_failure, struct slice url, struct callback_job *);

enum { CALLBACK_KEY_SIZE = 128 };

/* Appends topic/messageId of the failure callback of a run. id: topic/messageId of the message that has
 * failed the run. */
void callback_write_failure_key(struct slice id, struct buffer *);

#endif
