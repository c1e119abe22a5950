#include "job/seconds.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t max_ms = INT64_C(315360000) * 1000;
    int64_t ms, again_ms;
    struct buffer text;
    if (!seconds_parse(input_of(data, size), max_ms, &ms))
        return 0;
    assert(ms >= 0 && ms <= max_ms);
    buffer_init(&text, 64);
    seconds_append(&text, ms);
    bool is_read = seconds_parse(buffer_slice(&text), max_ms, &again_ms);
    assert(is_read && again_ms == ms);
    buffer_fini(&text);
    return 0;
}
