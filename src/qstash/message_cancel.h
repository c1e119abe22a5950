/* message_cancel.h - cancels one message that waits or is being delivered. A dead message stays as it is. */
#ifndef DUEPOST_QSTASH_MESSAGE_CANCEL_H
#define DUEPOST_QSTASH_MESSAGE_CANCEL_H

#include "app/app.h"
#include "qstash/message_id.h"

/* Cancels the message with this id, which is copied. The verdict is OK, NOT_FOUND (there is no such
 * message, or it has ended), or an error. Calls back once, perhaps before the call returns. Borrows caller
 * until the callback. */
void message_cancel(struct app *, const struct app_caller *, struct slice message_id, app_verdict_fn *,
                    void *arg);

/* Returns whether a read has found a message that waits or is being delivered. */
bool message_is_alive(const struct app_verdict *);

#endif
