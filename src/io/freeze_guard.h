/* freeze_guard.h - keeps a thread from sending after it was frozen between a check and the send.
 *
 * A process can be frozen (SIGSTOP, a suspended host) at any instruction, also after it has checked that a
 * lease is still valid and before it sends the request. Therefore the thread enters the guard before the
 * check and leaves it after the send. A timer (CLOCK_BOOTTIME) fires FREEZE_GUARD_US after the thread has
 * entered. After a longer freeze, the kernel runs the timer's signal handler before the thread's next
 * instruction. The handler makes the send impossible: it shuts the connection. */
#ifndef DUEPOST_IO_FREEZE_GUARD_H
#define DUEPOST_IO_FREEZE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* The timer does not detect shorter freezes. So at the time of the check, the lease must be valid for at
 * least this long. */
#define FREEZE_GUARD_US INT64_C(800000)

struct freeze_guard;

/* Creates a guard. When the timer fires during a send, take_away is called with the object that is being
 * sent. take_away runs in a signal handler and may only call async-signal-safe functions. */
struct freeze_guard *freeze_guard_new(void (*take_away)(void *arg, const void *what), void *arg);
void freeze_guard_free(struct freeze_guard *); /* NULL is ignored; called by the thread that used the guard,
                                                  or after that thread has ended */

/* Enters the guard before the check. The argument what is the object that will be sent, for example a call.
 * Must always be called from the same thread. */
void freeze_guard_enter(struct freeze_guard *, const void *what);

/* Leaves the guard, because the object was sent or will not be sent. */
void freeze_guard_leave(struct freeze_guard *);

/* Returns whether the timer fired during the send of this object. A second call returns false. */
bool freeze_guard_has_struck(struct freeze_guard *, const void *what);

#endif
