#include "job/delivery/delivery_form.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char detail[AGAIN_DETAIL_SIZE];
    int64_t wait_ms;
    if (again_parse(input_of(data, size), INT64_C(1900000000000), &wait_ms, detail)) {
        assert(wait_ms >= AGAIN_MIN_MS && wait_ms <= AGAIN_MAX_MS);
        return 0;
    }
    assert(strlen(detail) <= ATTEMPT_DETAIL_MAX);
    for (const char *at = detail; *at; at++)
        assert(*at >= ' ' && *at <= '~' && *at != '"' && *at != '\\');
    return 0;
}
