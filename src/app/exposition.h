/* exposition.h - the use case behind GET /metrics: all numbers in the text format of Prometheus. */
#ifndef DUEPOST_APP_EXPOSITION_H
#define DUEPOST_APP_EXPOSITION_H

#include "app/app.h"

typedef void app_exposed_fn(void *arg, struct slice text);

/* Clears text and writes into it, right before the callback. */
void app_expose(struct app *, struct buffer *text, app_exposed_fn *, void *arg);

#endif
