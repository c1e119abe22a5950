/* series.c - the figures of the last minute, one number a second, merged from answers of GET /overview. */
#include "cli/top/top.h"

enum {
    RATE_SECONDS = 5,
    LAST_SECONDS = 10,
    SETTLING_MS =
        3000, /* for this long after the end of a second, other processes may still report its figures */
    SECOND_MS = 1000,
    STEP_MAX = 3600, /* maximum number of seconds in an answer */
};

static const char *const names[TOP_FIGURES] = {
    [TOP_ACCEPTED] = "accepted", [TOP_DELIVERED] = "delivered", [TOP_RETRIED] = "retried",
    [TOP_DEAD] = "dead",         [TOP_LATE_P50] = "lateP50Ms",  [TOP_LATE_P99] = "lateP99Ms",
};

static void forget_seconds(double *seconds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        seconds[i] = -1;
}

void top_series_init(struct top_series *series)
{
    series->end_ms = 0;
    for (size_t i = 0; i < TOP_FIGURES; i++)
        forget_seconds(series->seconds[i], TOP_SECONDS);
}

void top_series_merge(struct top_series *series, const json_t *answer)
{
    int64_t from_ms = json_integer_value(json_object_get(answer, "from"));
    int64_t step = json_integer_value(json_object_get(answer, "step"));
    size_t count = 0;
    for (size_t i = 0; i < TOP_FIGURES; i++) {
        size_t size = json_array_size(json_object_get(answer, names[i]));
        count = size > count ? size : count;
    }
    if (count == 0 || count > STEP_MAX || step != 1 || from_ms <= 0 || from_ms > INT64_MAX / 2)
        return;
    int64_t end_ms = from_ms + (int64_t)count * SECOND_MS;
    if (end_ms > series->end_ms) {
        /* Moves the figures in the array so that its last second ends at end_ms. */
        int64_t seconds = (end_ms - series->end_ms) / SECOND_MS;
        size_t gone = seconds < TOP_SECONDS ? (size_t)seconds : TOP_SECONDS;
        for (size_t i = 0; i < TOP_FIGURES; i++) {
            memmove(series->seconds[i], series->seconds[i] + gone, (TOP_SECONDS - gone) * sizeof(double));
            forget_seconds(series->seconds[i] + TOP_SECONDS - gone, gone);
        }
        series->end_ms = end_ms;
    }
    for (size_t i = 0; i < TOP_FIGURES; i++) {
        const json_t *numbers = json_object_get(answer, names[i]);
        for (size_t at = 0; at < json_array_size(numbers); at++) {
            const json_t *number = json_array_get(numbers, at);
            int64_t end_of_second_ms = from_ms + ((int64_t)at + 1) * SECOND_MS;
            int64_t ago = (series->end_ms - end_of_second_ms) / SECOND_MS;
            if (ago >= 0 && ago < TOP_SECONDS)
                series->seconds[i][TOP_SECONDS - 1 - ago] =
                    json_is_number(number) ? json_number_value(number) : -1;
        }
    }
}

int64_t top_series_after_ms(const struct top_series *series)
{
    return series->end_ms > SETTLING_MS ? series->end_ms - SETTLING_MS : 0;
}

double top_series_rate(const struct top_series *series, enum top_figure figure)
{
    double sum = 0;
    int known = 0;
    for (size_t i = TOP_SECONDS - RATE_SECONDS; i < TOP_SECONDS; i++) {
        if (series->seconds[figure][i] < 0)
            continue;
        sum += series->seconds[figure][i];
        known++;
    }
    return known > 0 ? sum / known : -1;
}

double top_series_last(const struct top_series *series, enum top_figure figure)
{
    for (size_t i = TOP_SECONDS; i > TOP_SECONDS - LAST_SECONDS; i--)
        if (series->seconds[figure][i - 1] >= 0)
            return series->seconds[figure][i - 1];
    return -1;
}
