#include "job/seconds.h"

#include "base/decimal.h"

bool seconds_parse(struct slice number, int64_t max_ms, int64_t *ms)
{
    return decimal_parse(number, 1000, max_ms, ms, NULL);
}

void seconds_append(struct buffer *out, int64_t ms)
{
    buffer_append_number(out, ms / 1000);
    int rest = (int)(ms % 1000);
    if (rest == 0)
        return;
    char digits[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
    size_t size = sizeof digits;
    while (digits[size - 1] == '0')
        size--;
    buffer_append(out, slice_from(digits, size));
}
