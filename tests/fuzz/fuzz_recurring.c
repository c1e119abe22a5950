#include "fuzz.h"
#include "job/schedule/recurrence.h"
#include "job/schedule/recurring.h"
#include "job/text/json.h"

enum { TEXT_MAX = 1 << 20 };

static struct recurrence_decision decision;

/* If the clock steps back, only times may fire that the earlier decision has skipped. */
static void check_progress(const struct recurrence *recurrence, struct recurrence_progress *progress,
                           int64_t now_ms)
{
    for (size_t i = 0; i < decision.count; i++)
        recurrence_progress_take(progress, recurrence, decision.times_ms[i]);
    if (decision.count == 0)
        recurrence_progress_skip(progress, recurrence, now_ms);
    recurrence_progress_set_back(progress, recurrence, decision.next_ms);
    assert(progress->front_ms == decision.next_ms && progress->back_ms <= now_ms);
    if (progress->back_ms < 0)
        return;
    assert(recurrence_progress_next_ms(progress, recurrence, progress->back_ms - 1) == progress->back_ms);
    for (size_t i = 0; i < decision.count; i++)
        assert(recurrence_progress_next_ms(progress, recurrence, decision.times_ms[i] - 1) !=
               decision.times_ms[i]);
}

/* The times of a decision about missed times must be in order, and not in the future. */
static void check_times(const struct recurring *recurring)
{
    struct recurrence recurrence;
    recurring_recurrence(recurring, SLICE("orders/a"), time_zone_utc(), &recurrence);
    int64_t first_ms = recurrence_next_ms(&recurrence, FUZZ_NOW_MS);
    if (first_ms == RECURRENCE_NEVER_MS)
        return;
    assert(first_ms > FUZZ_NOW_MS);
    int64_t jitter_ms = recurrence_jitter_ms(&recurrence, first_ms);
    assert(jitter_ms >= 0 && jitter_ms <= recurring->jitter_ms);
    int64_t now_ms = first_ms + 3600000;
    struct recurrence_progress progress;
    recurrence_progress_read(SLICE(""), first_ms, &progress);
    recurrence_decide(&recurrence, &progress, first_ms, now_ms, &decision);
    assert(decision.next_ms > now_ms);
    for (size_t i = 0; i < decision.count; i++)
        assert(decision.times_ms[i] <= now_ms &&
               decision.times_ms[i] >= (i ? decision.times_ms[i - 1] + 1 : first_ms));
    check_progress(&recurrence, &progress, now_ms);
}

static void check_shown(const struct recurring *recurring, const struct job *job)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    struct buffer shown;
    buffer_init(&shown, TEXT_MAX);
    struct json_writer json = json_writer_to(&shown);
    json_put_object(&json);
    recurring_show(recurring, job, &json);
    json_end_object(&json);
    assert(json_check(buffer_slice(&shown), &limits, &fault) == STATUS_OK);
    buffer_fini(&shown);
}

/* The record of an accepted definition must be read as the same definition, and be written as the same record
 * again. */
static void check_record(const struct recurring *recurring, const struct job *job, struct buffer *record)
{
    struct recurring read;
    struct job read_job;
    struct buffer again;
    buffer_init(&again, TEXT_MAX);
    recurring_write(recurring, job, record);
    enum status status = recurring_read(buffer_slice(record), &read);
    assert(status == STATUS_OK && read.lacks.size == 0);
    status = recurring_read_job(&read, SLICE("orders"), &read_job);
    assert(status == STATUS_OK);
    recurring_write(&read, &read_job, &again);
    assert(slice_equal(buffer_slice(record), buffer_slice(&again)));
    check_shown(&read, &read_job);
    check_times(&read);
    job_fini(&read_job);
    recurring_fini(&read);
    buffer_fini(&again);
}

static void check_patch(struct slice record, struct slice patch)
{
    static struct job_errors errors;
    struct recurring recurring;
    struct job job;
    struct buffer text, out;
    buffer_init(&text, TEXT_MAX);
    buffer_init(&out, TEXT_MAX);
    enum status status =
        recurring_patch(SLICE("orders"), record, patch, FUZZ_NOW_MS, &text, &recurring, &job, &errors);
    assert((status == STATUS_INVALID) == (errors.count > 0));
    if (status == STATUS_OK) {
        recurring_write(&recurring, &job, &out);
        job_fini(&job);
        recurring_fini(&recurring);
    }
    buffer_fini(&text);
    buffer_fini(&out);
}

/* Reads the input as a record of any version. */
static void check_kept(struct slice kept)
{
    struct recurring recurring;
    struct job job;
    if (recurring_read(kept, &recurring) != STATUS_OK)
        return;
    if (recurring.lacks.size == 0) {
        check_times(&recurring);
        if (recurring_read_job(&recurring, SLICE("orders"), &job) == STATUS_OK)
            job_fini(&job);
    }
    recurring_fini(&recurring);
}

/* Input: a line with a definition or a record, then a patch for it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct job_errors errors;
    struct recurring recurring;
    struct job job;
    struct buffer record;
    struct slice first, patch;
    slice_cut(input_of(data, size), '\n', &first, &patch);
    check_kept(first);
    check_patch(first, patch);
    if (recurring_parse(SLICE("orders"), first, FUZZ_NOW_MS, &recurring, &job, &errors) != STATUS_OK) {
        assert(errors.count > 0);
        return 0;
    }
    buffer_init(&record, TEXT_MAX);
    recurring.created_ms = FUZZ_NOW_MS;
    check_record(&recurring, &job, &record);
    check_patch(buffer_slice(&record), patch);
    job_fini(&job);
    recurring_fini(&recurring);
    buffer_fini(&record);
    return 0;
}
