#include <stdio.h>

#include "fuzz.h"
#include "job/job.h"

/* Writes the record as schedule.lua stores it. */
static void write_record(const struct job *job, struct buffer *record)
{
    buffer_init(record, 1 << 20);
    buffer_printf(record, "{\"createdAt\":%lld,", (long long)FUZZ_NOW_MS);
    job_write(job, record);
    assert(!record->failed);
}

static void check_job(struct job *job, struct slice text)
{
    struct buffer record, scratch;
    struct job again;
    char id[JOB_KEY_MAX + 1];
    assert(lies_in(job->body, text));
    assert(!job->is_due_local || job->timezone.size);
    assert(!job->throttle_key.size || job->throttle_per_ms > 0);
    assert(!job->debounce_key.size || (job->debounce_wait_ms > 0 && !job->job_id.size));
    job->timezone = job->throttle_key = job->debounce_key = SLICE(""); /* the record does not have them */
    job->throttle_per_ms = job->debounce_wait_ms = job->debounce_max_ms = 0;
    if (job->job_id.size == 0)
        job->job_id = SLICE("made");
    snprintf(id, sizeof id, "%.*s/%.*s", SLICE_ARG(job->topic), SLICE_ARG(job->job_id));
    write_record(job, &record);
    enum status status = job_read(slice_of(id), buffer_slice(&record), &again);
    assert(status == STATUS_OK);
    assert(slice_equal(job->body, again.body) && job_is_same(job, &again));
    buffer_init(&scratch, text.size);
    struct slice payload = job_payload(&again, &scratch);
    assert(!scratch.failed && job_content_type(&again, payload).size > 0);
    buffer_fini(&scratch);
    buffer_fini(&record);
    job_fini(&again);
}

/* An accepted job must be the same after its record is written and read. A refused job must have a reason. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct job job;
    static struct job_errors errors;
    struct slice text = input_of(data, size);
    if (job_parse(text, FUZZ_NOW_MS, &job, &errors) == STATUS_OK) {
        check_job(&job, text);
        job_fini(&job);
    } else {
        assert(errors.count > 0 && errors.count <= JOB_ERRORS_MAX);
    }
    enum status status = job_parse_named(SLICE("mail/1"), text, FUZZ_NOW_MS, &job, &errors);
    if (status == STATUS_OK)
        job_fini(&job);
    return 0;
}
