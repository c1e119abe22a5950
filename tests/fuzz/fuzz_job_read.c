#include "base/timestamp.h"
#include "fuzz.h"
#include "job/job.h"
#include "job/request.h"
#include "job/text/json.h"

/* A reader that checks the body must accept exactly the records whose body json_check accepts. */
static void check_body(struct slice record, const struct job *job)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, JOB_MEMBERS_MAX};
    static struct job checked;
    struct json_fault ignored;
    bool is_valid = job->body.size == 0 || json_check(job->body, &limits, &ignored) != STATUS_INVALID;
    if (job->lacks.size) /* its body may be unread */
        return;
    enum status status = job_read_checked(SLICE("mail/1"), record, &checked);
    assert((status == STATUS_OK) == is_valid);
    if (is_valid) {
        assert(slice_equal(checked.body, job->body));
        job_fini(&checked);
    }
}

/* An accepted record is written, read and written again. Both written texts must be the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct job job, again;
    struct buffer record, rewritten;
    if (job_read(SLICE("mail/1"), input_of(data, size), &job) != STATUS_OK)
        return 0;
    check_body(input_of(data, size), &job);
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
           again.header_count == job.header_count && again.attempts == job.attempts &&
           slice_equal(again.key, job.key) && job_priority(&again) == job_priority(&job));
    job_write(&again, &rewritten);
    assert(slice_equal(buffer_slice(&record), buffer_slice(&rewritten)));
    job_fini(&again);
    buffer_fini(&rewritten);
    buffer_fini(&record);
    job_fini(&job);
    return 0;
}
