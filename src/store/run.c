/* run.c - makes jobs due now, or at a given time.
 *
 * A dead job starts over, with a record without attempts. Only C writes records, so this file reads the
 * record and writes a new one without attempts. The script replaces the record only if it has not changed
 * since it was read; otherwise all steps are repeated. If a dead job and a job of the pool have the same id,
 * tags may select one of them. */
#include "base/memory.h"
#include "job/job.h"
#include "store/reply.h"
#include "store/shard_private.h"

struct run {
    struct batch_item item;
    struct shard *shard;
    struct slice id, tags;
    struct store_when when;
    struct buffer old_record, new_record; /* empty in the first call; set only for a dead job */
    int tries;
    store_run_fn *fn;
    void *arg;
};

enum { RUN_TRIES_MAX = 5 };

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
    script_call_when(call, run->when);
    script_call_text(call, run->tags);
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
        return STATUS_UNREADABLE;
    if (job.lacks.size) {
        job_fini(&job);
        return STATUS_LACKING;
    }
    job.attempts = 0;
    job.uncounted = 0;
    job.rounds = 0;
    job.reason = job.answer_headers = (struct slice){NULL, 0};
    job_write(&job, &run->new_record);
    job_fini(&job);
    return run->old_record.failed || run->new_record.failed ? STATUS_NO_MEMORY : STATUS_OK;
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
    run->item.bytes =
        run->id.size + run->tags.size + run->old_record.size + run->new_record.size + BATCH_ITEM_OVERHEAD;
    batch_add(&run->shard->batches[SHARD_BATCH_RUN], &run->item);
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

static void run_end_item(struct batch_item *item, enum status status, int64_t now_us,
                         const struct redis_reply *result)
{
    struct run *run = (struct run *)item;
    int64_t code = redis_reply_integer(result);
    (void)now_us;
    if (status == STATUS_OK && code == RESULT_AGAIN) {
        batch_add(&run->shard->batches[SHARD_BATCH_RUN], item);
        return;
    }
    if (status == STATUS_OK && code == RESULT_CHANGED && run->tries++ < RUN_TRIES_MAX) {
        shard_read(run->shard, run->id, false, on_run_read, run);
        return;
    }
    run_end(run, status == STATUS_OK && code < 0 ? run_status(code) : status, code);
}

const struct batch_kind run_kind = {SCRIPT_RUN,         OWNER_CALLS_MAX, true,
                                    shard_add_max_jobs, run_add_item,    run_end_item};

void store_run(struct store *store, struct slice id, struct slice tags, struct store_when when,
               store_run_fn *fn, void *arg)
{
    struct run *run = NEW(struct run);
    run->shard = store_shard_of(store, id);
    run->id = id;
    run->tags = tags;
    run->when = when;
    run->fn = fn;
    run->arg = arg;
    buffer_init_fallible(&run->old_record, JOB_RECORD_MAX);
    buffer_init_fallible(&run->new_record, JOB_RECORD_MAX);
    run->item.bytes = id.size + tags.size + BATCH_ITEM_OVERHEAD;
    if (tags.size)
        shard_read(run->shard, id, false, on_run_read,
                   run); /* the pool does not have the job, so look for a dead job with this id */
    else
        batch_add(&run->shard->batches[SHARD_BATCH_RUN], &run->item);
}
