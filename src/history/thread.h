/* thread.h - the history's thread: takes calls from all reactors, and runs the calls on one driver. */
#ifndef DUEPOST_HISTORY_THREAD_H
#define DUEPOST_HISTORY_THREAD_H

#include "history/call.h"

/* Called by the history's thread when a call is DONE. The thread holds its lock. The owner takes the call. */
typedef void history_thread_done_fn(struct history *owner, struct history_call *);

/* Passes a call to the thread. Takes the call. If the thread cannot run the call, the call is DONE at
 * once. */
void history_thread_send(struct history_thread *, struct history_call *, history_thread_done_fn *);

/* Withdraws a call. Returns true if the caller must free the call, and false if the thread runs the call
 * and will free it. Call under the lock. */
bool history_thread_withdraw(struct history_thread *, struct history_call *);

/* See history_prune. */
void history_thread_prune(struct history_thread *, int64_t now_ms);

void history_thread_lock(struct history_thread *);
void history_thread_unlock(struct history_thread *);

#endif
