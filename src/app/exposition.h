/* exposition.h - the use case of GET /metrics: writes all metrics in the text format of Prometheus or in
 * OpenMetrics. */
#ifndef DUEPOST_APP_EXPOSITION_H
#define DUEPOST_APP_EXPOSITION_H

#include "app/app.h"
#include "base/metrics.h"

typedef void app_exposed_fn(void *arg, struct slice text);

/* Clears text and writes the metrics into it, immediately before the callback. */
void app_expose(struct app *, struct buffer *text, enum metrics_format, app_exposed_fn *, void *arg);

#endif
