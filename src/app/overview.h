/* overview.h - the use case of GET /overview: the state of all processes and topics, for people who look on.
 */
#ifndef DUEPOST_APP_OVERVIEW_H
#define DUEPOST_APP_OVERVIEW_H

#include "app/app.h"
#include "app/live_board.h"

/* Jobs of Redis. delayed and ready are -1 until they have been counted. */
struct app_overview_jobs {
    int64_t delayed, ready, held, leased, dead;
    int64_t outbox, outbox_bytes, outbox_age_ms; /* ended jobs that the history does not have yet */
};

struct app_overview {
    int64_t now_ms;                       /* wall clock */
    const struct app_overview_jobs *jobs; /* NULL: Redis did not answer */
    struct live_board *live;
};

/* The overview is borrowed until the callback returns. */
typedef void app_overview_fn(void *arg, const struct app_overview *);

/* Asks Redis at most once a second in a process, however many clients ask. */
void app_overview(struct app *, app_overview_fn *, void *arg);

#endif
