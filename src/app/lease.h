/* lease.h - use cases of pull topics: workers lease jobs, wait for them, and end their leases.
 *
 * Requests of one topic are served in the order in which they came to this reactor. A request that finds no
 * job may wait. Waiting requests cost almost nothing: the reactor calls the store again, for one waiting
 * request, when Redis announces a job, when the next job is due, and every few seconds in case an
 * announcement was lost. The request of a disconnected worker leases no jobs. Requests for jobs of one key
 * wait in a queue of their own. */
#ifndef DUEPOST_APP_LEASE_H
#define DUEPOST_APP_LEASE_H

#include "app/app.h"
#include "base/slice.h"
#include "job/lease_text.h"

struct loop;
struct app_leases; /* the waiting requests of one reactor */
struct app_lease_wait;

/* Borrows the app. */
struct app_leases *app_leases_new(struct loop *, struct app *);

/* Call it after the store is freed and all requests have ended. NULL is ignored. */
void app_leases_free(struct app_leases *);

/* Ends the waiting requests with empty lists. Later requests that find no job end at once. */
void app_leases_drain(struct app_leases *);

/* ---- leasing ---- */

struct app_lease {
    const struct app_caller *caller;
    struct slice topic, only;  /* only: see store_pull */
    size_t max;                /* 1 to LEASE_JOBS_MAX */
    int64_t lease_ms, wait_ms; /* wait_ms is 0 for a request that does not wait */
    struct slice once;         /* fingerprint and idempotency key of the request; empty: none */
};

struct app_leased {
    struct slice token; /* lease token of all these jobs; empty if there are no jobs */
    const struct pulled_job *jobs;
    size_t count;
    bool is_kept; /* if the client repeats the request with its idempotency key, the answer has the same
                     leases */
};

/* The pointer to the struct app_leased is NULL unless the verdict is OK. If the topic is not a pull topic,
 * the verdict is NOT_PULL. */
typedef void app_leased_fn(void *arg, const struct app_verdict *, const struct app_leased *);

/* Begins a request. Returns NULL if the callback was already called, or else the request, which now waits. */
struct app_lease_wait *app_lease(struct app *, const struct app_lease *, app_leased_fn *, void *arg);

/* Ends a request with an empty list, because its worker has disconnected. If a store call for the request
 * is under way, the callback comes when that call ends. */
void app_lease_leave(struct app_lease_wait *);

/* Ends a request, and never calls its function. Call it when the HTTP server is freed. */
void app_lease_drop(struct app_lease_wait *);

/* ---- answers ---- */

/* The jobs of an answer that is on its way to the worker. */
struct app_grant;

/* Creates a grant for the jobs of an answer. Copies the data that it needs. */
struct app_grant *app_grant_new(struct app *, const struct app_leased *);

/* Ends a grant. If the worker did not get the answer, releases the jobs, without an attempt. */
void app_grant_end(struct app_grant *, bool was_sent);

/* ---- ends of leases ---- */

/* The pointer to the struct lease_ended is NULL unless the verdict is OK, UNDURABLE or NOT_HELD.
 * NOT_HELD means that nothing has changed. */
typedef void app_lease_ended_fn(void *arg, const struct app_verdict *, const struct lease_ended *);

/* Whether a request without a token of the server may end the lease with this token: it must be that of an
 * attempt (lease_text.h), which may not be used too often. */
enum app_lease_right { APP_LEASE_MAY_END, APP_LEASE_UNKNOWN, APP_LEASE_TOO_OFTEN };
enum app_lease_right app_lease_admit(struct app *, const struct lease_end *);

/* Ends or extends a lease. The schedule of the struct lease_end is ignored. */
void app_lease_end(struct app *, const struct app_caller *, const struct lease_end *, app_lease_ended_fn *,
                   void *arg);

/* ---- workers that wait ----
 *
 * Counts, for each pull topic, the workers that wait for its jobs in all reactors of a
 * process. Any thread may use it. */

struct lease_board;

struct lease_board *lease_board_new(void);
void lease_board_free(struct lease_board *); /* NULL is ignored */

/* Adds to the number of workers that wait for the topic; change is 1 or -1. */
void lease_board_add(struct lease_board *, struct slice topic, int change);

size_t lease_board_waiting(struct lease_board *, struct slice topic);

#endif
