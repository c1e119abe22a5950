#include "worker/firing.h"

#include "base/buffer.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/seal.h"
#include "base/system.h"
#include "io/time_zones.h"
#include "job/group.h"
#include "job/job_id.h"
#include "job/schedule/recurrence.h"
#include "job/schedule/recurring.h"
#include "store/clock.h"
#include "worker/sweep.h"

#define STEP_US     INT64_C(1000000) /* a larger difference between the clocks is a step */
#define EARLY_US    INT64_C(200)     /* the timer fires this long after the time of the next schedule */
#define PATIENCE_US (INT64_C(1000) * FIRING_PATIENCE_MS)
#define RETRY_US    INT64_C(1000000) /* wait after a step that could not fire anything */

enum {
    STEP_SCHEDULES = 256,
    STEP_OCCURRENCES = 100, /* maximum number of jobs that one schedule creates in one step */
    STEP_GROUP_BYTES =
        16 * 1024 *
        1024, /* maximum size of the jobs that one step sends to groups; the next step sends the others */
    STEP_SEALED_BYTES = 16 * 1024 * 1024, /* the same, for the sealed jobs of one schedule */
};

struct firing {
    struct store *store; /* the store from which groups are read */
    struct shard *shard;
    const struct delivery_forms *forms; /* delivery forms, for schedules that send to groups */
    struct metrics *metrics;
    struct time_zones *zones;
    struct timer *timer;
    struct pace *pace;
    bool is_owner, is_stopping;
    bool is_standing_in; /* this process is a standby that fires overdue schedules */
    int64_t last_due; /* for a standby: number of overdue schedules at the last count; -1: not counted yet */
    int64_t next_ms;  /* time at which the timer fires; -1: none */
    /* Time by Redis's clock in the last reply, and by this host's clock at that moment. */
    int64_t redis_us, boot_us;
    /* State of the current step. pending: number of the step's schedules that are being fired. */
    size_t pending;
    bool is_listed; /* firing has begun for all schedules of the step */
    bool has_progress;
    size_t group_bytes;
};

/* A schedule of the current step while its occurrences are being fired. */
struct shooting {
    struct firing *firing;
    size_t items;
    int64_t now_ms;
    struct buffer text; /* owned: id, tag, record */
    struct slice id, tag;
    struct store_recurring schedule; /* slices point into text; the member last.job is not used */
    struct recurring recurring;
    struct recurrence_progress progress; /* the schedule's progress after the calls sent so far */
    bool is_read;
    struct buffer
        record; /* owned: the record of each occurrence; empty until the first one, or if it is sealed */
    struct sending *sending; /* set if the job is sent to a group; else NULL */
    struct slice group_text; /* text of the group, while the occurrences are sent */
    size_t sealed_bytes;     /* bytes of the sealed jobs of the occurrences */
};

/* The jobs that each occurrence of the schedule creates for its group. These jobs are built once, and used
 * for all occurrences of the step. Sealed jobs are built for each occurrence, because they open only with its
 * id. */
struct sending {
    struct group_jobs made;
    char mark[FINGERPRINT_SIZE];
    struct store_send_job jobs[STORE_SEND_MAX]; /* jobs whose slices point into made */
};

struct occurrence {
    struct shooting *shooting;
    struct store_fire call;
    struct buffer job;       /* owned: id of the job, then the progress */
    struct buffer record;    /* owned: the sealed record */
    struct sending *sending; /* owned: the sealed jobs for a group */
};

/* ---- timer ---- */

/* Returns the time that Redis's clock shows now, unless it has stepped since the last call of firing_note. */
static int64_t expected_redis_us(const struct firing *firing)
{
    if (clock_is_manual())
        return clock_turned_us();
    return firing->redis_us + clock_boot_us() - firing->boot_us;
}

static void firing_arm(struct firing *firing, int64_t next_ms)
{
    firing->next_ms = next_ms;
    if (next_ms < 0 || firing->is_stopping) {
        timer_stop(firing->timer);
        return;
    }
    int64_t after_us = next_ms * 1000 - expected_redis_us(firing) + (clock_is_manual() ? 0 : EARLY_US);
    if (!firing->is_owner)
        after_us = after_us > 0 ? after_us + PATIENCE_US : PATIENCE_US;
    timer_start(firing->timer, after_us > 0 ? after_us : 0);
}

void firing_note(struct firing *firing, int64_t next_ms, int64_t redis_now_us, bool is_owner)
{
    int64_t step_us = redis_now_us - expected_redis_us(firing);
    bool is_changed =
        firing->is_owner != is_owner || step_us > STEP_US || step_us < -STEP_US || clock_is_manual();
    firing->redis_us = redis_now_us;
    firing->boot_us = clock_boot_us();
    firing->is_owner = is_owner;
    if (next_ms != firing->next_ms || is_changed)
        firing_arm(firing, next_ms);
}

static void on_wake(void *arg, int64_t next_ms)
{
    struct firing *firing = arg;
    if (firing->boot_us && (firing->next_ms < 0 || next_ms < firing->next_ms) &&
        !shard_is_newer(firing->shard))
        firing_arm(firing, next_ms);
}

static void on_time(void *arg)
{
    struct firing *firing = arg;
    if (!shard_is_newer(firing->shard)) /* else, the next call of firing_note starts the timer */
        pace_run(firing->pace);
}

/* ---- the end of a step ---- */

static void end_sweep(struct firing *firing, int64_t next_ms)
{
    firing->is_standing_in = false;
    firing->last_due = -1;
    pace_end(firing->pace);
    firing_arm(firing, next_ms);
}

/* Runs the next step after RETRY_US, for example because the pool is full. */
static void retry_later(struct firing *firing)
{
    pace_end(firing->pace);
    if (!firing->is_stopping)
        timer_start(firing->timer, RETRY_US);
}

static void end_step(struct firing *firing)
{
    if (!firing->is_listed || firing->pending > 0)
        return;
    if (firing->has_progress && !firing->is_stopping)
        pace_continue_due(firing->pace);
    else
        retry_later(firing);
}

/* ---- items ---- */

static void sending_free(struct sending *sending)
{
    if (sending)
        group_jobs_fini(&sending->made);
    free(sending);
}

static void occurrence_free(struct occurrence *occurrence)
{
    sending_free(occurrence->sending);
    buffer_fini(&occurrence->record);
    buffer_fini(&occurrence->job);
    free(occurrence);
}

static void shooting_release(struct shooting *shooting)
{
    struct firing *firing = shooting->firing;
    if (--shooting->items > 0)
        return;
    if (shooting->is_read)
        recurring_fini(&shooting->recurring);
    sending_free(shooting->sending);
    buffer_fini(&shooting->record);
    buffer_fini(&shooting->text);
    free(shooting);
    firing->pending--;
    end_step(firing);
}

static void count_fired(const struct occurrence *occurrence)
{
    const struct store_fire *call = &occurrence->call;
    struct metrics *metrics = occurrence->shooting->firing->metrics;
    struct slice topic, job_id;
    if (call->kind != FIRED_DONE)
        return;
    slice_cut(call->job, '/', &topic, &job_id);
    for (size_t i = 0; i == 0 || i < call->count; i++)
        metrics_accepted(metrics, topic);
    clock_note_fired(&(struct clock_fired){.at_ms = occurrence->shooting->now_ms,
                                           .job = call->job,
                                           .event = SLICE("scheduled"),
                                           .schedule = occurrence->shooting->id});
    metrics_count(metrics, METRICS_COUNTER_FIRED, 1);
    if (!call->is_missed)
        metrics_fire_lateness(metrics, (occurrence->shooting->now_ms - call->time_ms) * 1000);
}

static void report_outcome(const struct occurrence *occurrence, enum status status)
{
    const struct store_fire *call = &occurrence->call;
    struct metrics *metrics = occurrence->shooting->firing->metrics;
    bool is_over =
        status == STATUS_OK || status == STATUS_LEASED || status == STATUS_EXISTS || status == STATUS_NO_URL;
    if (status == STATUS_OK)
        count_fired(occurrence);
    if (status == STATUS_LEASED)
        metrics_count(metrics, METRICS_COUNTER_FIRES_OVERLAPPED, 1);
    if (status == STATUS_FULL || status == STATUS_QUOTA || (status == STATUS_OK && call->kind == FIRED_HELD))
        metrics_count(metrics, METRICS_COUNTER_FIRES_HELD, 1);
    if (status == STATUS_OK && (call->kind == FIRED_NO_GROUP || call->kind == FIRED_UNSENDABLE))
        metrics_count(metrics, METRICS_COUNTER_FIRES_REFUSED, 1);
    if (status == STATUS_EXISTS || status == STATUS_NO_URL) {
        metrics_count(metrics, METRICS_COUNTER_FIRES_REFUSED, 1);
        log_warning("schedule_refused", LOG_SLICE("schedule", call->id), LOG_SLICE("job", call->job),
                    LOG_TEXT("why", status == STATUS_EXISTS ? "another job has the id" : "no url"));
    }
    if (is_over && call->is_missed && call->kind != FIRED_HELD) {
        metrics_count(metrics, METRICS_COUNTER_FIRES_MISSED, 1);
        log_warning("schedule_missed", LOG_SLICE("schedule", call->id),
                    LOG_NUMBER("late_ms", occurrence->shooting->now_ms - call->expected_ms));
    }
}

/* Receives the result of firing one occurrence. STALE: another process has fired this occurrence, or the
 * schedule's definition has changed. */
static void on_fired(void *arg, enum status status, struct slice job, int64_t due_ms)
{
    struct occurrence *occurrence = arg;
    struct shooting *shooting = occurrence->shooting;
    (void)job, (void)due_ms;
    report_outcome(occurrence, status);
    if (status != STATUS_FULL && status != STATUS_UNAVAILABLE && status != STATUS_UNKNOWN)
        shooting->firing->has_progress = true;
    occurrence_free(occurrence);
    shooting_release(shooting);
}

/* Builds the jobs that the occurrence with this id creates for the group. */
static enum status make_jobs(const struct shooting *shooting, struct slice id, struct sending *sending)
{
    group_jobs_init(&sending->made);
    enum status status = recurring_send(&shooting->recurring, id, shooting->group_text,
                                        shooting->firing->forms, &sending->made, sending->mark);
    for (size_t i = 0; status == STATUS_OK && i < sending->made.count; i++) {
        sending->jobs[i].endpoint = group_jobs_endpoint(&sending->made, i);
        sending->jobs[i].record = group_jobs_record(&sending->made, i);
    }
    return status;
}

/* Adds the record of the occurrence. Returns false if the job cannot be made now. */
static bool add_record(struct occurrence *occurrence)
{
    struct shooting *shooting = occurrence->shooting;
    struct store_fire *call = &occurrence->call;
    bool is_sealed = seal_is_on();
    bool is_written = shooting->record.size && !is_sealed;
    struct buffer *text = is_sealed ? &occurrence->record : &shooting->record;
    call->record =
        is_written ? buffer_slice(text) : recurring_job_record(&shooting->recurring, call->job, text);
    shooting->sealed_bytes += occurrence->record.size;
    return call->record.size > 0;
}

/* Adds the job of an occurrence to the call, or several jobs if the occurrence is sent to a group. Returns
 * false if they cannot be made now. */
static bool add_jobs(struct occurrence *occurrence)
{
    struct shooting *shooting = occurrence->shooting;
    struct store_fire *call = &occurrence->call;
    const struct sending *sending = shooting->sending;
    if (!sending)
        return add_record(occurrence);
    if (seal_is_on()) {
        sending = occurrence->sending = NEW(struct sending);
        if (make_jobs(shooting, call->job, occurrence->sending) != STATUS_OK)
            return false;
        shooting->sealed_bytes += sending->made.text.size;
    }
    call->group = shooting->recurring.group;
    call->mark = slice_of(sending->mark);
    call->jobs = sending->jobs;
    call->count = sending->made.count;
    return true;
}

/* Sends one call of fire.lua. progress: the schedule's progress after this call. Returns false, and sends
 * nothing, if the jobs cannot be made now. */
static bool send_item(struct shooting *shooting, const struct store_fire *call,
                      const struct recurrence_progress *progress)
{
    struct occurrence *occurrence = NEW(struct occurrence);
    occurrence->shooting = shooting;
    occurrence->call = *call;
    occurrence->call.id = shooting->id;
    occurrence->call.tag = shooting->tag;
    buffer_init_fallible(&occurrence->record, JOB_RECORD_MAX);
    buffer_init(&occurrence->job, JOB_KEY_MAX + RECURRENCE_PROGRESS_SIZE);
    /* The buffer must not move later, because slices point into it. */
    buffer_reserve(&occurrence->job, JOB_KEY_MAX + RECURRENCE_PROGRESS_SIZE);
    if (call->kind == FIRED_DONE) {
        recurring_occurrence_id(recurring_base(&shooting->recurring, shooting->id), call->time_ms,
                                &occurrence->job);
        occurrence->call.job = buffer_slice(&occurrence->job);
        if (!add_jobs(occurrence)) {
            occurrence_free(occurrence);
            return false;
        }
    }
    if (recurrence_progress_differs(&shooting->progress, progress)) {
        size_t id_bytes = occurrence->job.size;
        recurrence_progress_write(progress, &occurrence->job);
        occurrence->call.progress = slice_skip(buffer_slice(&occurrence->job), id_bytes);
        shooting->progress = *progress;
    }
    shooting->items++;
    shard_fire(shooting->firing->shard, &occurrence->call, on_fired, occurrence);
    return true;
}

/* ---- schedules ---- */

/* Returns the time of the next occurrence, even while the schedule is held. */
static int64_t occurrence_ms(const struct store_recurring *schedule)
{
    return recurring_occurrence_ms(&schedule->last, schedule->next_ms);
}

/* Returns the first time that must be fired or skipped: the time of the held occurrence, or else the
 * schedule's next time. If the clock has stepped back, a held occurrence may be in the future; its time is
 * then not used. */
static int64_t expected_ms(const struct store_recurring *schedule)
{
    int64_t at_ms = occurrence_ms(schedule);
    return at_ms <= schedule->now_ms ? at_ms : schedule->next_ms;
}

/* Returns whether the next time of a schedule must be computed again, because the clock has stepped back. */
static bool is_ahead(const struct store_recurring *schedule)
{
    return schedule->next_ms < 0 || schedule->next_ms > schedule->now_ms;
}

/* Changes the schedule's next time, without creating a job. The new time is now if recurrence is NULL or
 * the time of a held occurrence has come, else the schedule's first later time for which no job was
 * created or refused (job/schedule/recurrence.h). */
static void firing_move(struct shooting *shooting, const struct recurrence *recurrence)
{
    const struct store_recurring *schedule = &shooting->schedule;
    struct recurrence_progress progress = shooting->progress;
    int64_t next_ms = schedule->now_ms;
    progress.back_ms = -1;
    bool has_come = recurring_waits(&schedule->last) && expected_ms(schedule) <= schedule->now_ms;
    if (recurrence && !has_come) {
        next_ms = recurrence_progress_next_ms(&progress, recurrence, schedule->now_ms);
        recurrence_progress_set_back(&progress, recurrence, next_ms);
    }
    struct store_fire call = {.kind = FIRED_MOVED,
                              .expected_ms = schedule->next_ms,
                              .next_ms = next_ms == RECURRENCE_NEVER_MS ? -1 : next_ms};
    (void)send_item(shooting, &call, &progress); /* no job */
}

/* Holds a schedule that cannot be fired now. Processes try to fire the schedule again after
 * FIRING_HOLD_MS. */
static void firing_hold(struct shooting *shooting, const char *event, const char *why)
{
    const struct store_recurring *schedule = &shooting->schedule;
    if (is_ahead(schedule)) {
        firing_move(shooting, NULL); /* the next step holds the schedule */
        return;
    }
    struct store_fire call = {.kind = FIRED_HELD,
                              .expected_ms = schedule->next_ms,
                              .next_ms = schedule->now_ms + FIRING_HOLD_MS,
                              .time_ms = expected_ms(schedule)};
    struct recurrence_progress progress = shooting->progress;
    log_error(event, LOG_SLICE("schedule", schedule->id), LOG_TEXT("why", why));
    progress.back_ms = schedule->now_ms; /* so that the next try is not postponed if the clock steps back */
    (void)send_item(shooting, &call, &progress); /* no job */
}

/* Fires the occurrences that recurrence_decide chooses, at most STEP_OCCURRENCES of them. kind is DONE, or
 * says why no jobs are created. */
static void fire_decided(struct shooting *shooting, const struct recurrence *recurrence, enum fired kind)
{
    const struct store_recurring *schedule = &shooting->schedule;
    struct recurrence_decision decision;
    struct recurrence_progress progress = shooting->progress;
    recurrence_decide(recurrence, &progress, expected_ms(schedule), schedule->now_ms, &decision);
    int64_t end_ms = decision.next_ms == RECURRENCE_NEVER_MS ? -1 : decision.next_ms;
    struct store_fire call = {
        .kind = decision.count ? kind : FIRED_SKIPPED,
        .expected_ms = schedule->next_ms,
        .next_ms = end_ms,
        .time_ms = expected_ms(schedule),
        .is_missed = decision.is_missed,
        .is_exclusive = recurring_overlap(&shooting->recurring) == OVERLAP_SKIP,
    };
    if (decision.count == 0) {
        recurrence_progress_skip(&progress, recurrence, schedule->now_ms);
        recurrence_progress_set_back(&progress, recurrence, decision.next_ms);
        (void)send_item(shooting, &call, &progress); /* no job */
    }
    for (size_t i = 0;
         i < decision.count && i < STEP_OCCURRENCES && shooting->sealed_bytes < STEP_SEALED_BYTES; i++) {
        call.time_ms = decision.times_ms[i];
        call.due_ms =
            call.time_ms + shooting->recurring.delay_ms + recurrence_jitter_ms(recurrence, call.time_ms);
        call.next_ms = i + 1 < decision.count ? decision.times_ms[i + 1] : end_ms;
        recurrence_progress_take(&progress, recurrence, call.time_ms);
        recurrence_progress_set_back(&progress, recurrence,
                                     i + 1 < decision.count ? call.next_ms : decision.next_ms);
        if (!send_item(shooting, &call, &progress)) {
            if (i == 0)
                firing_hold(shooting, "schedule_unserved",
                            "the job needs an encryption key, is damaged, or there is no memory for it");
            return;
        }
        call.expected_ms = call.next_ms;
    }
}

static void fire_times(struct shooting *shooting, enum fired kind)
{
    const struct store_recurring *schedule = &shooting->schedule;
    const struct time_zone *zone;
    struct recurrence recurrence;
    struct problem problem;
    if (time_zones_find(shooting->firing->zones, shooting->recurring.timezone, &zone, &problem) !=
        STATUS_OK) {
        firing_hold(shooting, "schedule_zone_unknown", problem.text);
        return;
    }
    recurring_recurrence(&shooting->recurring, shooting->id, zone, &recurrence);
    if (is_ahead(schedule)) {
        firing_move(shooting, &recurrence);
        return;
    }
    if ((schedule->last.outcome == FIRED_FULL || schedule->last.outcome == FIRED_QUOTA) &&
        schedule->last.time_ms == expected_ms(schedule))
        /* No time counts as missed: the schedule is late only because the pool or the topic was full. */
        recurrence.misfire = MISFIRE_ALL;
    fire_decided(shooting, &recurrence, kind);
}

/* ---- groups ---- */

/* Skips the times that have come, without creating jobs, and logs why. */
static void refuse_times(struct shooting *shooting, enum fired kind, const char *field, const char *why)
{
    log_warning("schedule_refused", LOG_SLICE("schedule", shooting->id),
                LOG_SLICE("group", shooting->recurring.group), LOG_TEXT("field", field),
                LOG_TEXT("why", why));
    fire_times(shooting, kind);
}

/* Builds the jobs of the first occurrence. text is the stored text of the group; a group whose name is that
 * of a sibling topic (orders~callbacks) is stored as the settings of this topic. */
static enum status make_first_jobs(struct shooting *shooting, struct slice text)
{
    struct buffer id;
    shooting->sending = NEW(struct sending);
    shooting->group_text = text;
    buffer_init(&id, JOB_KEY_MAX);
    recurring_occurrence_id(recurring_base(&shooting->recurring, shooting->id),
                            expected_ms(&shooting->schedule), &id);
    enum status status = make_jobs(shooting, buffer_slice(&id), shooting->sending);
    buffer_fini(&id);
    shooting->firing->group_bytes += shooting->sending->made.text.size;
    return status;
}

static void fire_group(struct shooting *shooting, struct slice text)
{
    enum status status = make_first_jobs(shooting, text);
    if (status == STATUS_OK)
        fire_times(shooting, FIRED_DONE);
    else if (status == STATUS_INVALID)
        refuse_times(shooting, FIRED_UNSENDABLE, shooting->sending->made.field,
                     shooting->sending->made.detail);
    else if (status == STATUS_FULL)
        refuse_times(shooting, FIRED_UNSENDABLE, "group",
                     "has endpoints whose jobs together are over 4194304 bytes");
    else
        firing_hold(shooting, "schedule_group_unreadable",
                    status == STATUS_NO_MEMORY
                        ? "there is no memory for the jobs"
                        : "the group cannot be read, or needs a later version or an encryption key");
}

static void on_group(void *arg, enum status status, const struct topic *found, size_t count,
                     struct topic_cursor next)
{
    struct shooting *shooting = arg;
    struct firing *firing = shooting->firing;
    (void)next;
    if (firing->is_stopping || firing->group_bytes > STEP_GROUP_BYTES) /* the next step fires this schedule */
        ;
    else if (status != STATUS_OK)
        firing_hold(shooting, "schedule_group_unavailable", "the shard of the group does not answer");
    else if (count == 0 || found->settings.size == 0)
        refuse_times(shooting, FIRED_NO_GROUP, "group", "there is no such group");
    else
        fire_group(shooting, found->settings);
    shooting_release(shooting);
}

/* ---- a schedule whose time has come ---- */

static void decide(struct shooting *shooting)
{
    struct recurring *recurring = &shooting->recurring;
    enum status status = recurring_read(shooting->schedule.record, recurring);
    shooting->is_read = status == STATUS_OK;
    if (status != STATUS_OK || recurring_base(recurring, shooting->id).size == 0) {
        firing_hold(shooting, "schedule_unreadable", "the definition cannot be read");
    } else if (recurring->lacks.size) {
        firing_hold(shooting, "schedule_unserved",
                    "the definition needs a later version or an encryption key");
    } else if (recurring->group.size == 0 || is_ahead(&shooting->schedule)) {
        fire_times(shooting, FIRED_DONE);
    } else {
        struct store_topics topics = {
            .topic = recurring->group, .max = 1, .are_groups = !topic_is_sibling(recurring->group)};
        shooting->items++;
        store_topics(shooting->firing->store, &topics, on_group, shooting);
    }
}

static void shoot(struct firing *firing, const struct store_recurring *schedule)
{
    struct shooting *shooting = NEW(struct shooting);
    struct slice tag = schedule->tag.size ? schedule->tag : SLICE("-"); /* matches no definition */
    size_t bytes = schedule->id.size + tag.size + schedule->record.size;
    recurrence_progress_read(schedule->progress, occurrence_ms(schedule), &shooting->progress);
    shooting->firing = firing;
    shooting->items = 1;
    shooting->now_ms = schedule->now_ms;
    shooting->schedule = *schedule;
    firing->pending++;
    buffer_init_fallible(&shooting->text, bytes);
    buffer_init_fallible(&shooting->record, JOB_RECORD_MAX);
    buffer_append(&shooting->text, schedule->id);
    buffer_append(&shooting->text, tag);
    buffer_append(&shooting->text, schedule->record);
    if (!shooting->text.failed) {
        shooting->id = slice_from(shooting->text.data, schedule->id.size);
        shooting->tag = slice_from(shooting->text.data + schedule->id.size, tag.size);
        shooting->schedule.id = shooting->id;
        shooting->schedule.record = slice_skip(buffer_slice(&shooting->text), schedule->id.size + tag.size);
        decide(shooting);
    }
    shooting_release(shooting);
}

/* ---- steps ---- */

/* Used by a standby: notes the number of overdue schedules. If the number has not fallen since the last
 * count, the owner is not firing, and the standby fires. */
static void look(struct firing *firing, const struct shard_fires *fires)
{
    if (fires->due == 0) {
        end_sweep(firing, fires->later_ms);
        return;
    }
    firing->is_standing_in = firing->last_due >= 0 && fires->due >= firing->last_due;
    firing->last_due = fires->due;
    if (firing->is_standing_in) {
        pace_continue_due(firing->pace);
        return;
    }
    pace_end(firing->pace);
    timer_start(firing->timer, PATIENCE_US);
}

static void on_fires(void *arg, enum status status, const struct shard_fires *fires)
{
    struct firing *firing = arg;
    if (firing->is_stopping) {
        pace_end(firing->pace);
        return;
    }
    if (status != STATUS_OK) {
        retry_later(firing);
        return;
    }
    if (!firing->is_owner && !firing->is_standing_in) {
        look(firing, fires);
        return;
    }
    if (fires->count == 0) {
        end_sweep(firing, fires->later_ms);
        return;
    }
    firing->has_progress = false;
    firing->is_listed = false;
    firing->group_bytes = 0;
    for (size_t i = 0; i < fires->count; i++)
        shoot(firing, &fires->schedules[i]);
    firing->is_listed = true;
    end_step(firing);
}

static void firing_step(void *arg)
{
    struct firing *firing = arg;
    bool fires = firing->is_owner || firing->is_standing_in;
    shard_fires(firing->shard, fires ? STEP_SCHEDULES : 0, on_fires, firing);
}

struct firing *firing_new(struct loop *loop, struct store *store, struct shard *shard,
                          const struct delivery_forms *forms, struct metrics *metrics)
{
    struct firing *firing = NEW(struct firing);
    firing->store = store;
    firing->shard = shard;
    firing->forms = forms;
    firing->metrics = metrics;
    firing->zones = time_zones_new(TIME_ZONES_FOLDER);
    firing->next_ms = firing->last_due = -1;
    firing->timer = timer_new(loop, on_time, firing);
    firing->pace = pace_new(loop, firing_step, firing);
    shard_on_fire_wake(shard, on_wake, firing);
    return firing;
}

void firing_stop(struct firing *firing)
{
    firing->is_stopping = true;
    timer_stop(firing->timer);
}

void firing_free(struct firing *firing)
{
    if (!firing)
        return;
    timer_free(firing->timer);
    pace_free(firing->pace);
    time_zones_free(firing->zones);
    free(firing);
}
