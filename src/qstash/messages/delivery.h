/* delivery.h - how messages are delivered (job/delivery/delivery_form.h): the headers of a delivery, the
 * meaning of the receiver's answer, and callbacks. */
#ifndef DUEPOST_QSTASH_DELIVERY_H
#define DUEPOST_QSTASH_DELIVERY_H

#include "base/slice.h"
#include "job/delivery/callback_job.h"

/* Creates the callbacks of messages, which are messages themselves. The functions are pure: no
 * clock, no I/O.
 *
 * A callback is a message of qstash~callbacks. The settings of a callback are the message's settings that
 * begin with Upstash-Callback- or Upstash-Failure-Callback-. The id of a callback is a hash of the message's
 * id and of the nonce of the lease that ended, so each callback exists once. A run fails only once, so the id
 * of its failure callback is a hash without a nonce. */

/* Writes a callback of a message. This is the function write_callback of the form of delivery, see
 * job/delivery/delivery_form.h. */
bool callback_write(const struct callback_report *, bool is_failure, struct slice url, struct callback_job *);

enum { CALLBACK_KEY_SIZE = 128 };

/* Appends topic/messageId of the failure callback of a run. id: topic/messageId of the message that made
 * the run fail. */
void callback_write_failure_key(struct slice id, struct buffer *);

/* ---- Retry-After and X-RateLimit-Reset: the time at which a receiver wants the next attempt ---- */

#define RETRY_TIME_MAX_MS INT64_C(86400000) /* longer waits are ignored */

/* Parses seconds ("30", "1.5"), an HTTP date, or a duration ("6m5s", "2000ms"; units ns us ms s m h), and
 * sets *wait_ms to the wait from now_ms on. Returns false for any other text, and for more than a day. */
bool retry_time_parse(struct slice, int64_t now_ms, int64_t *wait_ms);

#endif
