#include "worker/recovery.h"

#include "base/buffer.h"
#include "base/log.h"
#include "base/memory.h"
#include "job/delivery/callback_job.h"
#include "job/job_id.h"
#include "store/clock.h"
#include "store/workflow.h"

/* ---- steps ---- */

static void lease_sweep_stop(struct lease_sweep *sweep)
{
    pace_end(sweep->pace);
    if (sweep->event && sweep->jobs > 0)
        log_warning(sweep->event, LOG_NUMBER("shard", shard_number(sweep->shard)),
                    LOG_NUMBER("jobs", sweep->jobs));
    sweep->jobs = 0;
}

static void lease_sweep_end_step(struct lease_sweep *sweep)
{
    if (!sweep->is_listed || sweep->items > 0)
        return;
    sweep->is_listed = false;
    if (sweep->is_full && sweep->handled > 0)
        pace_continue(sweep->pace, sweep->late_ms);
    else
        lease_sweep_stop(sweep);
}

static void lease_sweep_step(void *arg)
{
    struct lease_sweep *sweep = arg;
    int64_t now_ms;
    sweep->handled = 0;
    if (sweep->may_run(sweep->may_arg, &now_ms))
        sweep->list(sweep->arg, now_ms);
    else
        lease_sweep_stop(sweep);
}

void lease_sweep_init(struct lease_sweep *sweep, struct loop *loop)
{
    sweep->pace = pace_new(loop, lease_sweep_step, sweep);
    sweep->jobs = sweep->items = sweep->handled = 0;
    sweep->is_listed = sweep->is_full = false;
}

void lease_sweep_fini(struct lease_sweep *sweep)
{
    pace_free(sweep->pace);
}

void lease_sweep_run(struct lease_sweep *sweep)
{
    pace_run(sweep->pace);
}

void lease_sweep_listed(struct lease_sweep *sweep, bool is_full, size_t handled)
{
    sweep->is_listed = true;
    sweep->is_full = is_full;
    sweep->handled += handled;
    lease_sweep_end_step(sweep);
}

void lease_sweep_begin_item(struct lease_sweep *sweep)
{
    sweep->items++;
}

void lease_sweep_end_item(struct lease_sweep *sweep, bool is_handled)
{
    sweep->items--;
    sweep->handled += is_handled;
    lease_sweep_end_step(sweep);
}

#define EXPIRY_US INT64_C(250000)

enum { EXPIRY_LOOKS = 4 };

/* An item of each sweep (recovery.h) is the end of one lease or one expired job. */
struct recovery {
    const struct delivery_forms *forms;
    const struct retry_schedule *schedule;
    struct metrics *metrics;
    struct lease_sweep consumers, workers; /* leases that have run out */
    struct lease_sweep expiries;           /* jobs that have expired */
    struct timer *expiry;
    int looks_left;
};

/* ---- leases of consumers ---- */

/* The burial of a job: the job becomes dead, because it has lost too many consumers (recovery.h). */
struct burial {
    struct recovery *recovery;
    struct lease lease;
    struct buffer id, record, settings;
    struct buffer elements; /* elements of the job's workflow, see shard_arrive */
    int64_t now_ms;
    struct callback_jobs callbacks;
    struct shard_follow_up follow_ups[CALLBACK_JOBS_MAX];
};

/* ---- burying ---- */

/* Receives the result of a burial. STATUS_STALE: in the meantime, the job's outcome was recorded, or the job
 * was changed, or another process recovers the job. After any other failure the lease expires, and a later
 * step lists the job again. */
static void on_buried(void *arg, enum status status)
{
    struct burial *burial = arg;
    struct recovery *recovery = burial->recovery;
    if (status == STATUS_OK) {
        struct slice topic, job_id, id = burial->lease.id;
        /* The attempts and the receiver are in the job's record in Redis. */
        log_warning("job_dead", LOG_SLICE("job", id), LOG_TEXT("reason", "consumer_lost"));
        if (job_key_parse(id, &topic, &job_id))
            metrics_ended(recovery->metrics, topic, METRICS_END_DEAD);
        metrics_count(recovery->metrics, METRICS_COUNTER_CALLBACKS, burial->callbacks.count);
    }
    buffer_fini(&burial->id);
    buffer_fini(&burial->record);
    buffer_fini(&burial->settings);
    buffer_fini(&burial->elements);
    callback_jobs_fini(&burial->callbacks);
    free(burial);
    lease_sweep_end_item(&recovery->consumers, true);
}

/* Writes the callbacks of the death. job is NULL if the record is unreadable. */
static bool report_death(struct burial *burial, const struct topic_settings *settings, const struct job *job)
{
    const char *nonce = burial->lease.nonce.text;
    struct callback_report report = {
        .id = burial->lease.id,
        .nonce = slice_of(nonce + (nonce[0] == '!')),
        .outcome = CALLBACK_DEAD,
        .reason = SLICE("consumer_lost"),
        .job = job,
        .attempts = job ? job->attempts : 0,
        .previous = job && job->last_attempt.at_ms ? &job->last_attempt : NULL,
        .ended_ms = burial->now_ms,
        .form = job ? delivery_form_find(burial->recovery->forms, job->form) : NULL,
        .elements = buffer_slice(&burial->elements),
    };
    bool is_whole = callback_jobs_write(&burial->callbacks, settings, &report);
    for (size_t i = 0; i < burial->callbacks.count; i++)
        burial->follow_ups[i] =
            (struct shard_follow_up){.id = buffer_slice(&burial->callbacks.items[i].id),
                                     .delay_ms = burial->callbacks.items[i].delay_ms,
                                     .record = buffer_slice(&burial->callbacks.items[i].record)};
    return is_whole;
}

/* Writes the callbacks of the job and of its topic. Settings or a record that cannot be read have no
 * callbacks; the job is buried nevertheless. Returns false if memory is short, or if the settings or the
 * record need a later version. */
static bool write_callbacks(struct burial *burial, const struct job *job)
{
    struct topic_settings settings;
    enum status status = topic_settings_read(buffer_slice(&burial->settings), &settings);
    if (status == STATUS_NO_MEMORY)
        return false;
    bool has_settings = status == STATUS_OK;
    bool is_known = !(has_settings && settings.lacks.size) &&
                    !(job && (job->lacks.size || !delivery_form_find(burial->recovery->forms, job->form)));
    bool is_written = is_known && report_death(burial, has_settings ? &settings : NULL, job);
    if (has_settings)
        topic_settings_fini(&settings);
    return is_written;
}

static void bury(struct burial *burial)
{
    struct job job;
    bool has_job = job_read(burial->lease.id, buffer_slice(&burial->record), &job) == STATUS_OK;
    bool is_written = write_callbacks(burial, has_job ? &job : NULL);
    if (has_job)
        job_fini(&job);
    if (!is_written) {
        on_buried(burial, STATUS_NO_MEMORY);
        return;
    }
    struct shard_end what = {.record = buffer_slice(&burial->record),
                             .follow = {burial->follow_ups, burial->callbacks.count}};
    shard_bury(burial->recovery->consumers.shard, &burial->lease, &what, on_buried, burial);
}

/* Receives the workflow's first element, and buries the job. If the workflow has ended, the callbacks are
 * written without the element. */
static void burial_on_arrived(void *arg, enum status status, const struct workflow_input *input)
{
    struct burial *burial = arg;
    if (status == STATUS_OK)
        buffer_append(&burial->elements, input->elements);
    if (status == STATUS_OK && !burial->elements.failed)
        bury(burial);
    else
        on_buried(burial, status == STATUS_OK ? STATUS_NO_MEMORY : status);
}

static bool has_workflow(const struct burial *burial)
{
    struct job job;
    if (job_read(burial->lease.id, buffer_slice(&burial->record), &job) != STATUS_OK)
        return false;
    bool has_it = job.workflow.size > 0;
    job_fini(&job);
    return has_it;
}

static struct burial *burial_new(struct recovery *recovery, const struct shard_lost_job *doomed,
                                 int64_t now_ms)
{
    struct burial *burial = NEW(struct burial);
    burial->recovery = recovery;
    burial->now_ms = now_ms;
    buffer_init(&burial->id, doomed->id.size);
    buffer_init_fallible(&burial->record, doomed->record.size);
    buffer_init_fallible(&burial->settings, doomed->settings.size);
    buffer_init_fallible(&burial->elements, JOB_RECORD_MAX);
    callback_jobs_init(&burial->callbacks);
    buffer_append(&burial->id, doomed->id);
    buffer_append(&burial->record, doomed->record);
    buffer_append(&burial->settings, doomed->settings);
    burial->lease = (struct lease){buffer_slice(&burial->id), doomed->nonce};
    return burial;
}

/* Buries a job. If the job belongs to a workflow, its callbacks contain the workflow's first element, which
 * is read first. */
static void burial_start(struct recovery *recovery, const struct shard_lost_job *doomed, int64_t now_ms)
{
    struct burial *burial = burial_new(recovery, doomed, now_ms);
    lease_sweep_begin_item(&recovery->consumers);
    if (burial->record.failed || burial->settings.failed)
        on_buried(burial, STATUS_NO_MEMORY);
    else if (has_workflow(burial))
        shard_arrive(recovery->consumers.shard, burial->lease.id, burial_on_arrived, burial);
    else
        bury(burial);
}

static void on_consumers(void *arg, enum status status, const struct shard_lost *lost)
{
    struct recovery *recovery = arg;
    recovery->consumers.jobs += lost->number;
    metrics_count(recovery->metrics, METRICS_COUNTER_RECOVERED, lost->number);
    for (size_t i = 0; i < lost->count; i++)
        burial_start(recovery, &lost->jobs[i], lost->now_ms);
    lease_sweep_listed(&recovery->consumers, status == STATUS_OK && lost->is_full, lost->number);
}

static void list_consumers(void *arg, int64_t now_ms)
{
    struct recovery *recovery = arg;
    shard_recover(recovery->consumers.shard, LEASE_OF_CONSUMER, now_ms, on_consumers, recovery);
}

/* ---- leases of workers ---- */

static void on_lease_ended(void *arg, enum status status)
{
    struct recovery *recovery = arg;
    if (status == STATUS_OK)
        recovery->workers.jobs++;
    lease_sweep_end_item(&recovery->workers, status == STATUS_OK || status == STATUS_STALE);
}

static void on_workers(void *arg, enum status status, const struct shard_lost *lost)
{
    struct recovery *recovery = arg;
    for (size_t i = 0; i < lost->count; i++) {
        clock_note_fired(
            &(struct clock_fired){.at_ms = lost->now_ms, .job = lost->jobs[i].id, .event = SLICE("lapsed")});
        lease_sweep_begin_item(&recovery->workers);
        shard_end_lost(recovery->workers.shard, &lost->jobs[i], lost->now_ms, recovery->schedule,
                       on_lease_ended, recovery);
    }
    lease_sweep_listed(&recovery->workers, status == STATUS_OK && lost->is_full, 0);
}

static void list_workers(void *arg, int64_t now_ms)
{
    struct recovery *recovery = arg;
    shard_recover(recovery->workers.shard, LEASE_OF_WORKER, now_ms, on_workers, recovery);
}

/* ---- expired jobs ---- */

static void on_expired_ended(void *arg, enum status status)
{
    struct recovery *recovery = arg;
    (void)status; /* after a failure, a later step lists the job again */
    lease_sweep_end_item(&recovery->expiries, true);
}

static void on_expired(void *arg, enum status status, const struct shard_lost *expired)
{
    struct recovery *recovery = arg;
    for (size_t i = 0; i < expired->count; i++) {
        clock_note_fired(&(struct clock_fired){
            .at_ms = expired->now_ms, .job = expired->jobs[i].id, .event = SLICE("expired")});
        lease_sweep_begin_item(&recovery->expiries);
        shard_end_lost(recovery->expiries.shard, &expired->jobs[i], expired->now_ms, recovery->schedule,
                       on_expired_ended, recovery);
    }
    lease_sweep_listed(&recovery->expiries, status == STATUS_OK && expired->is_full, expired->number);
}

static void list_expired(void *arg, int64_t now_ms)
{
    struct recovery *recovery = arg;
    shard_list_expired(recovery->expiries.shard, now_ms, on_expired, recovery);
}

static void on_expiry(void *arg)
{
    struct recovery *recovery = arg;
    lease_sweep_run(&recovery->expiries);
    if (--recovery->looks_left > 0)
        timer_start(recovery->expiry, EXPIRY_US);
}

void recovery_end_expired(struct recovery *recovery)
{
    recovery->looks_left = EXPIRY_LOOKS;
    timer_stop(recovery->expiry);
    on_expiry(recovery);
}

/* ---- the recovery ---- */

struct recovery *recovery_new(struct loop *loop, struct shard *shard, const struct delivery_forms *forms,
                              const struct retry_schedule *schedule, struct metrics *metrics,
                              lease_sweep_may_fn *may_run, void *arg)
{
    struct recovery *recovery = NEW(struct recovery);
    struct lease_sweep sweep = {.shard = shard, .may_run = may_run, .may_arg = arg, .arg = recovery};
    *recovery = (struct recovery){.forms = forms, .schedule = schedule, .metrics = metrics};
    recovery->consumers = recovery->workers = recovery->expiries = sweep;
    recovery->consumers.event = "leases_recovered";
    recovery->consumers.list = list_consumers;
    recovery->workers.event = "leases_expired";
    recovery->workers.list = list_workers;
    recovery->expiries.late_ms = PACE_LATE_MS;
    recovery->expiries.list = list_expired;
    recovery->expiry = timer_new(loop, on_expiry, recovery);
    lease_sweep_init(&recovery->consumers, loop);
    lease_sweep_init(&recovery->workers, loop);
    lease_sweep_init(&recovery->expiries, loop);
    return recovery;
}

void recovery_set_schedule(struct recovery *recovery, const struct retry_schedule *schedule)
{
    recovery->schedule = schedule;
}

void recovery_run(struct recovery *recovery)
{
    lease_sweep_run(&recovery->consumers);
    lease_sweep_run(&recovery->workers);
}

void recovery_free(struct recovery *recovery)
{
    if (!recovery)
        return;
    lease_sweep_fini(&recovery->consumers);
    lease_sweep_fini(&recovery->workers);
    lease_sweep_fini(&recovery->expiries);
    timer_free(recovery->expiry);
    free(recovery);
}
