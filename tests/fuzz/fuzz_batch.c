#include "job/delivery/batch.h"

#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice answer = input_of(data, size);
    struct batch_result result, cut;
    if (!batch_has_results(answer))
        return 0;
    batch_result_of(answer, false, SLICE("a"), &result);
    batch_result_of(answer, true, SLICE("a"), &cut);
    assert(result.verdict == cut.verdict && result.has_wait == cut.has_wait);
    assert(memchr(result.detail, '\0', sizeof result.detail));
    if (result.verdict == BATCH_DELIVERED)
        assert(!result.has_wait && !result.detail[0]);
    if (result.has_wait)
        assert(result.verdict == BATCH_FAILED && result.wait_ms >= 0 && result.wait_ms <= JOB_DELAY_MAX_MS);
    return 0;
}
