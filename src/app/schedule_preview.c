/* schedule_preview.c - the times of a schedule before it is defined: what PUT of the definition would do,
 * without writing anything. */
#include "app/app_private.h"
#include "app/schedules.h"
#include "io/time_zones.h"
#include "job/job_id.h"
#include "job/schedule/recurrence.h"

/* Notes the times that the windows leave out, between a time and the one before it. */
static int64_t left_out_between(const struct recurrence *recurrence, int64_t after_ms, int64_t time_ms)
{
    return recurrence->windows.count ? recurrence_count(recurrence, after_ms, time_ms - 1) : 0;
}

static bool is_moved_to(const struct app_schedule_preview *preview, int64_t time_ms)
{
    for (size_t i = 0; i < preview->change_count; i++)
        if (preview->changes[i].at_ms == time_ms && preview->changes[i].effect == RECURRENCE_MOVED)
            return true;
    return false;
}

/* Says why the schedule has no more times. */
static enum app_preview_end end_of(const struct recurrence *recurrence, int64_t after_ms)
{
    struct recurrence longer = *recurrence;
    longer.last_ms = RECURRENCE_NEVER_MS;
    if (recurrence_next_ms(&longer, after_ms) != RECURRENCE_NEVER_MS)
        return APP_PREVIEW_END_AT;
    longer.windows.count = 0;
    return recurrence_next_ms(&longer, after_ms) != RECURRENCE_NEVER_MS ? APP_PREVIEW_END_WINDOWS
                                                                        : APP_PREVIEW_END_CALENDAR;
}

static void list_times(const struct recurrence *recurrence, const struct recurring *recurring, size_t count,
                       struct app_schedule_preview *preview)
{
    int64_t at_ms = preview->now_ms;
    while (preview->time_count < count) {
        int64_t next_ms = recurrence_next_ms(recurrence, at_ms);
        if (next_ms == RECURRENCE_NEVER_MS) {
            preview->end = end_of(recurrence, at_ms);
            break;
        }
        preview->times[preview->time_count++] = (struct app_preview_time){
            .time_ms = next_ms,
            .due_ms = next_ms + recurring->delay_ms + recurrence_jitter_ms(recurrence, next_ms),
            .left_out = left_out_between(recurrence, at_ms, next_ms),
        };
        at_ms = next_ms;
    }
    int64_t from_ms = recurrence->first_ms > preview->now_ms ? recurrence->first_ms - 1 : preview->now_ms;
    preview->change_count =
        recurrence_changes(recurrence, from_ms, at_ms, preview->changes, APP_PREVIEW_CHANGES_MAX);
    for (size_t i = 0; i < preview->time_count; i++)
        preview->times[i].is_moved = is_moved_to(preview, preview->times[i].time_ms);
}

static void write_preview_words(const struct recurring *recurring, struct app_schedule_preview *preview)
{
    struct buffer words = buffer_of(preview->words, sizeof preview->words);
    schedule_write_words(recurring->every_ms, &recurring->cron, &words);
}

/* Does what is left after the text was parsed. */
static enum status preview_parsed(struct app *app, const struct app_schedule_preview_call *call,
                                  struct recurring *recurring, const struct job *job,
                                  struct app_schedule_preview *preview, struct job_errors *errors)
{
    const struct time_zone *zone;
    struct recurrence recurrence;
    recurring->created_ms = preview->now_ms;
    enum status status = schedule_check(app, call->id, recurring, job, true, &zone, errors);
    if (status != STATUS_OK)
        return status;
    recurring_recurrence(recurring, call->id, zone, &recurrence);
    if (recurrence_next_ms(&recurrence, preview->now_ms) == RECURRENCE_NEVER_MS)
        schedule_refuse_times(recurring, &recurrence, preview->now_ms, errors);
    if (errors->count > 0)
        return STATUS_INVALID;
    preview->is_paused = recurring->is_paused;
    preview->is_exclusive = recurring_overlap(recurring) == OVERLAP_SKIP;
    write_preview_words(recurring, preview);
    list_times(&recurrence, recurring, call->count, preview);
    return STATUS_OK;
}

enum status app_schedule_preview(struct app *app, const struct app_schedule_preview_call *call,
                                 struct app_schedule_preview *preview, struct job_errors *errors)
{
    struct slice topic, schedule_id;
    struct recurring recurring;
    struct job job;
    slice_cut(call->id, '/', &topic, &schedule_id);
    preview->now_ms = app_now_ms(app);
    enum status status = recurring_parse(topic, call->text, preview->now_ms, &recurring, &job, errors);
    if (status != STATUS_OK)
        return status;
    status = preview_parsed(app, call, &recurring, &job, preview, errors);
    job_fini(&job);
    recurring_fini(&recurring);
    return status;
}
