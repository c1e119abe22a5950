/* schedule.c - schedules new jobs. */
#include "base/memory.h"
#include "store/reply.h"
#include "store/shard_private.h"
#include "store/when.h"

struct schedule {
    struct batch_item item;
    struct shard *shard;
    struct slice id, record, once;
    char when[WHEN_SIZE];
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
    schedule->record = job->record;
    schedule->once = job->once;
    schedule->fn = fn;
    schedule->arg = arg;
    when_format(job->when, schedule->when);
    batch_add(&schedule->shard->batches[SHARD_BATCH_SCHEDULE], &schedule->item);
}

static void schedule_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct schedule *schedule = (const struct schedule *)item;
    script_call_text(call, schedule->id);
    script_call_text(call, slice_of(schedule->when));
    script_call_text(call, schedule->record);
    script_call_text(call, schedule->once.size ? schedule->once : SLICE("-"));
}

/* Reads the job that has the id, or the first answer to a repeated request. */
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
