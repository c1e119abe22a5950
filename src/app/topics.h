/* topics.h - use cases for topics: list topics, read one topic, and change its settings.
 *
 * orders~next is a sibling topic of its owner topic orders. Only the server writes the settings of a sibling
 * topic (job_id.h). Scripts use these settings of a sibling topic: paused, maxInFlight, rate, weight, order
 * and onHeadDead. For all other settings, the jobs of a sibling topic use those of the owner topic
 * (topic_settings_read_for). The setting "note" has data for the part of the server that wrote the settings.
 * A sibling topic with settings is in the lists of topics even if it has no jobs. */
#ifndef DUEPOST_APP_TOPICS_H
#define DUEPOST_APP_TOPICS_H

#include "app/app.h"
#include "job/topic/topic.h"
#include "job/topic/topic_settings.h"

typedef void app_topic_fn(void *arg, const struct topic *);

/* Reads a cursor from a page, and borrows its text. Returns false if the text is not a cursor. */
bool app_topic_cursor_parse(const struct app *, struct slice text, struct topic_cursor *);

/* Calls each() for every topic of a page that the caller has a right to, and then fn. max is 1 to
 * APP_PAGE_MAX. If the page needs several calls of the store, other requests are served between the calls. */
void app_topics(struct app *, const struct app_caller *, size_t max, struct topic_cursor from,
                app_topic_fn *each, app_verdict_fn *fn, void *arg);

/* The same for topics that fail: one page for each shard, with the topics that have the most failures first.
 */
void app_topics_failing(struct app *, const struct app_caller *, size_t max, struct topic_cursor from,
                        app_topic_fn *each, app_verdict_fn *fn, void *arg);

/* Calls each() for every group of a page that the caller has a right to, and then fn. Each struct topic
 * has the name of a group, and the group's text (group.h) in the member settings. */
void app_groups(struct app *, const struct app_caller *, size_t max, struct topic_cursor from,
                app_topic_fn *each, app_verdict_fn *fn, void *arg);

/* Calls each() with the topic, even if it has no jobs and no settings; then calls fn. */
void app_topic(struct app *, struct slice name, app_topic_fn *each, app_verdict_fn *fn, void *arg);

/* Calls each() for every pattern that has settings and that the caller has a right to, with its own settings;
 * then calls fn. If name is not empty, calls each() only for this pattern, even if it has no settings. */
void app_patterns(struct app *, const struct app_caller *, struct slice name, app_topic_fn *each,
                  app_verdict_fn *fn, void *arg);

/* How a change makes the new settings from the client's text. */
enum app_change {
    APP_CHANGE_REPLACE, /* the text replaces the settings */
    APP_CHANGE_MERGE,   /* the text is a merge patch of the settings */
    APP_CHANGE_RESET,   /* there is no text: the settings are removed */
};

/* Changes the settings of a topic or of a pattern. Reads the settings, creates the new settings, and writes
 * them. If another process has changed the settings since the read, begins again. With OK, the verdict has
 * the new settings. */
void app_topic_change(struct app *, const struct app_caller *, struct slice name, enum app_change,
                      struct slice text, app_verdict_fn *, void *arg);

/* ---- sibling topics with settings of their own ---- */

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
