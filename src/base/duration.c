#include "base/duration.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- decimal numbers ---- */

enum {
    DIGITS_MAX = 19
}; /* Number of digits that are kept. 19 digits fit into 64 bits; 19 digits times the multiplier fit into 128
      bits. */

/* An exponent stops growing when it reaches this limit. A number with such an exponent is 0 or too large in
 * any case, because no text has enough digits to make up for the exponent. */
#define EXPONENT_MAX INT64_C(1000000000000)

/* The number is significand * 10^exponent. If is_cut is true, digits were dropped, and the real number is
 * slightly larger. */
struct decimal {
    bool is_negative;
    bool is_cut;
    uint64_t significand;
    int digits;
    int64_t exponent;
};

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Takes digits from the front of *rest; returns false when the first byte is not a digit. */
static bool take_digits(struct slice *rest, struct decimal *number, bool is_fraction)
{
    size_t i = 0;
    for (; i < rest->size && is_digit(rest->data[i]); i++) {
        unsigned digit = (unsigned)(rest->data[i] - '0');
        bool fits = number->digits < DIGITS_MAX;
        if (fits) {
            number->significand = number->significand * 10 + digit;
            number->digits += number->significand != 0;
        } else {
            number->is_cut |= digit != 0;
        }
        number->exponent += (fits ? 0 : 1) - (is_fraction ? 1 : 0);
    }
    *rest = slice_skip(*rest, i);
    return i > 0;
}

static bool take_exponent(struct slice *rest, struct decimal *number)
{
    bool is_negative = rest->size && rest->data[0] == '-';
    if (rest->size && (rest->data[0] == '-' || rest->data[0] == '+'))
        *rest = slice_skip(*rest, 1);
    int64_t exponent = 0;
    size_t i = 0;
    for (; i < rest->size && is_digit(rest->data[i]); i++)
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (rest->data[i] - '0');
    *rest = slice_skip(*rest, i);
    number->exponent += is_negative ? -exponent : exponent;
    return i > 0;
}

static bool starts_with_any(struct slice text, char a, char b)
{
    return text.size && (text.data[0] == a || text.data[0] == b);
}

static bool read(struct slice text, struct decimal *number)
{
    *number = (struct decimal){0};
    number->is_negative = starts_with_any(text, '-', '-');
    struct slice rest = slice_skip(text, number->is_negative ? 1 : 0);
    if (!take_digits(&rest, number, false))
        return false;
    if (starts_with_any(rest, '.', '.')) {
        rest = slice_skip(rest, 1);
        if (!take_digits(&rest, number, true))
            return false;
    }
    if (starts_with_any(rest, 'e', 'E')) {
        rest = slice_skip(rest, 1);
        if (!take_exponent(&rest, number))
            return false;
    }
    return rest.size == 0;
}

bool decimal_parse(struct slice text, int64_t multiplier, int64_t max, int64_t *value, bool *is_exact)
{
    struct decimal number;
    assert(multiplier > 0 && multiplier <= 1000000000 && max >= 0);
    if (!read(text, &number))
        return false;
    bool is_zero = number.significand == 0;
    if (number.is_negative && !is_zero)
        return false;

    /* The product is below 10^19 * 10^9, which needs 94 bits. GCC and Clang have integers of 128 bits. */
    __extension__ unsigned __int128 product = (unsigned __int128)number.significand * (uint64_t)multiplier;
    bool is_rounded = number.is_cut;
    for (; number.exponent > 0 && !is_zero; number.exponent--) {
        product *= 10;
        if (product > (uint64_t)max)
            return false;
    }
    for (; number.exponent < 0 && product; number.exponent++) {
        is_rounded |= product % 10 != 0;
        product /= 10;
    }
    product += is_rounded;
    if (product > (uint64_t)max)
        return false;
    *value = (int64_t)product;
    if (is_exact)
        *is_exact = !is_rounded;
    return true;
}

/* ---- durations ---- */

/* The units are in descending order, because duration_format needs this order. */
static const struct unit {
    const char *suffix;
    int64_t ms;
} units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

enum { UNITS = sizeof units / sizeof *units };

static bool is_digit_or_point(char byte)
{
    return (byte >= '0' && byte <= '9') || byte == '.';
}

/* If are_digits is true, takes the leading digits from the front of *text; otherwise, takes the bytes before
 * the first digit. */
static struct slice take(struct slice *text, bool are_digits)
{
    size_t size = 0;
    while (size < text->size && is_digit_or_point(text->data[size]) == are_digits)
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
