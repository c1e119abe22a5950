/* jobs.c - schedules, reads, changes, replaces, cancels and runs jobs at a client's request. */
#include <assert.h>

#include "base/memory.h"
#include "job/job.h"
#include "store/store_private.h"

/* ---- schedule: one job ---- */

/* Reads the existing job with the id, or the first answer to a repeated request. */
static enum status read_holder(const struct redis_reply *result, struct stored_job *job, int64_t *due_ms)
{
    struct slice word = redis_reply_text(redis_reply_at(result, 0));
    bool is_throttled = slice_equal(word, SLICE("throttled"));
    if (is_throttled || slice_equal(word, SLICE("repeated"))) {
        *due_ms = redis_reply_integer(redis_reply_at(result, 1));
        job->id = redis_reply_text(redis_reply_at(result, 2));
        return is_throttled ? STATUS_THROTTLED : STATUS_REPEATED;
    }
    return reply_read_job(result, job) ? STATUS_EXISTS : STATUS_UNKNOWN;
}

static void schedule_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct stored_job job = {.id = store_call_argument(call, 0), .now_ms = call->now_us / 1000};
    int64_t due_ms = redis_reply_integer(result);
    if (status == STATUS_OK && due_ms == RESULT_REUSED)
        status = STATUS_REUSED;
    else if (status == STATUS_OK && due_ms == RESULT_NO_URL)
        status = STATUS_NO_URL;
    else if (status == STATUS_OK && due_ms == RESULT_EXPIRED)
        status = STATUS_EXPIRED;
    else if (status == STATUS_OK && due_ms < 0)
        status = STATUS_FULL;
    else if (status == STATUS_OK && reply_names_quota(call->shard, result))
        status = STATUS_QUOTA;
    else if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY)
        status = read_holder(result, &job, &due_ms);
    CALL_FN(call, store_scheduled_fn)
    (call->arg, status, due_ms,
     status == STATUS_EXISTS || status == STATUS_REPEATED || status == STATUS_THROTTLED ? &job : NULL);
}

static void add_job(struct store_call *call, const struct store_schedule *job)
{
    store_call_text(call, job->id);
    store_call_when(call, job->when);
    store_call_text(call, job->record);
    store_call_text(call, job->once.size ? job->once : SLICE("-"));
}

void store_schedule(struct store *store, const struct store_schedule *job, store_scheduled_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, job->id);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_SCHEDULE, schedule_end, ANY_FN(fn), arg);
    struct slice job_id;
    slice_cut(job->id, '/', &call->topic, &job_id);
    add_job(call, job);
    store_call_send(call);
}

/* ---- schedule: jobs together ---- */

/* Reads a due time, or the first answer under an idempotency key. */
static bool read_scheduled(const struct redis_reply *reply, struct store_scheduled *scheduled)
{
    bool is_new = redis_reply_kind(reply) != REDIS_KIND_ARRAY;
    scheduled->due_ms = redis_reply_integer(is_new ? reply : redis_reply_at(reply, 1));
    scheduled->repeated = is_new ? SLICE("") : redis_reply_text(redis_reply_at(reply, 2));
    return scheduled->due_ms > 0 && (is_new || scheduled->repeated.size > 0);
}

static enum status read_list(const struct redis_reply *reply, size_t count, struct store_scheduled *all)
{
    bool is_read = redis_reply_size(reply) == count;
    for (size_t i = 0; is_read && i < count; i++)
        is_read = read_scheduled(redis_reply_at(reply, i), &all[i]);
    return is_read ? STATUS_OK : reply_refuse("schedule_all");
}

/* call->note: the number of jobs */
static void schedule_all_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct store_scheduled all[STORE_SCHEDULE_ALL_MAX];
    int64_t code = redis_reply_integer(result);
    if (status == STATUS_OK && reply_names_quota(call->shard, result))
        status = STATUS_QUOTA;
    else if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY)
        status = read_list(result, (size_t)call->note, all);
    else if (status == STATUS_OK)
        status = code == RESULT_FULL     ? STATUS_FULL
                 : code == RESULT_TAKEN  ? STATUS_EXISTS
                 : code == RESULT_REUSED ? STATUS_REUSED
                                         : reply_refuse("schedule_all");
    CALL_FN(call, store_scheduled_all_fn)(call->arg, status, all);
}

void store_schedule_all(struct store *store, const struct store_schedule *jobs, size_t count,
                        store_scheduled_all_fn *fn, void *arg)
{
    assert(count > 0 && count <= STORE_SCHEDULE_ALL_MAX);
    struct shard *shard = store_shard_of(store, jobs[0].id);
    struct store_call *call =
        store_call_new(shard, SHARD_BATCH_SCHEDULE_ALL, schedule_all_end, ANY_FN(fn), arg);
    call->note = (int64_t)count;
    call->bytes += count * BATCH_JOB_WEIGHT;
    store_call_number(call, (int64_t)count);
    for (size_t i = 0; i < count; i++)
        add_job(call, &jobs[i]);
    store_call_send(call);
}

/* ---- read ---- */

/* call->note: an ended job is found, too */
static void read_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct stored_job job = {.id = store_call_argument(call, 0), .now_ms = call->now_us / 1000};
    if (status == STATUS_OK && redis_reply_size(result) == 0)
        status = STATUS_NOT_FOUND;
    else if (status == STATUS_OK && !reply_read_job(result, &job))
        status = STATUS_UNKNOWN;
    if (status == STATUS_OK && job.state > JOB_STATE_DEAD && !call->note)
        status = STATUS_NOT_FOUND;
    if (status == STATUS_OK)
        shard_bound_age(call->shard, &job);
    CALL_FN(call, store_read_fn)(call->arg, status, status == STATUS_OK ? &job : NULL);
}

void shard_read(struct shard *shard, struct slice id, bool may_be_kept, store_read_fn *fn, void *arg)
{
    struct store_call *call = store_call_new(shard, SHARD_BATCH_READ, read_end, ANY_FN(fn), arg);
    store_call_text(call, id);
    call->note = may_be_kept;
    store_call_send(call);
}

void store_read(struct store *store, struct slice id, store_read_fn *fn, void *arg)
{
    shard_read(store_shard_of(store, id), id, false, fn, arg);
}

void store_read_kept(struct store *store, struct slice id, store_read_fn *fn, void *arg)
{
    shard_read(store_shard_of(store, id), id, true, fn, arg);
}

/* ---- wait ---- */

static void await_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    CALL_FN(call, store_awaited_fn)(call->arg, status, redis_reply_integer(result) == 1);
}

void store_await(struct store *store, const struct store_await *await, store_awaited_fn *fn, void *arg)
{
    struct store_call *call =
        store_call_new(store_shard_of(store, await->id), SHARD_BATCH_AWAIT, await_end, ANY_FN(fn), arg);
    store_call_text(call, await->id);
    store_call_number(call, await->wait_ms);
    store_call_number(call, await->is_new);
    store_call_send(call);
}

void store_on_job_wake(struct store *store, store_job_wake_fn *fn, void *arg)
{
    for (size_t i = 0; i < store_shards(store); i++) {
        struct shard *shard = store_shard(store, i);
        shard->on_job_wake.fn = fn;
        shard->on_job_wake.arg = arg;
    }
}

static void attempts_end(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    if (status == STATUS_OK && redis_reply_size(reply) < 2)
        status = STATUS_NOT_FOUND;
    CALL_FN(call, store_attempts_fn)(call->arg, status, redis_reply_text(redis_reply_at(reply, 1)));
}

void store_attempts(struct store *store, struct slice id, store_attempts_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, id);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_ATTEMPTS, shard->reads, attempts_end, ANY_FN(fn), arg);
    store_call_text(call, id);
    store_call_send(call);
}

/* ---- change ---- */

static void change_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    int64_t due_ms = redis_reply_integer(result);
    if (status == STATUS_OK && due_ms < 0)
        status =
            due_ms == RESULT_NO_URL ? STATUS_NO_URL
            : due_ms == RESULT_EXPIRED
                ? STATUS_EXPIRED
                : STATUS_STALE; /* the job was leased, removed or changed: the caller can read it again */
    CALL_FN(call, store_changed_fn)(call->arg, status, due_ms, call->now_us / 1000);
}

void store_change(struct store *store, const struct store_change *job, store_changed_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, job->id);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_CHANGE, change_end, ANY_FN(fn), arg);
    store_call_text(call, job->id);
    store_call_text(call, job->tag);
    if (job->is_buried)
        store_call_text(call, SLICE("!"));
    else if (job->is_moved)
        store_call_when(call, job->when);
    else
        store_call_text(call, SLICE("-"));
    store_call_text(call, job->record);
    store_call_follow(call, &job->follow);
    store_call_send(call);
}

/* ---- replace: schedules a job; if a job with this id exists, the new job replaces it ---- */

static enum status replace_status(int64_t code)
{
    switch (code) {
    case RESULT_NOT_AS_SEEN:
        return STATUS_STALE;
    case RESULT_NO_URL:
        return STATUS_NO_URL;
    case RESULT_EXPIRED:
        return STATUS_EXPIRED;
    default:
        return STATUS_FULL;
    }
}

static void replace_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    int64_t was = redis_reply_integer(redis_reply_at(result, 2));
    struct store_replaced place = {
        .id = redis_reply_text(redis_reply_at(result, 3)),
        .due_ms = redis_reply_integer(redis_reply_at(result, 0)),
        .created_ms = redis_reply_integer(redis_reply_at(result, 1)),
        .was_there = was >= 1,
        .was_leased = was == 2,
        .now_ms = call->now_us / 1000,
    };
    if (status == STATUS_OK && reply_names_quota(call->shard, result))
        status = STATUS_QUOTA;
    else if (status == STATUS_OK && redis_reply_kind(result) != REDIS_KIND_ARRAY)
        status = replace_status(redis_reply_integer(result));
    CALL_FN(call, store_replaced_fn)(call->arg, status, status == STATUS_OK ? &place : NULL);
}

void store_replace(struct store *store, const struct store_replace *job, store_replaced_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, job->id);
    struct store_call *call = store_call_new(shard, SHARD_BATCH_REPLACE, replace_end, ANY_FN(fn), arg);
    store_call_text(call, job->id);
    store_call_when(call, job->when);
    store_call_text(call, job->record);
    store_call_text(call, job->tags);
    store_call_send(call);
}

/* ---- cancel ---- */

/* When a job of a workflow is cancelled, the script removes all jobs of the workflow. The cancels of these
 * jobs in later calls find no job, and count as done nevertheless (was_dropped). */
struct cancel {
    struct store_call call;
    struct list link; /* in cancels of the shard */
    struct slice id;
    bool was_dropped, was_dropped_leased;
};

/* Returns the id of a job that was removed with its workflow. The text is 1 or 0, followed by the id. */
static struct slice dropped_id(struct slice text)
{
    return slice_skip(text, text.size > 0);
}

static int compare_ids(struct slice one, struct slice other)
{
    size_t size = one.size < other.size ? one.size : other.size;
    int order = size ? memcmp(one.data, other.data, size) : 0;
    return order ? order : (one.size > other.size) - (one.size < other.size);
}

static int dropped_compare(const void *one, const void *other)
{
    return compare_ids(dropped_id(*(const struct slice *)one), dropped_id(*(const struct slice *)other));
}

/* Marks the cancels of jobs that were removed with a workflow, for each job only the first cancel. result:
 * code, then these jobs. */
static void mark_dropped(const struct shard *shard, const struct redis_reply *result)
{
    size_t count = redis_reply_size(result);
    if (count < 2)
        return;
    struct slice *jobs = NEW_ARRAY(struct slice, count);
    bool *is_marked = NEW_ARRAY(bool, count);
    for (size_t i = 1; i < count; i++)
        jobs[i - 1] = redis_reply_text(redis_reply_at(result, i));
    qsort(jobs, count - 1, sizeof *jobs, dropped_compare);
    for (struct list *link = shard->cancels.next; link != &shard->cancels; link = link->next) {
        struct cancel *cancel = LIST_ENTRY(link, struct cancel, link);
        size_t low = 0, high = count - 1;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (compare_ids(dropped_id(jobs[middle]), cancel->id) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < count - 1 && !is_marked[low] && slice_equal(dropped_id(jobs[low]), cancel->id)) {
            is_marked[low] = cancel->was_dropped = true;
            cancel->was_dropped_leased = slice_starts_with(jobs[low], SLICE("1"));
        }
    }
    free(is_marked);
    free(jobs);
}

static void cancel_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct cancel *cancel = (struct cancel *)call;
    bool is_list = redis_reply_size(result) > 0;
    int64_t code = redis_reply_integer(is_list ? redis_reply_at(result, 0) : result);
    if (status == STATUS_OK && is_list)
        mark_dropped(call->shard, result);
    if (status == STATUS_OK && code == RESULT_NOT_FOUND && cancel->was_dropped)
        code = cancel->was_dropped_leased;
    if (status == STATUS_OK && code == RESULT_AGAIN) {
        store_call_send(call);
        return;
    }
    if (status == STATUS_OK && code < 0)
        status = code == RESULT_NOT_AS_SEEN ? STATUS_STALE : STATUS_NOT_FOUND;
    list_remove(&cancel->link);
    CALL_FN(call, store_cancelled_fn)(call->arg, status, code == 1);
}

void store_cancel(struct store *store, struct slice id, struct slice tags, store_cancelled_fn *fn, void *arg)
{
    struct cancel *cancel = NEW(struct cancel);
    struct shard *shard = store_shard_of(store, id);
    store_call_init(&cancel->call, shard, SHARD_BATCH_CANCEL, cancel_end, ANY_FN(fn), arg);
    cancel->id = id;
    store_call_text(&cancel->call, id);
    store_call_text(&cancel->call, tags);
    list_append(&shard->cancels, &cancel->link);
    store_call_send(&cancel->call);
}

/* ---- run: makes jobs due now, or at a given time ----
 *
 * A dead job starts over, with a record without attempts. Only C writes records, so this file reads the
 * record and writes a new one without attempts. The script replaces the record only if it has not changed
 * since it was read; otherwise all steps are repeated. If a dead job and a job of the pool have the same id,
 * tags may select one of them. */

struct run {
    struct store_call call;
    struct slice id, tags;
    struct job_when when;
    struct buffer old_record, new_record; /* empty in the first call; set only for a dead job */
    int tries;
};

enum { RUN_TRIES_MAX = 5 };

static void run_tell(struct run *run, enum status status, int64_t due_ms)
{
    CALL_FN(&run->call, store_run_fn)(run->call.arg, status, due_ms);
    buffer_fini(&run->old_record);
    buffer_fini(&run->new_record);
}

static void run_send(struct run *run)
{
    struct store_call *call = &run->call;
    store_call_clear(call);
    store_call_text(call, run->id);
    store_call_when(call, run->when);
    store_call_text(call, run->tags);
    store_call_text(call, buffer_slice(&run->old_record));
    store_call_text(call, buffer_slice(&run->new_record));
    store_call_send(call);
}

static enum status write_fresh_record(struct run *run, const struct stored_job *stored)
{
    struct job job;
    buffer_clear(&run->old_record);
    buffer_clear(&run->new_record);
    buffer_append(&run->old_record, stored->record);
    if (job_read(run->id, stored->record, &job) != STATUS_OK)
        return STATUS_UNREADABLE;
    if (job.lacks.size) {
        job_fini(&job);
        return STATUS_LACKING;
    }
    job.attempts = 0;
    job.uncounted = 0;
    job.rounds = 0;
    job.reason = job.answer_headers = job.progress = job.result = (struct slice){NULL, 0};
    job_write(&job, &run->new_record);
    job_fini(&job);
    return run->old_record.failed || run->new_record.failed ? STATUS_NO_MEMORY : STATUS_OK;
}

static void on_run_read(void *arg, enum status status, const struct stored_job *job)
{
    struct run *run = arg;
    if (status == STATUS_OK && job->state == JOB_STATE_DEAD)
        status = write_fresh_record(run, job);
    if (status == STATUS_OK) {
        run_send(run);
        return;
    }
    run_tell(run, status, 0);
    store_call_free(&run->call);
}

static enum status run_status(int64_t code)
{
    switch (code) {
    case RESULT_NOT_FOUND:
        return STATUS_NOT_FOUND;
    case RESULT_LEASED:
        return STATUS_LEASED;
    case RESULT_NOT_AS_SEEN:
        return STATUS_STALE;
    case RESULT_TAKEN:
        return STATUS_EXISTS;
    case RESULT_FULL:
        return STATUS_FULL;
    case RESULT_EXPIRED:
        return STATUS_EXPIRED;
    default:
        return STATUS_UNAVAILABLE;
    }
}

static void run_end(struct store_call *call, enum status status, const struct redis_reply *result)
{
    struct run *run = (struct run *)call;
    int64_t code = redis_reply_integer(result);
    if (status == STATUS_OK && code == RESULT_CHANGED && run->tries++ < RUN_TRIES_MAX) {
        call->is_kept = true;
        shard_read(call->shard, run->id, false, on_run_read, run);
        return;
    }
    if (status == STATUS_OK && reply_names_quota(call->shard, result))
        status = STATUS_QUOTA;
    run_tell(run, status == STATUS_OK && code < 0 ? run_status(code) : status, code);
}

void store_run(struct store *store, struct slice id, struct slice tags, struct job_when when,
               store_run_fn *fn, void *arg)
{
    struct run *run = NEW(struct run);
    store_call_init(&run->call, store_shard_of(store, id), SHARD_BATCH_RUN, run_end, ANY_FN(fn), arg);
    run->id = id;
    run->tags = tags;
    run->when = when;
    buffer_init_fallible(&run->old_record, JOB_RECORD_MAX);
    buffer_init_fallible(&run->new_record, JOB_RECORD_MAX);
    if (tags.size)
        shard_read(run->call.shard, id, false, on_run_read,
                   run); /* the pool does not have the job, so look for a dead job with this id */
    else
        run_send(run);
}
