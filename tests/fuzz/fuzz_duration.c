#include "base/duration.h"
#include "fuzz.h"

static const int64_t max_ms = INT64_C(315360000) * 1000;

static void check_duration(struct slice input)
{
    int64_t ms, again_ms;
    char text[DURATION_TEXT_MAX];
    if (!duration_parse(input, max_ms, &ms))
        return;
    assert(ms >= 0 && ms <= max_ms);
    duration_format(ms, text);
    bool is_read = duration_parse(slice_of(text), max_ms, &again_ms);
    assert(is_read && again_ms == ms);
}

static void check_seconds(struct slice input)
{
    int64_t ms, again_ms;
    struct buffer text;
    if (!seconds_parse(input, max_ms, &ms))
        return;
    assert(ms >= 0 && ms <= max_ms);
    buffer_init(&text, 64);
    seconds_append(&text, ms);
    bool is_read = seconds_parse(buffer_slice(&text), max_ms, &again_ms);
    assert(is_read && again_ms == ms);
    buffer_fini(&text);
}

/* An accepted duration must be within its bound, and its shortest text must have the same value. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_duration(input_of(data, size));
    check_seconds(input_of(data, size));
    return 0;
}
