/* loop.h - the event loop of one reactor; the only user of libev.
 *
 * A loop belongs to the thread that runs it. Only loop_post may be called from
 * another thread. A turn of the loop is: wait, call what is ready, then the
 * hooks of each phase in order. What a turn brings is gathered by the callbacks
 * and leaves together in the hooks. */
#ifndef DUEPOST_IO_LOOP_H
#define DUEPOST_IO_LOOP_H

#include <stdbool.h>
#include <stdint.h>

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

/* The time at which this turn began, by CLOCK_MONOTONIC; cheap. */
int64_t loop_now_us(struct loop *);

/* Calls fn once in the loop's thread, soon; from any thread. */
void loop_post(struct loop *, loop_fn *fn, void *arg);

/* One-shot timers. Starting a running timer moves it. fn may start, stop or free it. */
struct timer *timer_new(struct loop *, loop_fn *fn, void *arg);
void timer_start(struct timer *, int64_t after_us);
void timer_stop(struct timer *);
bool timer_is_running(const struct timer *);
void timer_free(struct timer *); /* NULL is fine */

/* A file descriptor's readiness. fn may set or free the watch. */
typedef void watch_fn(void *arg, bool readable, bool writable);
struct watch *watch_new(struct loop *, int fd, watch_fn *fn, void *arg);
void watch_set(struct watch *, bool read, bool write);
void watch_free(struct watch *); /* NULL is fine; before the fd is closed */

/* The end of a turn, in this order. */
enum loop_phase {
    LOOP_PHASE_ANSWER, /* answers to our clients leave, new requests may come */
    LOOP_PHASE_DECIDE, /* roles see what the turn brought and ask for what is next */
    LOOP_PHASE_GATHER, /* what the turn brought becomes commands to Redis */
    LOOP_PHASE_SEND,   /* the commands leave */
    LOOP_PHASE_COUNT,
};

/* Calls fn at the end of each turn. fn may not add or remove hooks. */
struct hook *hook_new(struct loop *, enum loop_phase, loop_fn *fn, void *arg);
void hook_free(struct hook *); /* NULL is fine */

#endif
