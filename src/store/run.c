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
    job.reason = job.answer_headers = (struct slice){NULL, 0};
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
