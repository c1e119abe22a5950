#include "qstash/messages/message.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t wait_ms = -1;
    if (retry_time_parse(input_of(data, size), FUZZ_NOW_MS, &wait_ms))
        assert(wait_ms >= 0 && wait_ms <= RETRY_TIME_MAX_MS);
    return 0;
}
