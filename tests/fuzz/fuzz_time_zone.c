#include "base/time_zone.h"
#include "fuzz.h"

/* The spans of an accepted file must follow each other without a gap. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct time_zone *zone = NULL;
    struct problem problem = {""};
    (void)time_zone_name_is_valid(input_of(data, size));
    if (time_zone_read(input_of(data, size), &zone, &problem) != STATUS_OK) {
        assert(!zone && problem.text[0]);
        return 0;
    }
    int64_t at_s = -FUZZ_NOW_MS / 1000;
    for (int i = 0; i < 300 && at_s < FUZZ_NOW_MS; i++) {
        struct time_zone_span span = time_zone_span(zone, at_s);
        assert(span.from_s <= at_s && at_s < span.until_s);
        assert(span.offset_s > -100 * 86400 && span.offset_s < 100 * 86400);
        if (span.until_s == INT64_MAX)
            break;
        at_s = span.until_s;
    }
    time_zone_free(zone);
    return 0;
}
