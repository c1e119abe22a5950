/* cron_preview.h - use case: the times that a schedule would have, before it is defined. */
#ifndef DUEPOST_APP_CRON_PREVIEW_H
#define DUEPOST_APP_CRON_PREVIEW_H

#include "app/app.h"
#include "job/schedule/cron.h"
#include "job/text/job_errors.h"

enum { APP_CRON_TIMES = 5 };

struct app_cron_call {
    struct slice expression; /* cron expression; empty: every_ms is used */
    int64_t every_ms; /* interval; the first time is from_ms + every_ms; at least RECURRENCE_EVERY_MIN_MS */
    struct slice timezone; /* empty: UTC */
    int64_t from_ms;       /* only times later than this are returned */
};

struct app_cron_preview {
    char words[CRON_WORDS_MAX + 1];
    int64_t times_ms[APP_CRON_TIMES];
    /* Number of times: APP_CRON_TIMES, or fewer if the schedule has fewer until the end of the year 9999. */
    size_t time_count;
};

/* Returns false if the expression or the time zone is wrong. errors then has an error for each wrong value.
 */
bool app_cron_preview(struct app *, const struct app_cron_call *, struct app_cron_preview *,
                      struct job_errors *);

#endif
