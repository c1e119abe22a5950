#include "fuzz.h"
#include "job/job_parse.h"

/* Input: a line with a record, then a patch. The result is a job that can be read again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct job_errors errors;
    static struct job_patched patched;
    static struct job again;
    struct job_patch patch = {.id = SLICE("mail/1"), .now_ms = FUZZ_NOW_MS};
    struct buffer text, record;
    slice_cut(input_of(data, size), '\n', &patch.record, &patch.text);
    buffer_init(&text, 1 << 20);
    buffer_init(&record, 1 << 20);
    enum status status = job_patch(&patch, &text, &patched, &errors);
    assert(status != STATUS_INVALID || errors.count > 0);
    if (status == STATUS_OK) {
        job_write(&patched.job, &record);
        assert(!record.failed);
        status = job_read(patch.id, buffer_slice(&record), &again);
        assert(status == STATUS_OK);
        job_fini(&again);
        job_patched_fini(&patched);
    }
    buffer_fini(&record);
    buffer_fini(&text);
    return 0;
}
