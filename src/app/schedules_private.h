/* schedules_private.h - converts a stored schedule to the form for clients; only the files of schedules
 * include it. */
#ifndef DUEPOST_APP_SCHEDULES_PRIVATE_H
#define DUEPOST_APP_SCHEDULES_PRIVATE_H

#include "app/schedules.h"
#include "store/recurring.h"

/* A schedule, and the data into which its slices point. */
struct schedule_view {
    struct app_schedule schedule;
    struct recurring recurring;
    struct job job;
};

/* Reads a stored schedule. Its slices are valid until schedule_view_fini. Fails only with NO_MEMORY.
 */
enum status schedule_view_init(struct schedule_view *, const struct app *,
                               const struct store_recurring *) MUST_USE;
void schedule_view_fini(struct schedule_view *);

#endif
