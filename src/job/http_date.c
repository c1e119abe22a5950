#include "job/http_date.h"

#include <stdio.h>

#include "base/timestamp.h"

enum { DATE_MAX = 40 };

/* The parts of a date, as texts. */
struct date_parts {
    char day[3], month[4], year[5], hour[3], minute[3], second[3];
};

static int month_number(const char *name)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++)
        if (strncmp(name, names + (size_t)3 * (size_t)i, 3) == 0)
            return i + 1;
    return 0;
}

/* Splits a date in one of the three forms of RFC 9110: "Sun, 06 Nov 1994 08:49:37 GMT",
 * "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994". */
static bool split_date(const char *text, struct date_parts *date)
{
    int end = 0;
    char year[3];
    if (sscanf(text, "%*3[A-Za-z], %2[0-9] %3[A-Za-z] %4[0-9] %2[0-9]:%2[0-9]:%2[0-9] GMT%n", date->day,
               date->month, date->year, date->hour, date->minute, date->second, &end) == 6 &&
        end && !text[end])
        return true;
    end = 0;
    if (sscanf(text, "%*9[A-Za-z], %2[0-9]-%3[A-Za-z]-%2[0-9] %2[0-9]:%2[0-9]:%2[0-9] GMT%n", date->day,
               date->month, year, date->hour, date->minute, date->second, &end) == 6 &&
        end && !text[end]) {
        snprintf(date->year, sizeof date->year, "20%s", year);
        return true;
    }
    end = 0;
    return sscanf(text, "%*3[A-Za-z] %3[A-Za-z] %2[0-9] %2[0-9]:%2[0-9]:%2[0-9] %4[0-9]%n", date->month,
                  date->day, date->hour, date->minute, date->second, date->year, &end) == 6 &&
           end && !text[end];
}

bool http_date_parse(struct slice value, int64_t *ms)
{
    char text[DATE_MAX + 1], stamp[2 * DATE_MAX];
    struct date_parts date;
    if (value.size > DATE_MAX || (value.size && memchr(value.data, '\0', value.size)))
        return false;
    snprintf(text, sizeof text, "%.*s", SLICE_ARG(value));
    if (!split_date(text, &date))
        return false;
    snprintf(stamp, sizeof stamp, "%s-%02d-%s%sT%s:%s:%sZ", date.year, month_number(date.month),
             date.day[1] ? "" : "0", date.day, date.hour, date.minute, date.second);
    return timestamp_parse(slice_of(stamp), ms);
}
