/* limits.h - use cases for limits that several topics share: list limits, read one, and change it.
 *
 * A topic or pattern names its limit in the setting "limit". The limit bounds the attempts of all these
 * topics together. Only callers with a right to all topics use these functions. */
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

/* Writes the tag of this version of a limit's settings. */
void app_limit_tag(struct slice settings, char tag[JOB_TAG_SIZE]);

struct app_limit_change {
    struct slice name;
    enum app_change kind; /* APP_CHANGE_RESET removes the limit */
    struct slice text;    /* text that the client sent */
    struct slice tags;    /* see job_tags_match; If-None-Match also allows that there is no limit */
};

/* Changes a limit: reads it, creates the new settings, and writes them. If another process has changed the
 * limit since the read, begins again. With OK, the verdict has the new settings, and was_there says whether
 * there was a limit. A removal ends with IN_USE if topics or patterns name the limit. */
void app_limit_change(struct app *, const struct app_caller *, const struct app_limit_change *,
                      app_verdict_fn *, void *arg);

#endif
