/* schedule_view.h - reads a stored schedule for people; only the files of app/ include it. */
#ifndef DUEPOST_APP_SCHEDULE_VIEW_H
#define DUEPOST_APP_SCHEDULE_VIEW_H

#include "app/schedule.h"
#include "store/recurring.h"

/* A schedule and what it borrows from. */
struct schedule_view {
    struct app_schedule schedule;
    struct recurring recurring;
    struct job job;
};

/* Reads a stored schedule, whose slices are borrowed until schedule_view_fini. NO_MEMORY is the only failure.
 */
enum status schedule_view_init(struct schedule_view *, const struct app *,
                               const struct store_recurring *) MUST_USE;
void schedule_view_fini(struct schedule_view *);

#endif
