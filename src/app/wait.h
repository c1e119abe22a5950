/* wait.h - requests that wait for the end of a job, or for its next change.
 *
 * All requests of a reactor that wait for one job share an entry. Waiting costs almost nothing: the reactor
 * reads the job once when Redis announces that it has ended or changed, and asks again every ten seconds, and
 * after each loss of the connection, in case an announcement was lost. A job that has ended meanwhile is kept
 * for a minute (store_await). A job that another one replaces is the same job here, because both have one id.
 */
#ifndef DUEPOST_APP_WAIT_H
#define DUEPOST_APP_WAIT_H

#include "app/app.h"

struct loop;
struct app_waits; /* the waiting requests of one reactor */
struct app_wait;

enum { APP_WAIT_SPARE_MS = 60000 }; /* how much longer than its wait a request is noted in Redis */

/* Borrows the app. */
struct app_waits *app_waits_new(struct loop *, struct app *);

/* Call it after the store is freed and all requests have ended. NULL is ignored. */
void app_waits_free(struct app_waits *);

/* Ends the waits: each request gets the job as it is now. Later requests do not wait. */
void app_waits_drain(struct app_waits *);

struct app_wait_call {
    struct slice id;
    struct slice
        tags; /* the wait also ends when the job meets this condition, see job_tags_match; empty: none */
    int64_t wait_ms;
};

/* Waits, and then reads the job as app_read does. Calls fn when the job has ended, when its tag has changed,
 * or when the time is over; at once if there is no such job. fn is never called before this function returns.
 * Copies what it needs. */
struct app_wait *app_wait(struct app *, const struct app_wait_call *, app_verdict_fn *fn, void *arg);

/* Ends a wait early, because the client has disconnected. fn is called soon. */
void app_wait_leave(struct app_wait *);

/* Ends a wait, and never calls its function. */
void app_wait_drop(struct app_wait *);

#endif
