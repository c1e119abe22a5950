#include "base/duration.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/decimal.h"

/* The units are in descending order, because duration_format needs this order. */
static const struct unit {
    const char *suffix;
    int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

enum { UNITS = sizeof units / sizeof *units };

static bool is_digit(char byte)
{
    return (byte >= '0' && byte <= '9') || byte == '.';
}

/* If are_digits is true, takes the leading digits from the front of *text; otherwise, takes the bytes before
 * the first digit. */
static struct slice take(struct slice *text, bool are_digits)
{
    size_t size = 0;
    while (size < text->size && is_digit(text->data[size]) == are_digits)
        size++;
    struct slice part = slice_from(text->data, size);
    *text = slice_skip(*text, size);
    return part;
}

/* Searches the table for the unit with this suffix, from the index "first" on. Returns the index of the
 * unit, or UNITS if there is no such unit. */
static size_t find_unit(struct slice suffix, size_t first)
{
    size_t i = first;
    while (i < UNITS && !slice_equal(suffix, slice_of(units[i].suffix)))
        i++;
    return i;
}

bool duration_parse(struct slice text, int64_t max_ms, int64_t *ms)
{
    size_t first = 0;
    struct slice rest = text, number = take(&rest, true);
    if (rest.size == 0) /* only digits and a point, so decimal_parse sees no sign and no exponent */
        return decimal_parse(number, 1000, max_ms, ms, NULL);
    for (*ms = 0, rest = text; rest.size;) {
        int64_t part_ms;
        number = take(&rest, true);
        size_t unit = find_unit(take(&rest, false), first);
        if (unit == UNITS || !decimal_parse(number, units[unit].ms, max_ms - *ms, &part_ms, NULL))
            return false;
        *ms += part_ms;
        first = unit + 1;
    }
    return true;
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
