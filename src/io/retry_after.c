#include "io/retry_after.h"

static bool is_line_end(char byte)
{
    return byte == '\r' || byte == '\n';
}

int64_t retry_after_seconds(struct slice value)
{
    uint64_t seconds;
    while (value.size && is_line_end(value.data[value.size - 1]))
        value.size--;
    value = slice_trim(value);
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] < '0' || value.data[i] > '9')
            return -1;
    if (value.size == 0)
        return -1;
    return slice_to_number(value, RETRY_AFTER_MAX_S, &seconds) ? (int64_t)seconds : RETRY_AFTER_MAX_S;
}
