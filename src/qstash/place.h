/* place.h - the topic of a message: that of its queue, of its flow control, of both, or that of plain
 * messages. */
#ifndef DUEPOST_QSTASH_PLACE_H
#define DUEPOST_QSTASH_PLACE_H

#include "app/app.h"
#include "qstash/settings.h"

/* The topic is set if the end of the verdict is DONE. It is borrowed until the callback returns. */
typedef void place_fn(void *arg, const struct app_verdict *, struct slice topic);

/* Finds the topic, and makes its settings if it has none yet. queue and the key of the flow may be empty. The
 * arguments are borrowed until the callback, which may come before the call returns. */
void place_find(struct app *, const struct app_caller *, struct slice queue, const struct settings_flow *,
                place_fn *, void *arg);

#endif
