/* limits.h - use cases for limits that several topics share, and for the keys of a topic: list them, read
 * one, and change it.
 *
 * A topic or pattern names its limit in the setting "limit". The limit bounds the attempts of all these
 * topics together. Only callers with a right to all topics use these functions.
 *
 * The jobs of a topic with the same key form a lane. The setting "perKey" of the topic bounds each lane; the
 * settings of a key win over it. */
#ifndef DUEPOST_APP_LIMITS_H
#define DUEPOST_APP_LIMITS_H

#include "app/app.h"
#include "app/topics.h"

typedef void app_limit_fn(void *arg, const struct limit *);

/* Calls each() for every limit of a page, and then fn. max is 1 to APP_PAGE_MAX. The page begins after the
 * limit with the name in "from". */
void app_limits(struct app *, size_t max, struct topic_cursor from, app_limit_fn *each, app_verdict_fn *fn,
                void *arg);

/* Calls each() with the limit, and then fn with OK; otherwise only fn, with NOT_FOUND or UNAVAILABLE. */
void app_limit(struct app *, struct slice name, app_limit_fn *each, app_verdict_fn *fn, void *arg);

typedef void app_lane_fn(void *arg, const struct topic_lane *);

/* Works like app_limits. after: the place where the page before ended; empty: the beginning. The verdict's
 * cursor is for app_lane_cursor_parse. */
void app_lanes(struct app *, struct slice topic, size_t max, struct slice after, app_lane_fn *each,
               app_verdict_fn *fn, void *arg);
bool app_lane_cursor_parse(struct slice text, struct buffer *room, struct slice *after);

/* Works like app_limit, but each topic has all keys: one without jobs and settings has zeros. */
void app_lane(struct app *, struct slice topic, struct slice key, app_lane_fn *each, app_verdict_fn *fn,
              void *arg);

/* Writes the tag of this version of a limit's or a key's settings. */
void app_limit_tag(struct slice settings, char tag[JOB_TAG_SIZE]);

struct app_limit_change {
    struct slice topic;   /* the topic of the key; empty: a limit that topics share */
    struct slice name;    /* the limit, or topic/key */
    enum app_change kind; /* APP_CHANGE_RESET removes the limit, or the settings of the key */
    struct slice text;    /* text that the client sent */
    struct slice tags;    /* see job_tags_match; If-None-Match also allows that there is no limit */
};

/* Changes a limit or the settings of a key: reads them, creates the new settings, and writes them. If another
 * process has changed them since the read, begins again. With OK, the verdict has the new settings, and
 * was_there says whether there were any. A removal ends with IN_USE if topics or patterns name the limit. */
void app_limit_change(struct app *, const struct app_caller *, const struct app_limit_change *,
                      app_verdict_fn *, void *arg);

#endif
