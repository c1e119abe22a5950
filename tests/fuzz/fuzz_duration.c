#include "base/duration.h"
#include "fuzz.h"

/* What is taken is a time within its bound, and its shortest spelling means the same. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t max_ms = INT64_C(315360000) * 1000;
    int64_t ms, again_ms;
    char text[DURATION_TEXT_MAX];
    if (!duration_parse(input_of(data, size), max_ms, &ms))
        return 0;
    assert(ms >= 0 && ms <= max_ms);
    duration_format(ms, text);
    bool is_read = duration_parse(slice_of(text), max_ms, &again_ms);
    assert(is_read && again_ms == ms);
    return 0;
}
