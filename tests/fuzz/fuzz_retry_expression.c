#include "fuzz.h"
#include "job/retry.h"

/* An accepted text must give a wait within the bounds, or no value, and the same result each time. A refused
 * text must have no value. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = input_of(data, size);
    struct problem problem = {""};
    int64_t wait_ms = -1, again_ms = -1;
    bool is_one = retry_expression_check(text, 0, &problem) == STATUS_OK;
    assert(is_one == !problem.text[0]);
    assert(!is_one || size <= RETRY_EXPRESSION_MAX);
    bool has_all = retry_expression_check(text, 101, &problem) == STATUS_OK;
    assert(is_one || !has_all);
    for (int retried = 0; retried <= 100; retried += 50) {
        bool has_value = retry_expression_wait_ms(text, retried, &wait_ms);
        assert(!has_value || (is_one && wait_ms >= 0 && wait_ms <= JOB_WAIT_MAX_MS));
        assert(retry_expression_wait_ms(text, retried, &again_ms) == has_value);
        assert(!has_value || again_ms == wait_ms);
        assert(has_value || !has_all);
    }
    return 0;
}
