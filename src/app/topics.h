/* topics.h - use cases for topics: list topics, read one topic, and change its settings. */
#ifndef DUEPOST_APP_TOPICS_H
#define DUEPOST_APP_TOPICS_H

#include "app/app.h"
#include "job/topic/topic.h"

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

#endif
