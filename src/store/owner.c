/* owner.c - what the owners of jobs do: schedule, cancel, run, read. */
#include "base/memory.h"
#include "job/job.h"
#include "store/reply.h"
#include "store/shard_private.h"
#include "store/when.h"

/* The idempotency key of a new job belongs to another request. */
enum { SCHEDULE_REUSED = -3 };

/* ---- schedule ---- */

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
    schedule->item.bytes = job->id.size + job->record.size + job->once.size + BATCH_ITEM_OVERHEAD;
    schedule->shard = store_shard_of(store, job->id);
    schedule->id = job->id;
    schedule->record = job->record;
    schedule->once = job->once;
    schedule->fn = fn;
    schedule->arg = arg;
    when_format(job->when, schedule->when);
    batch_add(&schedule->shard->batches[SHARD_BATCH_SCHEDULE], &schedule->item);
}

static void schedule_add_shared(const struct shard *shard, struct script_call *call)
{
    shard_add_max_jobs(shard, call);
    script_call_number(call, shard->options->idempotency_window_ms);
}

static void schedule_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct schedule *schedule = (const struct schedule *)item;
    script_call_text(call, schedule->id);
    script_call_text(call, slice_of(schedule->when));
    script_call_text(call, schedule->record);
    script_call_text(call, schedule->once.size ? schedule->once : SLICE("-"));
}

/* Who has the id, or what was answered before. */
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
    if (status == STATUS_OK && due_ms == REPLY_AGAIN) {
        batch_add(&schedule->shard->batches[SHARD_BATCH_SCHEDULE], item);
        return;
    }
    if (status == STATUS_OK && due_ms == SCHEDULE_REUSED)
        status = STATUS_REUSED;
    else if (status == STATUS_OK && due_ms == REPLY_NO_URL)
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
    SCRIPT_SCHEDULE, OWNER_CALLS_MAX, true, schedule_add_shared, schedule_add_item, schedule_end_item,
};

/* ---- cancel ---- */

struct cancel {
    struct batch_item item;
    struct shard *shard;
    struct slice id, tags;
    store_cancelled_fn *fn;
    void *arg;
};

void store_cancel(struct store *store, struct slice id, struct slice tags, store_cancelled_fn *fn, void *arg)
{
    struct cancel *cancel = NEW(struct cancel);
    cancel->item.bytes = id.size + tags.size + BATCH_ITEM_OVERHEAD;
    cancel->shard = store_shard_of(store, id);
    cancel->id = id;
    cancel->tags = tags;
    cancel->fn = fn;
    cancel->arg = arg;
    batch_add(&cancel->shard->batches[SHARD_BATCH_CANCEL], &cancel->item);
}

static void cancel_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct cancel *cancel = (const struct cancel *)item;
    script_call_text(call, cancel->id);
    script_call_text(call, cancel->tags);
}

static void cancel_end_item(struct batch_item *item, enum status status, int64_t now_us,
                            const struct redis_reply *result)
{
    struct cancel *cancel = (struct cancel *)item;
    int64_t code = redis_reply_integer(result);
    (void)now_us;
    if (status == STATUS_OK && code == REPLY_AGAIN) {
        batch_add(&cancel->shard->batches[SHARD_BATCH_CANCEL], item);
        return;
    }
    if (status == STATUS_OK && code < 0)
        status = code == REPLY_NOT_AS_SEEN ? STATUS_STALE : STATUS_NOT_FOUND;
    cancel->fn(cancel->arg, status, code == 1);
    free(cancel);
}

const struct batch_kind cancel_kind = {SCRIPT_CANCEL, OWNER_CALLS_MAX, true,
                                       NULL,          cancel_add_item, cancel_end_item};

/* ---- read ---- */

struct read {
    struct batch_item item;
    struct shard *shard;
    struct slice id;
    bool may_be_kept;
    store_read_fn *fn;
    void *arg;
};

static void read_from(struct shard *shard, struct slice id, bool may_be_kept, store_read_fn *fn, void *arg)
{
    struct read *read = NEW(struct read);
    read->item.bytes = id.size + BATCH_ITEM_OVERHEAD;
    read->shard = shard;
    read->id = id;
    read->may_be_kept = may_be_kept;
    read->fn = fn;
    read->arg = arg;
    batch_add(&shard->batches[SHARD_BATCH_READ], &read->item);
}

void store_read(struct store *store, struct slice id, store_read_fn *fn, void *arg)
{
    read_from(store_shard_of(store, id), id, false, fn, arg);
}

void store_read_kept(struct store *store, struct slice id, store_read_fn *fn, void *arg)
{
    read_from(store_shard_of(store, id), id, true, fn, arg);
}

static void read_add_item(const struct batch_item *item, struct script_call *call)
{
    script_call_text(call, ((const struct read *)item)->id);
}

static void read_end_item(struct batch_item *item, enum status status, int64_t now_us,
                          const struct redis_reply *result)
{
    struct read *read = (struct read *)item;
    struct store_job job = {.id = read->id, .now_ms = now_us / 1000};
    if (status == STATUS_OK && redis_reply_integer(result) == REPLY_AGAIN) {
        batch_add(&read->shard->batches[SHARD_BATCH_READ], item);
        return;
    }
    if (status == STATUS_OK && redis_reply_size(result) == 0)
        status = STATUS_NOT_FOUND;
    else if (status == STATUS_OK && !reply_read_job(result, &job))
        status = STATUS_UNKNOWN;
    if (status == STATUS_OK && job.until_ms && !read->may_be_kept)
        status = STATUS_NOT_FOUND;
    read->fn(read->arg, status, status == STATUS_OK ? &job : NULL);
    free(read);
}

const struct batch_kind read_kind = {SCRIPT_READ, OWNER_CALLS_MAX, false, NULL, read_add_item, read_end_item};

/* ---- run ----
 *
 * Only C writes records, so a dead job's is read, written again without its attempts, and swapped
 * if it is still the one that was read; else once more. */

struct run {
    struct batch_item item;
    struct shard *shard;
    struct slice id;
    char when[WHEN_SIZE];
    struct buffer old_record, new_record; /* empty at first: fine for every state but dead */
    int tries;
    store_run_fn *fn;
    void *arg;
};

enum {
    RUN_TRIES_MAX = 5,
    RECORD_MAX = 64 * 1024 * 1024, /* bytes; far above what the API takes */
    RUN_NOT_FOUND = -1,
    RUN_LEASED = -2,
    RUN_CHANGED = -3,
};

static void run_end(struct run *run, enum status status, int64_t due_ms)
{
    run->fn(run->arg, status, due_ms);
    buffer_fini(&run->old_record);
    buffer_fini(&run->new_record);
    free(run);
}

static void run_add_item(const struct batch_item *item, struct script_call *call)
{
    const struct run *run = (const struct run *)item;
    script_call_text(call, run->id);
    script_call_text(call, slice_of(run->when));
    script_call_text(call, buffer_slice(&run->old_record));
    script_call_text(call, buffer_slice(&run->new_record));
}

static enum status write_fresh_record(struct run *run, const struct store_job *stored)
{
    struct job job;
    buffer_clear(&run->old_record);
    buffer_clear(&run->new_record);
    buffer_append(&run->old_record, stored->record);
    if (job_read(run->id, stored->record, &job) != STATUS_OK)
        return STATUS_FAILED;
    bool is_expired = job_is_expired(&job, stored->now_ms);
    job.attempts = 0;
    job.reason = (struct slice){NULL, 0};
    job_write(&job, &run->new_record);
    job_fini(&job);
    if (run->old_record.failed || run->new_record.failed)
        return STATUS_NO_MEMORY;
    return is_expired ? STATUS_EXPIRED : STATUS_OK;
}

static void on_run_read(void *arg, enum status status, const struct store_job *job)
{
    struct run *run = arg;
    if (status == STATUS_OK && job->state == JOB_STATE_DEAD)
        status = write_fresh_record(run, job);
    if (status != STATUS_OK) {
        run_end(run, status, 0);
        return;
    }
    run->item.bytes = run->id.size + run->old_record.size + run->new_record.size + BATCH_ITEM_OVERHEAD;
    batch_add(&run->shard->batches[SHARD_BATCH_RUN], &run->item);
}

static void run_end_item(struct batch_item *item, enum status status, int64_t now_us,
                         const struct redis_reply *result)
{
    struct run *run = (struct run *)item;
    int64_t code = redis_reply_integer(result);
    (void)now_us;
    if (status == STATUS_OK && code == RUN_CHANGED && run->tries++ < RUN_TRIES_MAX) {
        read_from(run->shard, run->id, false, on_run_read, run);
        return;
    }
    if (status == STATUS_OK && code < 0)
        status = code == RUN_NOT_FOUND ? STATUS_NOT_FOUND
                 : code == RUN_LEASED  ? STATUS_LEASED
                                       : STATUS_UNAVAILABLE;
    run_end(run, status, code);
}

const struct batch_kind run_kind = {SCRIPT_RUN, OWNER_CALLS_MAX, true, NULL, run_add_item, run_end_item};

void store_run(struct store *store, struct slice id, struct store_when when, store_run_fn *fn, void *arg)
{
    struct run *run = NEW(struct run);
    run->shard = store_shard_of(store, id);
    run->id = id;
    when_format(when, run->when);
    run->fn = fn;
    run->arg = arg;
    buffer_init_fallible(&run->old_record, RECORD_MAX);
    buffer_init_fallible(&run->new_record, RECORD_MAX);
    run->item.bytes = id.size + BATCH_ITEM_OVERHEAD;
    batch_add(&run->shard->batches[SHARD_BATCH_RUN], &run->item);
}
