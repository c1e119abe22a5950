/* callback.h - creates the callbacks of messages, which are messages themselves. The functions are pure: no
 * clock, no I/O.
 *
 * A callback is a message of qstash~callbacks. The settings of a callback are the message's settings that
 * begin with Upstash-Callback- or Upstash-Failure-Callback-. The id of a callback is a hash of the message's
 * id and of the nonce of the lease that ended, so each callback exists once. A run fails only once, so the id
 * of its failure callback is a hash without a nonce. */
#ifndef DUEPOST_QSTASH_CALLBACK_H
#define DUEPOST_QSTASH_CALLBACK_H

#include "job/delivery/callback_job.h"

/* Writes a callback of a message. This is the function write_callback of the form of delivery, see
 * job/delivery/delivery_form.h. */
bool callback_write(const struct callback_report *, bool is_failure, struct slice url, struct callback_job *);

enum { CALLBACK_KEY_SIZE = 128 };

/* Appends topic/messageId of the failure callback of a run. id: topic/messageId of the message that made
 * the run fail. */
void callback_write_failure_key(struct slice id, struct buffer *);

#endif
