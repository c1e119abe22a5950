/* siblings.h - use cases for sibling topics with settings of their own. orders~next is a sibling of its owner
 * topic orders.
 *
 * Only the server writes these settings (job_id.h). Scripts use these settings of a sibling topic: paused,
 * maxInFlight, rate, weight, order and onHeadDead. For all other settings, the jobs of a sibling topic use
 * those of the owner topic (topic_settings_read_for). The setting "note" has data for the part of the server
 * that wrote the settings. A sibling topic with settings is in the lists of topics even if it has no jobs. */
#ifndef DUEPOST_APP_SIBLINGS_H
#define DUEPOST_APP_SIBLINGS_H

#include "app/topics.h"
#include "job/topic/topic_settings.h"

/* The outcome of a change. */
enum app_sibling_change {
    APP_SIBLING_WRITE,   /* the changed settings are to be written */
    APP_SIBLING_KEEP,    /* nothing is to be written; the use case ends with OK */
    APP_SIBLING_REMOVE,  /* the settings are to be removed */
    APP_SIBLING_MISSING, /* nothing is to be written; the use case ends with NOT_FOUND */
};

/* Changes the settings in place. If has_settings is false, the topic has no settings, and *settings are
 * empty. The slices that the function sets must be valid until the verdict. If another process changes the
 * settings before the write, the function is called again, with the newer settings. */
typedef enum app_sibling_change app_sibling_fn(void *arg, struct topic_settings *settings, bool has_settings,
                                               int64_t now_ms);

/* Reads the settings of a sibling topic, calls the function make, and writes the new settings if the stored
 * settings have not changed since the read. Can also change those settings of an owner topic that only the
 * server sets. With OK, the verdict has the settings. */
void app_sibling_change(struct app *, const struct app_caller *, struct slice topic, app_sibling_fn *make,
                        app_verdict_fn *, void *arg);

/* For the argument make of app_sibling_change: removes the settings, if the topic has any. */
app_sibling_fn app_sibling_remove;

/* Calls each() for every topic whose name begins with prefix and that has settings of its own, in the order
 * of the names; then calls fn. prefix must contain a '~'. At most max topics are passed to each(). Topics
 * without this prefix do not make the call slower. */
void app_siblings(struct app *, struct slice prefix, size_t max, app_topic_fn *each, app_verdict_fn *fn,
                  void *arg);

#endif
