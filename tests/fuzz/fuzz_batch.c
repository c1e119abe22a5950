#include "job/delivery/batch.h"

#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice answer = input_of(data, size);
    struct batch_result result, cut;
    if (!batch_has_results(answer))
        return 0;
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        struct batch_results results;
        batch_results_read(answer, is_cut, &results);
        batch_result_of(&results, SLICE("a"), is_cut ? &cut : &result);
        batch_results_fini(&results);
    }
    assert(result.verdict == cut.verdict && result.has_wait == cut.has_wait);
    assert(memchr(result.detail, '\0', sizeof result.detail));
    if (result.verdict == BATCH_DELIVERED)
        assert(!result.has_wait && !result.detail[0]);
    if (result.has_wait)
        assert(result.verdict == BATCH_FAILED && result.wait_ms >= 0 && result.wait_ms <= JOB_DELAY_MAX_MS);
    return 0;
}
