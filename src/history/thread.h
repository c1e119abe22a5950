/* thread.h - the history's thread: takes calls of history.h from all reactors, runs them on one driver, and
 * passes them back. */
#ifndef DUEPOST_HISTORY_THREAD_H
#define DUEPOST_HISTORY_THREAD_H

#include "base/list.h"
#include "history/driver.h"

enum call_kind {
    CALL_APPEND,
    CALL_NOTE,
    CALL_FIND,
    CALL_LIST,
    CALL_COUNT,
    CALL_STATS,
    CALL_DELETE,
    CALL_TRAIL
};

/* Returns whether the call adds rows, which are on disk after the next sync. */
static inline bool call_kind_appends(enum call_kind kind)
{
    return kind == CALL_APPEND || kind == CALL_NOTE;
}

/* The thread's lock guards the members state and owner of a call. */
enum call_state {
    CALL_WAITING,
    CALL_RUNNING, /* the thread runs the call, or has added the rows of an append, which wait for the next
                     sync */
    CALL_DONE,    /* in the list of its history; the call waits for its callback */
};

struct history_call {
    struct list link;     /* link in a queue of the thread; when the call is done, in a list of the history */
    struct list of_owner; /* link in the list of the history's calls; only the reactor uses it */
    enum call_kind kind;
    enum call_state state;
    struct history
        *owner; /* NULL: the callback was called, or will not be called; the thread then frees the call */
    int64_t deadline_us;  /* deadline of the call, by CLOCK_MONOTONIC */
    size_t waiting_bytes; /* size of a waiting append, as it counts against the thread's limit */

    struct buffer text;            /* owned: the texts of the arguments */
    struct history_entry *entries; /* owned; of lines of the audit log only the texts */
    size_t entry_count;
    struct slice id;
    struct history_list list; /* for a count or a deletion, only its filter is used */
    struct outcome_steps stats;
    struct trail_query trail;

    enum status status;
    struct problem problem;
    struct read_rows rows;
    struct trail_rows lines;
    struct history_cursor next;
    struct outcome_counts counts;
    struct outcome_counts *steps; /* owned */
    size_t step_count;
    size_t deleted;
    bool has_more;

    union {
        history_done_fn *done;
        history_found_fn *found;
        history_page_fn *page;
        history_counts_fn *counts;
        history_stats_fn *stats;
        history_deleted_fn *deleted;
        history_trail_fn *trail;
    } fn;
    void *arg;
};

void history_call_free(struct history_call *);

/* Creates the driver that the options name. The caller sets its deadline_us, is_stopping and stop_fd. */
struct driver *history_driver_new(const struct history_options *);

/* ---- the thread ---- */

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
