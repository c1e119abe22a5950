/* schedule.c - schedules new jobs. */
#include <assert.h>

#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"

/* ---- one job ---- */

struct schedule {
    struct batch_item item;
    struct shard *shard;
    struct slice id, record, once;
    struct store_when when;
    store_scheduled_fn *fn;
    void *arg;
};

void store_schedule(struct store *store, const struct store_schedule *job, store_scheduled_fn *fn, void *arg)
{
    struct schedule *schedule = NEW(struct schedule);
    struct slice job_id;
    schedule->item.bytes = job->id.size + job->record.size + job->once.size + BATCH_ITEM_OVERHEAD;
    slice_cut(job->id, '/', &schedule->item.topic, &job_id);
    schedule->shard = store_shard_of(store, job->id);
    schedule->id = job->id;
    schedule->when = job->when;
    schedule->record = job->record;
    schedule->once = job->once;
    schedule->fn = fn;
    schedule->arg = arg;
    batch_add(&schedule->shard->batches[SHARD_BATCH_SCHEDULE], &schedule->item);
}

static void schedule_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct schedule *schedule = (const struct schedule *)item;
    script_call_text(call, schedule->id);
    script_call_when(call, schedule->when);
    script_call_text(call, schedule->record);
    script_call_text(call, schedule->once.size ? schedule->once : SLICE("-"));
}

/* Reads the existing job with the id, or the first answer to a repeated request. */
static enum status read_holder(const struct redis_reply *result, struct store_job *job, int64_t *due_ms)
{
    if (slice_equal(redis_reply_text(redis_reply_at(result, 0)), SLICE("repeated"))) {
        *due_ms = redis_reply_integer(redis_reply_at(result, 1));
        job->id = redis_reply_text(redis_reply_at(result, 2));
        return STATUS_REPEATED;
    }
    return reply_read_job(result, job) ? STATUS_EXISTS : STATUS_UNKNOWN;
}

static void schedule_end_item(struct batch_item *item, enum status status, int64_t now_us,
                              const struct redis_reply *result)
{
    struct schedule *schedule = (struct schedule *)item;
    struct store_job job = {.id = schedule->id, .now_ms = now_us / 1000};
    int64_t due_ms = redis_reply_integer(result);
    if (status == STATUS_OK && due_ms == RESULT_AGAIN) {
        batch_add(&schedule->shard->batches[SHARD_BATCH_SCHEDULE], item);
        return;
    }
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
    schedule->fn(schedule->arg, status, due_ms,
                 status == STATUS_EXISTS || status == STATUS_REPEATED ? &job : NULL);
    free(schedule);
}

const struct batch_kind schedule_kind = {
    SCRIPT_SCHEDULE, OWNER_CALLS_MAX, true, shard_add_limits, schedule_add_item, schedule_end_item,
};

/* ---- jobs that are scheduled together ---- */

struct schedule_list {
    struct batch_item item;
    const struct store_schedule *jobs;
    size_t count;
    store_scheduled_all_fn *fn;
    void *arg;
};

void store_schedule_all(struct store *store, const struct store_schedule *jobs, size_t count,
                        store_scheduled_all_fn *fn, void *arg)
{
    assert(count > 0 && count <= STORE_SCHEDULE_ALL_MAX);
    struct schedule_list *list = NEW(struct schedule_list);
    list->jobs = jobs;
    list->count = count;
    list->fn = fn;
    list->arg = arg;
    for (size_t i = 0; i < count; i++)
        list->item.bytes += jobs[i].record.size + BATCH_JOB_WEIGHT;
    batch_add(&store_shard_of(store, jobs[0].id)->batches[SHARD_BATCH_SCHEDULE_ALL], &list->item);
}

static void schedule_list_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct schedule_list *list = (const struct schedule_list *)item;
    script_call_number(call, (int64_t)list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct store_schedule *job = &list->jobs[i];
        script_call_text(call, job->id);
        script_call_when(call, job->when);
        script_call_text(call, job->record);
        script_call_text(call, job->once.size ? job->once : SLICE("-"));
    }
}

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

static void schedule_list_end_item(struct batch_item *item, enum status status, int64_t now_us,
                                   const struct redis_reply *result)
{
    struct schedule_list *list = (struct schedule_list *)item;
    struct store_scheduled all[STORE_SCHEDULE_ALL_MAX];
    int64_t code = redis_reply_integer(result);
    (void)now_us;
    if (status == STATUS_OK && redis_reply_kind(result) == REDIS_KIND_ARRAY)
        status = read_list(result, list->count, all);
    else if (status == STATUS_OK)
        status = code == RESULT_FULL     ? STATUS_FULL
                 : code == RESULT_TAKEN  ? STATUS_EXISTS
                 : code == RESULT_REUSED ? STATUS_REUSED
                                         : reply_refuse("schedule_all");
    list->fn(list->arg, status, all);
    free(list);
}

const struct batch_kind schedule_all_kind = {
    SCRIPT_SCHEDULE_ALL, OWNER_CALLS_MAX,        true,
    shard_add_limits,    schedule_list_add_item, schedule_list_end_item,
};
