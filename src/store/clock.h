/* clock.h - the manual clock of --clock manual: Redis's scripts read a time that stands still in META until a
 * client moves it. Only a server with the private Redis has one, so there is one shard and one process.
 *
 * A move goes from event to event: store_clock_step sets the clock to the next event (a due time, a schedule,
 * a lease of a worker that runs out, ...), but only when all that was due before it is over. The caller calls
 * it again and again until it answers CLOCK_REACHED. If the process dies in between, the clock shows the last
 * event, and what was due then continues at the next start. */
#ifndef DUEPOST_STORE_CLOCK_H
#define DUEPOST_STORE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"

struct store;

/* ---- the time in this process ----
 *
 * Any thread may call these functions, but clock_make_manual must be called before other threads start. */

void clock_make_manual(void);
bool clock_is_manual(void);
void clock_turn_to(int64_t us); /* microseconds since 1970; a time before the current one is ignored */
int64_t clock_turned_us(void);  /* 0 until the first call of clock_turn_to */

/* Returns the clock for waits whose end a client can see, such as that of a circuit breaker: the manual clock
 * if there is one, otherwise that of clock_boot_us. */
int64_t clock_wait_us(void);

/* ---- steps ---- */

enum clock_state {
    CLOCK_BUSY,    /* attempts are in flight, or something due has not begun: call again soon */
    CLOCK_MOVED,   /* the clock shows the next event: call again */
    CLOCK_REACHED, /* the clock shows to_ms, or nothing is left to wait for, and all that was due is over */
};

struct store_clock {
    enum clock_state state;
    int64_t now_ms;    /* what the clock shows now */
    int64_t next_ms;   /* time of the next event after now_ms; -1: no event comes */
    int64_t in_flight; /* attempts of consumers that have not ended */
};

struct store_clock_step {
    int64_t to_ms; /* the clock is not moved beyond this time, ms since 1970; 0: it is not moved at all */
    bool is_until_idle; /* ends when no job waits for a time or is in flight, although schedules continue */
};

/* Called with NULL unless the status is OK. Other statuses: UNAVAILABLE, UNKNOWN (call again). */
typedef void store_clock_fn(void *arg, enum status, const struct store_clock *);

void store_clock_step(struct store *, const struct store_clock_step *, store_clock_fn *, void *arg);

/* ---- work under way ----
 *
 * Some of what an attempt has caused is not in Redis yet when the attempt ends there, such as news about its
 * receiver. Workers count such work, and the clock waits for it. Any thread may call this function. It does
 * nothing without a manual clock. */

void clock_note_work(int change); /* 1: begins; -1: is over */
bool clock_has_work(void);

/* ---- what fired ----
 *
 * A list of what happened while the clock was moved, in the memory of the process. Any thread may call these
 * functions. Without a manual clock, clock_note_fired does nothing. */

enum {
    CLOCK_FIRED_MAX = 100000, /* further entries are only counted */
};

struct clock_fired {
    int64_t at_ms;      /* by the manual clock */
    struct slice job;   /* topic/jobId */
    struct slice event; /* "attempt"; "scheduled": a schedule has created the job; "expired": the job is dead,
                           because its time was over before an attempt; "dead": it is dead without an
                           attempt for another reason; "lapsed": a worker's lease has run out */
    struct slice schedule; /* scheduled: topic/scheduleId */
    int64_t attempt;       /* attempt: its number */
    int64_t status;        /* attempt: HTTP status of the answer; 0: there was none */
    struct slice error;    /* attempt: word for why there was no answer; otherwise empty */
    struct slice outcome;  /* attempt: "delivered", "again" (not yet), "deferred", "retry" or "dead" */
    int64_t next_ms;       /* retry, again: when the job is due next; deferred: when its lease runs out */
};

/* Copies job and schedule; the other texts must be literals. */
void clock_note_fired(const struct clock_fired *);

/* Returns the number of entries in the list. */
size_t clock_fired_count(void);

/* Calls fn for the oldest entries, at most max, and removes them. Returns whether entries are left. *lost is
 * the number of entries that had no place since the last call. */
typedef void clock_fired_fn(void *arg, const struct clock_fired *);
bool clock_take_fired(size_t max, clock_fired_fn *, void *arg, uint64_t *lost);

#endif
