/* siblings.h - use cases for sibling topics with settings of their own, such as orders~next.
 *
 * Only the server writes these settings (job_id.h). Scripts obey paused, maxInFlight, rate, weight, order and
 * onHeadDead of a sibling topic; the rest comes from its owner (topic_settings_read_for). note is for the
 * part of the server that writes them. Settings that were written keep the topic in the lists of topics, with
 * and without jobs. */
#ifndef DUEPOST_APP_SIBLINGS_H
#define DUEPOST_APP_SIBLINGS_H

#include "app/topics.h"
#include "job/topic_settings.h"

/* The outcome of a change. */
enum app_sibling_change {
    APP_SIBLING_WRITE,   /* they are written as the function left them */
    APP_SIBLING_KEEP,    /* nothing is written; the use case ends with DONE */
    APP_SIBLING_REMOVE,  /* they are removed */
    APP_SIBLING_MISSING, /* nothing is written; the use case ends with NOT_FOUND */
};

/* Changes the settings in place. has_settings: they exist, and *settings are these; else *settings are empty.
 * Slices that the function sets must stay until the verdict. The function may be called again, with newer
 * settings, when another process has changed them meanwhile. */
typedef enum app_sibling_change app_sibling_fn(void *arg, struct topic_settings *settings, bool has_settings,
                                               int64_t now_ms);

/* Reads the settings of a sibling topic, or of an owner whose members for the server change, has change make
 * the new ones, and writes them, in one step if they have not changed since. With DONE, the verdict has the
 * settings. */
void app_sibling_change(struct app *, const struct app_caller *, struct slice topic, app_sibling_fn *change,
                        app_verdict_fn *, void *arg);

/* An app_sibling_fn that removes the settings, if there are any. */
app_sibling_fn app_sibling_remove;

/* Calls each for each topic whose name begins with prefix and that has settings of its own, by name, and then
 * fn. prefix has a '~'. If there are more than max, calls each for the first max. The cost is that of the
 * topics with this prefix, however many other topics there are. */
void app_siblings(struct app *, struct slice prefix, size_t max, app_topic_fn *each, app_verdict_fn *fn,
                  void *arg);

#endif
