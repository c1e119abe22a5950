#include "fuzz.h"
#include "job/job.h"

/* A record that is taken is written as one that reads the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct job job, again;
    struct buffer record;
    if (job_read(SLICE("mail/1"), input_of(data, size), &job) != STATUS_OK)
        return 0;
    buffer_init(&record, 1 << 20);
    job_write(&job, &record);
    assert(!record.failed);
    enum status status = job_read(SLICE("mail/1"), buffer_slice(&record), &again);
    assert(status == STATUS_OK);
    assert(again.created_ms == job.created_ms && again.attempts == job.attempts && job_is_same(&job, &again));
    job_fini(&again);
    buffer_fini(&record);
    job_fini(&job);
    return 0;
}
