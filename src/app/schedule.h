/* schedule.h - a schedule as clients see it: its definition, its next times and its last outcome. */
#ifndef DUEPOST_APP_SCHEDULE_H
#define DUEPOST_APP_SCHEDULE_H

#include "app/app.h"
#include "job/schedule/recurring.h"

enum { APP_SCHEDULE_TIMES = 5 };

/* Slices are valid until the callback returns. */
struct app_schedule {
    struct slice id; /* topic/scheduleId */
    struct slice tag;
    const struct recurring
        *recurring;        /* NULL: the definition cannot be read, or needs a later version of duepost */
    const struct job *job; /* job of the definition; NULL if recurring is NULL */
    bool needs_later;
    int64_t times_ms[APP_SCHEDULE_TIMES]; /* next times, without jitter */
    size_t time_count;
    struct recurring_last last;
    struct stored_job last_job; /* current state of its job; id is empty if the job is unknown or gone */
    /* If the last occurrence was sent to a group: its jobs; last_job is then not used */
    const struct sent_job *sent;
    size_t sent_count;
};

typedef void app_schedule_fn(void *arg, const struct app_schedule *);

#endif
