#include "base/timestamp.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t ms, again_ms;
    char text[TIMESTAMP_SIZE];
    if (!timestamp_parse(input_of(data, size), &ms))
        return 0;
    assert(ms >= 0 && ms <= TIMESTAMP_MAX_MS);
    timestamp_format(ms, text);
    bool is_read = timestamp_parse(slice_of(text), &again_ms);
    assert(is_read && again_ms == ms);
    return 0;
}
