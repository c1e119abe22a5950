#include "app/schedules.h"

#include "app/app_private.h"
#include "base/encoding.h"
#include "base/memory.h"
#include "io/time_zones.h"
#include "job/job_id.h"
#include "job/schedule/recurrence.h"
#include "job/schedule/windows.h"
#include "job/text/json.h"

/* ---- a schedule as clients see it ---- */

/* Finds the next times. If a time has come, but the schedule has not created its job yet, this time is the
 * first one. */
static void find_times(struct app_schedule *schedule, const struct app *app,
                       const struct recurring *recurring, const struct store_recurring *stored)
{
    const struct time_zone *zone;
    struct recurrence recurrence;
    struct problem problem;
    int64_t at_ms = recurring_occurrence_ms(&stored->last, stored->next_ms);
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
    *schedule = (struct app_schedule){
        .id = stored->id,
        .tag = stored->tag,
        .last = stored->last,
        .missed_ms = stored->missed_ms,
        .delivered_ms = stored->delivered_ms,
        .is_missed = stored->missed_ms >= 0 && stored->missed_ms <= stored->now_ms,
    };
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

/* ---- one schedule ---- */

/* A use case for one schedule. */
struct schedule_call {
    struct app *app;
    const struct app_caller *caller;
    struct slice id, tags;
    app_schedule_fn *each;
    app_verdict_fn *fn;
    void *arg;
    struct buffer record, last_job, group; /* group: the group to which the job is sent; empty: none */
    struct store_recurring stored;         /* slices point into record and last_job */
    char tag[RECURRING_TAG_SIZE];
};

static struct schedule_call *call_new(struct app *app, const struct app_caller *caller, struct slice id,
                                      app_verdict_fn *fn, void *arg)
{
    struct schedule_call *call = NEW(struct schedule_call);
    *call = (struct schedule_call){.app = app, .caller = caller, .id = id, .fn = fn, .arg = arg};
    buffer_init_fallible(&call->record, JOB_RECORD_MAX);
    buffer_init(&call->last_job, JOB_KEY_MAX);
    buffer_init(&call->group, GROUP_NAME_MAX);
    return call;
}

static void call_end(struct schedule_call *call, enum status status)
{
    use_case_end(call->app, call->id, status, NULL, call->fn, call->arg);
    buffer_fini(&call->record);
    buffer_fini(&call->last_job);
    buffer_fini(&call->group);
    free(call);
}

/* Copies a stored schedule. Returns false if there is no memory. */
static bool call_take(struct schedule_call *call, const struct store_recurring *stored)
{
    call->stored = *stored;
    buffer_append(&call->record, stored->record);
    if (stored->last.job.size <= JOB_KEY_MAX)
        buffer_append(&call->last_job, stored->last.job);
    if (stored->tag.size < sizeof call->tag)
        memcpy(call->tag, stored->tag.data, stored->tag.size);
    call->stored.id = call->id;
    call->stored.record = buffer_slice(&call->record);
    call->stored.tag = slice_of(call->tag);
    call->stored.last.job = buffer_slice(&call->last_job);
    return !call->record.failed;
}

static void read_schedule(struct schedule_call *call, store_recurrings_fn *fn)
{
    struct store_recurrings list = {.id = call->id, .max = 1};
    store_recurrings(call->app->store, &list, fn, call);
}

/* ---- read ---- */

/* Passes the schedule to the caller. last_job is the last job that the schedule created, in its current
 * state. If the last occurrence was sent to a group, sent has its jobs instead. */
static void schedule_show(struct schedule_call *call, const struct stored_job *last_job,
                          const struct store_sent *sent)
{
    struct schedule_view view;
    if (schedule_view_init(&view, call->app, &call->stored) != STATUS_OK) {
        call_end(call, STATUS_NO_MEMORY);
        return;
    }
    if (last_job)
        view.schedule.last_job = *last_job;
    if (sent) {
        view.schedule.sent = sent->jobs;
        view.schedule.sent_count = sent->count;
    }
    call->each(call->arg, &view.schedule);
    schedule_view_fini(&view);
    call_end(call, STATUS_OK);
}

static void on_last_job(void *arg, enum status status, const struct stored_job *job)
{
    struct schedule_call *call = arg;
    if (status == STATUS_OK || status == STATUS_NOT_FOUND)
        schedule_show(call, status == STATUS_OK ? job : NULL, NULL);
    else
        call_end(call, status);
}

static void on_last_sent(void *arg, enum status status, const struct store_sent *sent)
{
    struct schedule_call *call = arg;
    if (status == STATUS_OK || status == STATUS_NOT_FOUND)
        schedule_show(call, NULL, status == STATUS_OK ? sent : NULL);
    else
        call_end(call, status);
}

/* Copies the name of the group from the schedule's definition to call->group. */
static void take_group(struct schedule_call *call)
{
    struct recurring recurring;
    if (recurring_read(call->stored.record, &recurring) != STATUS_OK)
        return;
    buffer_append(&call->group, recurring.group);
    recurring_fini(&recurring);
}

static void on_read(void *arg, enum status status, const struct store_recurring *schedules, size_t count,
                    struct recurring_cursor next)
{
    struct schedule_call *call = arg;
    (void)count, (void)next;
    if (status == STATUS_OK && !call_take(call, schedules))
        status = STATUS_NO_MEMORY;
    if (status != STATUS_OK) {
        call_end(call, status);
        return;
    }
    take_group(call);
    if (call->stored.last.job.size == 0)
        schedule_show(call, NULL, NULL);
    else if (call->group.size)
        store_read_sent(call->app->store, call->stored.last.job, buffer_slice(&call->group), on_last_sent,
                        call);
    else
        store_read_kept(call->app->store, call->stored.last.job, on_last_job, call);
}

void app_schedule_read(struct app *app, struct slice id, app_schedule_fn *each, app_verdict_fn *fn, void *arg)
{
    struct schedule_call *call = call_new(app, NULL, id, fn, arg);
    call->each = each;
    read_schedule(call, on_read);
}

/* ---- delete ---- */

static void on_deleted(void *arg, enum status status)
{
    struct schedule_call *call = arg;
    audit_change(call->caller, "schedule_deleted", "schedule", call->id, status, audit_show_schedule,
                 buffer_slice(&call->record), SLICE(""));
    call_end(call, status);
}

static void on_read_for_delete(void *arg, enum status status, const struct store_recurring *schedules,
                               size_t count, struct recurring_cursor next)
{
    struct schedule_call *call = arg;
    (void)count, (void)next;
    if (status == STATUS_OK && !call_take(call, schedules))
        status = STATUS_NO_MEMORY;
    if (status == STATUS_OK && call->tags.size && !job_tags_match(call->tags, call->tag))
        status = STATUS_STALE;
    if (status == STATUS_OK)
        store_undefine(call->app->store, call->id, call->tags.size ? slice_of(call->tag) : SLICE(""),
                       on_deleted, call);
    else
        call_end(call, status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE : status); /* only a read failed */
}

void app_schedule_delete(struct app *app, const struct app_caller *caller, struct slice id, struct slice tags,
                         app_verdict_fn *fn, void *arg)
{
    if (use_case_is_unready(app, id, fn, arg))
        return;
    struct schedule_call *call = call_new(app, caller, id, fn, arg);
    call->tags = tags;
    if (tags.size || audit_is_kept(caller)) /* the audit log has the definition that was deleted */
        read_schedule(call, on_read_for_delete);
    else
        store_undefine(app->store, id, (struct slice){NULL, 0}, on_deleted, call);
}

/* ---- list ---- */

enum { LOOKS_MAX = 1000 /* maximum number of schedules that a page with filters examines */ };

struct list_call {
    struct app *app;
    struct app_schedule_list list;
    struct app_walk walk;
    size_t found, looks;
    enum status status;
    app_schedule_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

bool app_schedule_cursor_parse(const struct app *app, struct slice text, struct recurring_cursor *cursor)
{
    struct buffer room = buffer_of(cursor->room, sizeof cursor->room);
    struct slice topic, schedule_id;
    return cursor_parse_place(text, store_shards(app->store), &room, &cursor->shard, &cursor->id) &&
           (cursor->id.size == 0 || job_key_parse(cursor->id, &topic, &schedule_id));
}

static bool has_filters(const struct app_schedule_list *list)
{
    return list->has_paused || list->after_ms || list->before_ms || (list->labels && list->labels->count) ||
           list->has_key;
}

static bool has_labels(const struct job *job, const struct job_labels *labels)
{
    for (size_t i = 0; labels && i < labels->count; i++)
        if (!job_labels_have(&job->labels, labels->items[i]))
            return false;
    return true;
}

static bool schedule_matches(const struct app_schedule_list *list, const struct app_schedule *schedule)
{
    int64_t next_ms = schedule->time_count > 0 ? schedule->times_ms[0] : 0;
    if (!has_filters(list))
        return true;
    if (!schedule->recurring || (list->has_paused && schedule->recurring->is_paused != list->is_paused))
        return false;
    if ((list->after_ms || list->before_ms) &&
        (next_ms == 0 || next_ms < list->after_ms || (list->before_ms && next_ms >= list->before_ms)))
        return false;
    if (list->has_key && !slice_equal(schedule->job->key, list->key))
        return false;
    return has_labels(schedule->job, list->labels);
}

/* Passes schedules to the caller until the page is full. If there are more schedules, sets next to the last
 * schedule that was examined. */
static enum status pass_on(struct list_call *call, const struct store_recurring *schedules, size_t count,
                           struct recurring_cursor *next)
{
    for (size_t i = 0; i < count; i++) {
        struct schedule_view view;
        enum status status = schedule_view_init(&view, call->app, &schedules[i]);
        if (status != STATUS_OK)
            return status;
        bool is_match = schedule_matches(&call->list, &view.schedule);
        if (is_match)
            call->each(call->arg, &view.schedule);
        schedule_view_fini(&view);
        call->looks++;
        call->found += is_match;
        if (call->found == call->list.max && i + 1 < count) {
            *next = (struct recurring_cursor){.shard = schedules[i].shard, .id = schedules[i].id};
            break;
        }
    }
    return STATUS_OK;
}

static void on_page(void *arg, enum status status, const struct store_recurring *schedules, size_t count,
                    struct recurring_cursor next)
{
    struct list_call *call = arg;
    call->status = status == STATUS_OK ? pass_on(call, schedules, count, &next) : status;
    app_walk_keep(&call->walk, next.shard, next.id);
    app_walk_on(&call->walk, call->status == STATUS_OK && has_filters(&call->list) &&
                                 call->found < call->list.max && call->looks < LOOKS_MAX);
}

static void list_read(void *arg)
{
    struct list_call *call = arg;
    struct store_recurrings list = {.topic = call->list.topic,
                                    .prefix = call->list.prefix,
                                    .max = has_filters(&call->list) ? LOOKS_MAX : call->list.max,
                                    .from = {.shard = call->walk.shard, .id = call->walk.place}};
    store_recurrings(call->app->store, &list, on_page, call);
}

static void list_end(void *arg)
{
    struct list_call *call = arg;
    struct buffer cursor;
    buffer_init(&cursor, APP_CURSOR_MAX);
    if (call->status == STATUS_OK) {
        cursor_write_place(&cursor, call->walk.shard, call->walk.place);
        call->fn(call->arg,
                 &(struct app_verdict){.end = STATUS_OK, .page = {.cursor = buffer_slice(&cursor)}});
    } else {
        use_case_end(call->app, SLICE(""), call->status, NULL, call->fn, call->arg);
    }
    buffer_fini(&cursor);
    free(call);
}

void app_schedules(struct app *app, const struct app_schedule_list *list, app_schedule_fn *each,
                   app_verdict_fn *fn, void *arg)
{
    struct list_call *call = NEW(struct list_call);
    *call = (struct list_call){.app = app, .list = *list, .each = each, .fn = fn, .arg = arg};
    call->walk = (struct app_walk){.page = list_read, .end = list_end, .arg = call};
    app_walk_keep(&call->walk, list->from->shard, list->from->id);
    app_walk_begin(&call->walk);
}

/* ---- the times of a schedule before it is defined ---- */

void schedule_write_words(int64_t every_ms, const struct cron *cron, struct buffer *words)
{
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"day", 86400000}, {"hour", 3600000}, {"minute", 60000}, {"second", 1000}, {"ms", 1}};
    if (every_ms) {
        size_t i = 0;
        while (every_ms % units[i].ms)
            i++;
        int64_t count = every_ms / units[i].ms;
        if (count == 1)
            buffer_printf(words, "every %s", units[i].name);
        else
            buffer_printf(words, "every %lld %s%s", (long long)count, units[i].name,
                          units[i].ms > 1 ? "s" : "");
    } else {
        cron_write_words(cron, words);
    }
    buffer_text(words);
}

static bool read_recurrence(struct app *app, const struct app_cron_call *call, struct recurrence *recurrence,
                            struct job_errors *errors)
{
    static const struct json_limits limits = {.depth = 4, .members = 8};
    struct problem problem;
    struct json_fault fault;
    *recurrence = (struct recurrence){
        .every_ms = call->every_ms,
        .base_ms = call->from_ms,
        .first_ms = call->from_ms + 1,
        .last_ms = RECURRENCE_NEVER_MS,
    };
    job_errors_clear(errors);
    if (!call->every_ms && cron_parse(call->expression, &recurrence->cron, &problem) != STATUS_OK)
        job_errors_add(errors, "expression", problem.text);
    if (time_zone_name_is_of_host(call->timezone))
        job_errors_add(errors, "timezone", TIME_ZONE_NAME_EXPECTED);
    else if (time_zones_find(app->zones, call->timezone, &recurrence->zone, &problem) != STATUS_OK)
        job_errors_add(errors, "timezone", problem.text);
    if (call->has_windows && json_check(call->windows, &limits, &fault) != STATUS_OK)
        job_errors_add(errors, "windows", fault.detail);
    else if (call->has_windows &&
             windows_parse_local(call->windows, &recurrence->windows, &problem) != STATUS_OK)
        job_errors_add(errors, "windows", problem.text);
    return errors->count == 0;
}

bool app_cron_preview(struct app *app, const struct app_cron_call *call, struct app_cron_preview *preview,
                      struct job_errors *errors)
{
    struct recurrence recurrence;
    struct buffer words = buffer_of(preview->words, sizeof preview->words);
    if (!read_recurrence(app, call, &recurrence, errors))
        return false;
    schedule_write_words(call->every_ms, &recurrence.cron, &words);
    preview->time_count = 0;
    for (int64_t at_ms = call->from_ms; preview->time_count < APP_CRON_TIMES;) {
        at_ms = recurrence_next_ms(&recurrence, at_ms);
        if (at_ms == RECURRENCE_NEVER_MS)
            break;
        preview->times_ms[preview->time_count++] = at_ms;
    }
    return true;
}
