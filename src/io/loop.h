/* loop.h - the event loop of one reactor; the only user of libev.
 *
 * A loop belongs to the thread that runs it. Only loop_post may be called from another thread. In each turn
 * the loop waits, calls the callbacks of ready events, then calls the hooks of each phase in order. Callbacks
 * collect work, and the hooks send the collected work together. */
#ifndef DUEPOST_IO_LOOP_H
#define DUEPOST_IO_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/system.h"

struct loop;
struct timer;
struct watch;
struct hook;

typedef void loop_fn(void *arg);

struct loop *loop_new(void);
void loop_free(struct loop *);

/* Runs until loop_stop; the loop can be run again afterwards. */
void loop_run(struct loop *);
void loop_stop(struct loop *);

/* Returns the time at which this turn began, by CLOCK_MONOTONIC, without a system call. */
int64_t loop_now_us(struct loop *);

/* Calls fn once, soon, in the loop's thread. Any thread may call this. */
void loop_post(struct loop *, loop_fn *fn, void *arg);

/* These timers fire once. fn may start, stop or free its timer. A timer is armed from its start until its
 * callback begins: while it runs, and while it is due but callbacks of events come first. On a busy loop,
 * each turn has such callbacks. So none of them may take a due timer for one that is not armed, and start it
 * anew: it would never fire. */
struct timer *timer_new(struct loop *, loop_fn *fn, void *arg);
/* Starts a timer, or changes the time of an armed one. A due timer stays due if after_us is not positive. */
void timer_start(struct timer *, int64_t after_us);
/* Starts a timer unless it is armed. */
void timer_arm(struct timer *, int64_t after_us);
/* Starts a timer unless it is armed and fires by then. */
void timer_arm_within(struct timer *, int64_t after_us);
/* Like timer_start, but the timer fires at the end of a full second since the loop was made: up to a
 * second later than after_us, or earlier by up to a tenth of after_us, but at most by 0.1 s. So timers
 * that fire regularly fire together, and an idle process seldom wakes up. */
void timer_start_aligned(struct timer *, int64_t after_us);
void timer_stop(struct timer *);
bool timer_is_armed(const struct timer *);
void timer_free(struct timer *); /* NULL is ignored */

/* A watch calls fn when a file descriptor is ready. fn may change or free its watch. */
typedef void watch_fn(void *arg, bool readable, bool writable);
struct watch *watch_new(struct loop *, int fd, watch_fn *fn, void *arg);
void watch_set(struct watch *, bool read, bool write);
void watch_free(struct watch *); /* NULL is ignored; call before the descriptor is closed */

/* The phases at the end of a turn, in this order. */
enum loop_phase {
    LOOP_PHASE_ANSWER, /* sends answers to clients; new requests may arrive */
    LOOP_PHASE_DECIDE, /* the workers decide what to do after the turn's events */
    LOOP_PHASE_GATHER, /* collected work becomes commands to Redis */
    LOOP_PHASE_SEND,   /* sends the commands */
    LOOP_PHASE_COUNT,
};

/* Calls fn at the end of each turn. fn may not add or remove hooks. */
struct hook *hook_new(struct loop *, enum loop_phase, loop_fn *fn, void *arg);
void hook_free(struct hook *); /* NULL is ignored */

/* Sets the name and the version of libev. */
void loop_library(struct library *);

#endif
