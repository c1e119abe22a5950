/* overview.h - the use case of GET /overview: the state of all processes and topics, for people who look on.
 */
#ifndef DUEPOST_APP_OVERVIEW_H
#define DUEPOST_APP_OVERVIEW_H

#include "app/app.h"
#include "app/live_board.h"
#include "app/tally.h"

struct app_overview {
    int64_t now_ms;                  /* wall clock */
    const struct tally_count *count; /* NULL: Redis did not answer */
    struct live_board *live;
};

/* The overview is borrowed until the callback returns. */
typedef void app_overview_fn(void *arg, const struct app_overview *);

/* Asks Redis at most once a second in a process, however many clients ask. */
void app_overview(struct app *, app_overview_fn *, void *arg);

#endif
