/* schedule.c - schedules new jobs. */
#include <assert.h>

#include "store/reply.h"
#include "store/shard_private.h"

/* ---- one job ---- */

/* Reads the existing job with the id, or the first answer to a repeated request. */
static enum status read_holder(const struct redis_reply *result, struct stored_job *job, int64_t *due_ms)
{
    if (slice_equal(redis_reply_text(redis_reply_at(result, 0)), SLICE("repeated"))) {
        *due_ms = redis_reply_integer(redis_reply_at(result, 1));
        job->id = redis_reply_text(redis_reply_at(result, 2));
        return STATUS_REPEATED;
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
    else if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY)
        status = read_holder(result, &job, &due_ms);
    CALL_FN(call, store_scheduled_fn)
    (call->arg, status, due_ms, status == STATUS_EXISTS || status == STATUS_REPEATED ? &job : NULL);
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

/* ---- jobs that are scheduled together ---- */

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
    if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY)
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
