#include "app/schedule_view.h"

#include "io/time_zones.h"
#include "job/job_id.h"

/* Finds the next times. If a time has come, but the schedule has not created its job yet, this time is the
 * first one. */
static void find_times(struct app_schedule *schedule, const struct app *app,
                       const struct recurring *recurring, const struct store_recurring *stored)
{
    const struct time_zone *zone;
    struct recurrence recurrence;
    struct problem problem;
    bool is_held = stored->last.outcome == FIRED_HELD;
    int64_t at_ms = is_held ? stored->last.time_ms : stored->next_ms;
    if (stored->next_ms < 0 || time_zones_find(app->zones, recurring->timezone, &zone, &problem) != STATUS_OK)
        return;
    recurring_recurrence(recurring, stored->id, zone, &recurrence);
    while (schedule->time_count < APP_SCHEDULE_TIMES && at_ms < RECURRENCE_NEVER_MS) {
        schedule->times_ms[schedule->time_count++] = at_ms;
        at_ms = recurrence_next_ms(&recurrence, at_ms);
    }
}

static enum status read_definition(struct schedule_view *view, const struct store_recurring *stored)
{
    struct slice topic, schedule_id;
    enum status status = recurring_read(stored->record, &view->recurring);
    slice_cut(stored->id, '/', &topic, &schedule_id);
    if (status != STATUS_OK)
        return status;
    if (view->recurring.lacks.size)
        status = STATUS_LACKING;
    else
        status = recurring_read_job(&view->recurring, topic, &view->job);
    if (status != STATUS_OK)
        recurring_fini(&view->recurring);
    return status;
}

enum status schedule_view_init(struct schedule_view *view, const struct app *app,
                               const struct store_recurring *stored)
{
    struct app_schedule *schedule = &view->schedule;
    *schedule = (struct app_schedule){.id = stored->id, .tag = stored->tag, .last = stored->last};
    enum status status = read_definition(view, stored);
    schedule->needs_later = status == STATUS_LACKING;
    if (status == STATUS_OK) {
        schedule->recurring = &view->recurring;
        schedule->job = &view->job;
        find_times(schedule, app, &view->recurring, stored);
    }
    return status == STATUS_NO_MEMORY ? status : STATUS_OK;
}

void schedule_view_fini(struct schedule_view *view)
{
    if (!view->schedule.recurring)
        return;
    job_fini(&view->job);
    recurring_fini(&view->recurring);
}
