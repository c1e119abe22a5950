#include "qstash/retry_time.h"

#include "job/delivery/delivery_form.h"

enum { PARTS_MAX = 8 };

/* Takes a decimal number of at most 12 digits. Returns false if text does not begin with one. */
static bool take_number(struct slice *text, double *number)
{
    size_t digits = 0, i = 0;
    double scale = 1;
    bool has_point = false;
    *number = 0;
    for (; i < text->size && ((text->data[i] >= '0' && text->data[i] <= '9') || text->data[i] == '.'); i++) {
        if (text->data[i] == '.' && has_point)
            return false;
        has_point |= text->data[i] == '.';
        if (text->data[i] == '.')
            continue;
        *number = *number * 10 + (text->data[i] - '0');
        scale *= has_point ? 10 : 1;
        digits++;
    }
    *number /= scale;
    *text = slice_skip(*text, i);
    return digits > 0 && digits <= 12;
}

/* Takes a unit. Without a unit, the number is in seconds, and must be the end of the text. */
static bool take_unit(struct slice *text, double *unit_ms)
{
    static const struct {
        struct slice name;
        double ms;
    } units[] = {{SLICE_INIT("ns"), 1e-6},  {SLICE_INIT("us"), 1e-3}, {SLICE_INIT("ms"), 1},
                 {SLICE_INIT("h"), 3600e3}, {SLICE_INIT("m"), 60e3},  {SLICE_INIT("s"), 1e3}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (slice_starts_with(*text, units[i].name)) {
            *text = slice_skip(*text, units[i].name.size);
            *unit_ms = units[i].ms;
            return true;
        }
    }
    return false;
}

static bool read_parts(struct slice text, double *ms)
{
    *ms = 0;
    for (int part = 0; text.size && part < PARTS_MAX; part++) {
        double number, unit_ms = 1000;
        if (!take_number(&text, &number) || (!take_unit(&text, &unit_ms) && (text.size || part)))
            return false;
        *ms += number * unit_ms;
    }
    return text.size == 0;
}

bool retry_time_parse(struct slice text, int64_t now_ms, int64_t *wait_ms)
{
    double ms;
    int64_t at_ms;
    text = slice_trim(text);
    if (text.size == 0)
        return false;
    if (http_date_parse(text, &at_ms))
        ms = at_ms > now_ms ? (double)(at_ms - now_ms) : 0;
    else if (!read_parts(text, &ms))
        return false;
    *wait_ms = (int64_t)ms;
    return ms <= (double)RETRY_TIME_MAX_MS;
}
