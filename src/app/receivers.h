/* receivers.h - use cases for receivers: lists them, and closes a circuit breaker on request. */
#ifndef DUEPOST_APP_RECEIVERS_H
#define DUEPOST_APP_RECEIVERS_H

#include "app/app.h"
#include "job/target/receiver.h"

typedef void app_receiver_fn(void *arg, const struct receiver_record *);

/* Reads a cursor from a page. Returns false if the text is not a cursor. */
bool app_receiver_cursor_parse(const struct app *, struct slice text, struct receiver_cursor *);

/* Calls each() for every receiver of a page, and then fn. max is 1 to APP_PAGE_MAX. */
void app_receivers(struct app *, size_t max, struct receiver_cursor from, app_receiver_fn *each,
                   app_verdict_fn *fn, void *arg);

/* Closes the breaker of a receiver and the breakers of its paths, and removes the receiver's limit of
 * attempts. Calls each() with the receiver, and then fn. Ends with NOT_FOUND if Redis has no record of the
 * receiver. */
void app_receiver_close(struct app *, const struct app_caller *, struct slice name, app_receiver_fn *each,
                        app_verdict_fn *fn, void *arg);

#endif
