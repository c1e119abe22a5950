/* schedule_define.c - PUT and PATCH of a schedule: reads the definition, creates the new one, and writes it.
 * If another process has changed the definition since the read, begins again. */
#include <stdio.h>

#include "app/app_private.h"
#include "app/schedules.h"
#include "base/memory.h"
#include "base/timestamp.h"
#include "io/time_zones.h"
#include "job/job_id.h"

enum { TRIES_MAX = 5 };

struct definition {
    struct app *app;
    const struct app_caller *caller;
    struct app_schedule_call call;
    app_schedule_fn *each;
    app_verdict_fn *fn;
    void *arg;
    struct buffer old_record, new_record;
    bool is_group_refused; /* the caller has no right to the group */
    struct buffer refused_group;
    char old_tag[RECURRING_TAG_SIZE], new_tag[RECURRING_TAG_SIZE];
    bool was_there;
    int64_t now_ms, old_next_ms, next_ms;
    int64_t expect_by_ms, jitter_ms; /* members of the new definition */
    int tries;
};

static void read_old(struct definition *);

static void definition_free(struct definition *definition)
{
    buffer_fini(&definition->old_record);
    buffer_fini(&definition->new_record);
    buffer_fini(&definition->refused_group);
    free(definition);
}

static void definition_end(struct definition *definition, enum status status)
{
    use_case_end(definition->app, definition->call.id, status, NULL, definition->fn, definition->arg);
    definition_free(definition);
}

static void end_done(struct definition *definition)
{
    struct store_recurring stored = {
        .id = definition->call.id,
        .record = buffer_slice(&definition->new_record),
        .next_ms =
            definition->next_ms == STORE_RECURRING_KEEP ? definition->old_next_ms : definition->next_ms,
        .now_ms = definition->now_ms,
        .tag = slice_of(definition->new_tag),
        .missed_ms = -1,
    };
    struct schedule_view view;
    if (schedule_view_init(&view, definition->app, &stored) != STATUS_OK) {
        definition_end(definition, STATUS_UNKNOWN);
        return;
    }
    if (definition->each)
        definition->each(definition->arg, &view.schedule);
    schedule_view_fini(&view);
    definition->fn(definition->arg,
                   &(struct app_verdict){.end = STATUS_OK, .was_there = definition->was_there});
    definition_free(definition);
}

static void on_defined(void *arg, enum status status)
{
    struct definition *definition = arg;
    if (status == STATUS_STALE && ++definition->tries < TRIES_MAX) {
        read_old(definition);
        return;
    }
    audit_change(definition->caller, definition->was_there ? "schedule_changed" : "schedule_defined",
                 "schedule", definition->call.id, status, audit_show_schedule,
                 definition->was_there ? buffer_slice(&definition->old_record) : SLICE(""),
                 buffer_slice(&definition->new_record));
    if (status == STATUS_OK) {
        end_done(definition);
    } else if (status == STATUS_STALE) {
        use_case_refuse(STATUS_CONTENDED, definition->fn, definition->arg);
        definition_free(definition);
    } else {
        definition_end(definition, status);
    }
}

/* ---- the new definition ---- */

static bool are_times_same(const struct recurring *a, const struct recurring *b)
{
    return a->has_cron == b->has_cron && slice_equal(a->cron_text, b->cron_text) &&
           a->every_ms == b->every_ms && slice_equal(a->timezone, b->timezone) &&
           a->has_start_at == b->has_start_at && a->has_end_at == b->has_end_at &&
           a->start_at_ms == b->start_at_ms && a->end_at_ms == b->end_at_ms &&
           slice_equal(a->windows, b->windows);
}

void schedule_refuse_times(const struct recurring *recurring, struct recurrence *recurrence, int64_t now_ms,
                           struct job_errors *errors)
{
    char time[TIMESTAMP_SIZE], detail[JOB_ERROR_TEXT_SIZE];
    recurrence->last_ms = RECURRENCE_NEVER_MS;
    int64_t first_ms = recurrence_next_ms(recurrence, now_ms);
    if (first_ms == RECURRENCE_NEVER_MS) {
        job_errors_add(errors, recurring->has_start_at ? "startAt" : "cron",
                       "leaves the schedule no time before the year 10000");
        return;
    }
    timestamp_format(first_ms, time);
    snprintf(detail, sizeof detail, "must not be before the schedule's next time, which is %s", time);
    job_errors_add(errors, "endAt", detail);
}

/* Sets the next time. If the times of the schedule do not change, it keeps its next time, so that a time that
 * has just come is not skipped. New times must include one that is still to come, also for a schedule that is
 * paused; a schedule whose times are over may be changed otherwise. */
static void set_next(struct definition *definition, const struct recurring *recurring,
                     const struct time_zone *zone, const struct recurring *old, struct job_errors *errors)
{
    struct recurrence recurrence;
    bool is_same = old && are_times_same(recurring, old);
    if (is_same && recurring->is_paused == old->is_paused) {
        definition->next_ms = STORE_RECURRING_KEEP;
        return;
    }
    recurring_recurrence(recurring, definition->call.id, zone, &recurrence);
    int64_t next_ms = recurrence_next_ms(&recurrence, definition->now_ms);
    bool has_next = next_ms != RECURRENCE_NEVER_MS;
    definition->next_ms = has_next && !recurring->is_paused ? next_ms : -1;
    if (!has_next && !is_same)
        schedule_refuse_times(recurring, &recurrence, definition->now_ms, errors);
}

enum status schedule_check(const struct app *app, struct slice id, const struct recurring *recurring,
                           const struct job *job, bool are_targets_checked, const struct time_zone **zone,
                           struct job_errors *errors)
{
    struct problem problem;
    char why[TARGET_WHY_SIZE];
    struct slice topic, schedule_id;
    slice_cut(id, '/', &topic, &schedule_id);
    enum status status = time_zones_find(app->zones, recurring->timezone, zone, &problem);
    if (status == STATUS_INVALID)
        job_errors_add(errors, "timezone", problem.text);
    else if (status != STATUS_OK)
        return status;
    if (job->group.size && !recurring->into.size && schedule_id.size > RECURRING_GROUP_ID_MAX)
        job_errors_add(errors, "job.group", "needs a scheduleId of at most 169 bytes");
    const char *member = are_targets_checked ? target_refused_member(app, job, why) : NULL;
    if (member)
        job_errors_add_named(errors, "job.", slice_of(member), why);
    return status;
}

static enum status check_definition(struct definition *definition, struct recurring *recurring,
                                    const struct job *job, const struct recurring *old,
                                    struct job_errors *errors)
{
    const struct time_zone *zone = NULL;
    enum status status = schedule_check(definition->app, definition->call.id, recurring, job,
                                        !definition->call.has_paused, &zone, errors);
    if (status != STATUS_OK && status != STATUS_INVALID)
        return status;
    recurring->created_ms = old ? old->created_ms : definition->now_ms;
    if (status == STATUS_OK)
        set_next(definition, recurring, zone, old, errors);
    if (errors->count > 0)
        return STATUS_INVALID;
    buffer_clear(&definition->new_record);
    definition->expect_by_ms = recurring->expect_by_ms;
    definition->jitter_ms = recurring->jitter_ms + recurring->delay_ms;
    recurring_write(recurring, job, &definition->new_record);
    if (definition->new_record.failed)
        return STATUS_NO_MEMORY;
    recurring_tag(buffer_slice(&definition->new_record), definition->new_tag);
    return STATUS_OK;
}

/* Reads the old definition, and pauses or resumes it. */
static enum status read_paused(struct definition *definition, struct slice topic, struct recurring *recurring,
                               struct job *job)
{
    enum status status = recurring_read(buffer_slice(&definition->old_record), recurring);
    if (status != STATUS_OK)
        return STATUS_UNREADABLE;
    status = recurring_read_job(recurring, topic, job);
    if (status != STATUS_OK) {
        recurring_fini(recurring);
        return STATUS_UNREADABLE;
    }
    recurring->is_paused = definition->call.is_paused;
    if (!job->lacks.size)
        return STATUS_OK;
    job_fini(job);
    recurring_fini(recurring);
    return STATUS_LACKING;
}

/* Parses the client's text. With a patch, text gets the new members. */
static enum status parse(struct definition *definition, struct buffer *text, struct recurring *recurring,
                         struct job *job, struct job_errors *errors)
{
    struct slice topic, schedule_id;
    slice_cut(definition->call.id, '/', &topic, &schedule_id);
    if (definition->call.has_paused)
        return read_paused(definition, topic, recurring, job);
    if (definition->call.is_patch)
        return recurring_patch(topic, buffer_slice(&definition->old_record), definition->call.text,
                               definition->now_ms, text, recurring, job, errors);
    enum status status =
        recurring_parse(topic, definition->call.text, definition->now_ms, recurring, job, errors);
    if (status == STATUS_OK && definition->call.job) {
        job_fini(job);
        *job = *definition->call.job;
        recurring->group = job->group;
    }
    if (status == STATUS_OK) {
        recurring->into = definition->call.into;
        recurring->delay_ms = definition->call.delay_ms;
    }
    return status;
}

static enum status make_definition(struct definition *definition, const struct recurring *old,
                                   struct job_errors *errors)
{
    struct buffer text;
    struct recurring recurring;
    struct job job;
    job_errors_clear(errors);
    buffer_init_fallible(&text, JOB_RECORD_MAX);
    enum status status = parse(definition, &text, &recurring, &job, errors);
    if (status == STATUS_OK) {
        definition->is_group_refused =
            job.group.size && !app_caller_reaches_group(definition->caller, job.group);
        status = definition->is_group_refused ? STATUS_FAILED
                                              : check_definition(definition, &recurring, &job, old, errors);
        if (definition->is_group_refused)
            buffer_append(&definition->refused_group, job.group);
        job_fini(&job);
        recurring_fini(&recurring);
    }
    buffer_fini(&text);
    return status;
}

/* Creates the new definition from the old one, and writes it. */
static void definition_make(struct definition *definition)
{
    struct recurring old;
    struct job_errors errors;
    bool has_old = false;
    enum status status = STATUS_OK;
    if (definition->was_there) {
        status = recurring_read(buffer_slice(&definition->old_record), &old);
        has_old = status == STATUS_OK;
        if (has_old && old.lacks.size)
            status = STATUS_LACKING;
        else if (status == STATUS_INVALID) /* a PUT replaces a definition that cannot be read */
            status = definition->call.is_patch ? STATUS_UNREADABLE : STATUS_OK;
    }
    if (status == STATUS_OK)
        status = make_definition(definition, has_old ? &old : NULL, &errors);
    if (has_old)
        recurring_fini(&old);
    if (definition->is_group_refused) {
        definition->fn(definition->arg,
                       &(struct app_verdict){.end = STATUS_NOT_REACHED,
                                             .group = buffer_slice(&definition->refused_group)});
        definition_free(definition);
    } else if (status == STATUS_INVALID) {
        definition->fn(definition->arg, &(struct app_verdict){.end = STATUS_INVALID, .errors = &errors});
        definition_free(definition);
    } else if (status != STATUS_OK) {
        definition_end(definition, status);
    } else {
        struct store_define call = {
            .id = definition->call.id,
            .tag = slice_of(definition->was_there ? definition->old_tag : ""),
            .record = buffer_slice(&definition->new_record),
            .next_ms = definition->next_ms,
            .expect_by_ms = definition->expect_by_ms,
            .jitter_ms = definition->jitter_ms,
        };
        store_define(definition->app->store, &call, on_defined, definition);
    }
}

/* ---- the old definition ---- */

static bool is_condition_met(const struct definition *definition)
{
    struct slice tags = definition->call.tags;
    if (definition->was_there)
        return tags.size == 0 || job_tags_match(tags, definition->old_tag);
    return tags.size == 0 || tags.data[0] == JOB_TAGS_EXCLUDED;
}

static void on_old(void *arg, enum status status, const struct store_recurring *schedules, size_t count,
                   struct recurring_cursor next)
{
    struct definition *definition = arg;
    (void)next;
    bool is_read = status == STATUS_OK || (status == STATUS_NOT_FOUND && !definition->call.is_patch);
    if (!is_read) {
        definition_end(definition, status == STATUS_UNKNOWN
                                       ? STATUS_UNAVAILABLE
                                       : status); /* only the read failed, so nothing has changed */
        return;
    }
    definition->was_there = status == STATUS_OK && count > 0;
    definition->now_ms = schedules[0].now_ms;
    if (definition->was_there) {
        buffer_clear(&definition->old_record);
        buffer_append(&definition->old_record, schedules->record);
        memset(definition->old_tag, 0, sizeof definition->old_tag);
        if (schedules->tag.size < sizeof definition->old_tag)
            memcpy(definition->old_tag, schedules->tag.data, schedules->tag.size);
        definition->old_next_ms = schedules->next_ms;
    }
    if (definition->old_record.failed)
        definition_end(definition, STATUS_NO_MEMORY);
    else if (!is_condition_met(definition))
        definition_end(definition, STATUS_STALE);
    else
        definition_make(definition);
}

static void read_old(struct definition *definition)
{
    struct store_recurrings list = {.id = definition->call.id, .max = 1};
    store_recurrings(definition->app->store, &list, on_old, definition);
}

void app_schedule_define(struct app *app, const struct app_caller *caller,
                         const struct app_schedule_call *call, app_schedule_fn *each, app_verdict_fn *fn,
                         void *arg)
{
    if ((!call->is_by_server && use_case_is_sibling(call->id, fn, arg)) ||
        use_case_is_unready(app, call->id, fn, arg))
        return;
    struct definition *definition = NEW(struct definition);
    *definition =
        (struct definition){.app = app, .caller = caller, .call = *call, .each = each, .fn = fn, .arg = arg};
    buffer_init_fallible(&definition->old_record, JOB_RECORD_MAX);
    buffer_init_fallible(&definition->new_record, JOB_RECORD_MAX);
    buffer_init(&definition->refused_group, GROUP_NAME_MAX);
    read_old(definition);
}
