#include "io/http/client_private.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t seconds = retry_after_seconds(input_of(data, size));
    assert(seconds >= -1 && seconds <= RETRY_AFTER_MAX_S);
    for (size_t i = 0; i < size && seconds >= 0; i++)
        assert((data[i] >= '0' && data[i] <= '9') || memchr(" \t\r\n", data[i], 4));
    return 0;
}
