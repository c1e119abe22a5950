#include "base/duration.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/decimal.h"

/* The largest first, as duration_format wants them; parsing looks for the longest suffix, "ms" before "s". */
static const struct unit {
    const char *suffix;
    int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"ms", 1}, {"s", 1000}};

enum { UNITS = sizeof units / sizeof *units };

bool duration_parse(struct slice text, int64_t max_ms, int64_t *ms)
{
    int64_t unit_ms = 1000;
    for (size_t i = 0; i < UNITS; i++) {
        struct slice suffix = slice_of(units[i].suffix);
        if (text.size && slice_ends_with(text, suffix)) {
            unit_ms = units[i].ms;
            text.size -= suffix.size;
            break;
        }
    }
    for (size_t i = 0; i < text.size; i++) /* no signs, no exponents */
        if (text.data[i] != '.' && (text.data[i] < '0' || text.data[i] > '9'))
            return false;
    return decimal_parse(text, unit_ms, max_ms, ms, NULL);
}

void duration_format(int64_t ms, char text[DURATION_TEXT_MAX])
{
    if (ms == 0) {
        snprintf(text, DURATION_TEXT_MAX, "0s");
        return;
    }
    for (size_t i = 0; i < UNITS; i++) {
        if (units[i].ms > 1 && ms % units[i].ms == 0) {
            snprintf(text, DURATION_TEXT_MAX, "%" PRId64 "%s", ms / units[i].ms, units[i].suffix);
            return;
        }
    }
    if (ms < 1000) {
        snprintf(text, DURATION_TEXT_MAX, "%" PRId64 "ms", ms);
        return;
    }
    int size = snprintf(text, DURATION_TEXT_MAX, "%" PRId64 ".%03d", ms / 1000, (int)(ms % 1000));
    while (text[size - 1] == '0')
        size--;
    memcpy(text + size, "s", 2);
}
