#include "cli/when.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"

#define MS_PER_S   INT64_C(1000)
#define MS_PER_MIN (60 * MS_PER_S)
#define MS_PER_H   (60 * MS_PER_MIN)
#define MS_PER_DAY (24 * MS_PER_H)

/* Returns the time of the host's clock, because times of the API are calendar times. */
static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / 1000000;
}

bool when_parse(const char *text, char time[TIMESTAMP_SIZE])
{
    int64_t at = now_ms(), span = 0;
    bool is_relative = text[0] == '-' || text[0] == '+';
    if (is_relative && !duration_parse(slice_of(text + 1), TIMESTAMP_MAX_MS - at, &span))
        return false;
    if (is_relative)
        at = text[0] == '-' ? at - span : at + span;
    else if (strcmp(text, "now") != 0 && !timestamp_parse(slice_of(text), &at))
        return false;
    timestamp_format(at < 0 ? 0 : at, time);
    return true;
}

bool when_parse_past(const char *text, char time[TIMESTAMP_SIZE])
{
    int64_t span;
    if (!duration_parse(slice_of(text), TIMESTAMP_MAX_MS, &span))
        return when_parse(text, time);
    int64_t at = now_ms() - span;
    timestamp_format(at < 0 ? 0 : at, time);
    return true;
}

/* Writes a span in two units: the largest unit that fits into the span, and the next smaller unit. */
static void format_span(int64_t ms, char *text, size_t size)
{
    if (ms >= MS_PER_DAY)
        snprintf(text, size, "%" PRId64 " d %" PRId64 " h", ms / MS_PER_DAY, ms % MS_PER_DAY / MS_PER_H);
    else if (ms >= MS_PER_H)
        snprintf(text, size, "%" PRId64 " h %" PRId64 " min", ms / MS_PER_H, ms % MS_PER_H / MS_PER_MIN);
    else if (ms >= MS_PER_MIN)
        snprintf(text, size, "%" PRId64 " min %" PRId64 " s", ms / MS_PER_MIN, ms % MS_PER_MIN / MS_PER_S);
    else
        snprintf(text, size, "%" PRId64 ".%" PRId64 " s", ms / MS_PER_S, ms % MS_PER_S / 100);
}

bool when_span(const char *time, char span[WHEN_SPAN_SIZE])
{
    char text[WHEN_SPAN_SIZE / 2];
    int64_t at;
    if (!timestamp_parse(slice_of(time), &at))
        return false;
    int64_t left = at - now_ms();
    format_span(left < 0 ? -left : left, text, sizeof text);
    if (left > -100 && left < 100)
        snprintf(span, WHEN_SPAN_SIZE, "now");
    else
        snprintf(span, WHEN_SPAN_SIZE, left < 0 ? "%s ago" : "in %s", text);
    return true;
}

bool when_age(const char *time, char age[WHEN_SPAN_SIZE])
{
    static const struct {
        int64_t ms;
        char name;
    } units[] = {{MS_PER_DAY, 'd'}, {MS_PER_H, 'h'}, {MS_PER_MIN, 'm'}, {MS_PER_S, 's'}};
    enum { LAST = sizeof units / sizeof *units - 1 };
    int64_t at;
    size_t i = 0;
    if (!timestamp_parse(slice_of(time), &at))
        return false;
    int64_t ms = now_ms() > at ? now_ms() - at : 0;
    while (i < LAST && ms < units[i].ms)
        i++;
    snprintf(age, WHEN_SPAN_SIZE, "%" PRId64 "%c", ms / units[i].ms, units[i].name);
    return true;
}
