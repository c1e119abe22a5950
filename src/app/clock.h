/* clock.h - use cases of the manual clock (--clock manual): one shows it, one turns it from event to event.
 *
 * The process has one clock, so only one request at a time turns it. A turn ends when the clock shows the
 * wanted time and all that was due until then is over; or earlier: with a full page of what fired, after
 * APP_TURN_MS of real time, when the client has left, or when the process stops. The client then repeats its
 * request with the time that the turn was to reach. */
#ifndef DUEPOST_APP_CLOCK_H
#define DUEPOST_APP_CLOCK_H

#include "app/app.h"

struct loop;
struct app_clock; /* the clock in one reactor */
struct app_turn;  /* a request that turns the clock */

enum { APP_TURN_MS = 20 * 1000 };

/* Borrows the app. */
struct app_clock *app_clock_new(struct loop *, struct app *);

/* Call it after the store is freed and all requests have ended. NULL is ignored. */
void app_clock_free(struct app_clock *);

/* Ends the turn that is under way. Later turns do not move the clock. */
void app_clock_drain(struct app_clock *);

/* The state of the clock. */
struct app_clock_shown {
    int64_t now_ms;
    int64_t next_ms;   /* time of the next event after now_ms; -1: no event comes */
    int64_t in_flight; /* attempts that have not ended */
    int64_t to_ms;     /* turn: the time to reach; 0: no bound was given */
    bool is_reached; /* turn: the clock shows to_ms, or no job waits or is in flight, and all that was due is
                        over */
};

/* The pointer to the struct app_clock_shown is NULL unless the verdict is OK. UNKNOWN: the clock may have
 * moved. CONTENDED: another request turns the clock; nothing changed. */
typedef void app_clock_fn(void *arg, const struct app_verdict *, const struct app_clock_shown *);

void app_clock_show(struct app *, app_clock_fn *, void *arg);

struct app_clock_move {
    const struct app_caller *caller;
    bool has_to, has_advance; /* at most one of them */
    int64_t to_ms, advance_ms;
    bool is_until_idle; /* the turn ends when no job waits for a time or is in flight, although schedules
                           continue */
    size_t max;         /* the turn ends when this many entries can be taken */
};

/* Begins a turn. If this many entries are there already, the clock is not moved. Returns NULL if the callback
 * was already called, or else the turn. */
struct app_turn *app_clock_turn(struct app *, const struct app_clock_move *, app_clock_fn *, void *arg);

/* Ends a turn, and never calls its function. Call it when the HTTP server is freed. */
void app_clock_drop(struct app_turn *);

/* An event while the clock was turned. Members that do not belong to the event are empty or 0. */
struct app_fired {
    int64_t at_ms;
    struct slice topic, job_id, event, schedule, error, outcome; /* see struct clock_fired */
    int64_t attempt, status, next_ms;
};

/* Calls fn for the oldest entries, at most max, and removes them. Returns whether
 * entries are left. *lost is the number of entries that had no place since the last call. */
typedef void app_fired_fn(void *arg, const struct app_fired *);
bool app_clock_take(size_t max, app_fired_fn *, void *arg, uint64_t *lost);

#endif
