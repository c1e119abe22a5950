/* freeze_guard.h - a thread that was stopped between asking whether it may send and sending does not send.
 *
 * A process can be frozen (SIGSTOP, a suspended host) at any instruction, also
 * between a check of the clock and the send that it allowed. So the thread
 * stands inside the guard from the check to the send, and a timer of its own
 * (CLOCK_BOOTTIME) is set to strike FREEZE_GUARD_US later: when the thread goes
 * on after a longer freeze, the kernel runs the timer's signal handler before
 * anything else of the thread, and that handler takes away what it could send on. */
#ifndef DUEPOST_IO_FREEZE_GUARD_H
#define DUEPOST_IO_FREEZE_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* A freeze that is shorter may go unnoticed: what the check grants has to last at least this much longer. */
#define FREEZE_GUARD_US INT64_C(800000)

struct freeze_guard;

/* take_away is told what is inside. It runs in a signal handler: it may call what is async-signal-safe only.
 */
struct freeze_guard *freeze_guard_new(void (*take_away)(void *arg, const void *what), void *arg);
void freeze_guard_free(
    struct freeze_guard *); /* NULL is fine; by the thread that used it, or after its end */

/* Before the check; what is about to be sent. Always from the same thread. */
void freeze_guard_enter(struct freeze_guard *, const void *what);

/* It is sent, or will not be. */
void freeze_guard_leave(struct freeze_guard *);

/* Whether the guard struck while what was inside; asking forgets it. */
bool freeze_guard_has_struck(struct freeze_guard *, const void *what);

#endif
