#include "fuzz.h"
#include "job/job_parse.h"

/* An accepted array must be valid JSON, and each job must be a part of the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX + 1, SIZE_MAX};
    static struct job_errors errors;
    struct slice text = input_of(data, size), job;
    struct json_cursor top;
    struct json_fault fault;
    struct job_cutter cutter;
    bool has_lines = !json_open(text, &top) || top.close != ']';
    size_t jobs = 0;
    enum status status;
    job_cutter_init(&cutter, text, has_lines);
    while ((status = job_cutter_next(&cutter, &job, &errors)) == STATUS_OK) {
        assert(lies_in(job, text) && (job.size > 0 || has_lines));
        jobs += job.size > 0;
    }
    assert(status == STATUS_NOT_FOUND || errors.count == 1);
    assert(status != STATUS_NOT_FOUND || (jobs > 0 && jobs <= JOB_CUTTER_MAX));
    if (status == STATUS_NOT_FOUND && !has_lines)
        assert(json_check(text, &limits, &fault) == STATUS_OK || fault.is_json);
    return 0;
}
