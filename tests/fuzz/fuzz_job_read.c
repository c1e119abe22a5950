#include "base/timestamp.h"
#include "fuzz.h"
#include "job/job.h"
#include "job/request.h"

/* An accepted record is written, read and written again. Both written texts must be the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct job job, again;
    struct buffer record, rewritten;
    if (job_read(SLICE("mail/1"), input_of(data, size), &job) != STATUS_OK)
        return 0;
    if (job.lacks.size) { /* a job whose "needs" list an unknown feature must not be written */
        job_fini(&job);
        return 0;
    }
    assert(job.created_ms > 0 && job.created_ms <= TIMESTAMP_MAX_MS &&
           job.last_attempt.at_ms <= TIMESTAMP_MAX_MS);
    assert(job.last_attempt.duration_ms <= TIMESTAMP_MAX_MS && job.wait_ms <= TIMESTAMP_MAX_MS);
    assert(job.attempts >= 0 && job.attempts <= JOB_ATTEMPTS_MAX && job.url.size <= JOB_URL_MAX);
    for (size_t i = 0; i < job.header_count; i++)
        assert(header_name_is_valid(job.headers[i].name) && header_value_is_valid(job.headers[i].value));
    buffer_init(&record, 1 << 20);
    buffer_init(&rewritten, 1 << 20);
    job_write(&job, &record);
    assert(!record.failed);
    enum status status = job_read(SLICE("mail/1"), buffer_slice(&record), &again);
    assert(status == STATUS_OK);
    assert(slice_equal(again.url, job.url) && slice_equal(again.body, job.body) &&
           again.header_count == job.header_count && again.attempts == job.attempts);
    job_write(&again, &rewritten);
    assert(slice_equal(buffer_slice(&record), buffer_slice(&rewritten)));
    job_fini(&again);
    buffer_fini(&rewritten);
    buffer_fini(&record);
    job_fini(&job);
    return 0;
}
