/* timestamp.h - dates of the calendar, and times as RFC 3339. */
#ifndef DUEPOST_BASE_TIMESTAMP_H
#define DUEPOST_BASE_TIMESTAMP_H

#include <stdint.h>

#include "base/slice.h"

/* ---- dates ---- */

/* Dates of the Gregorian calendar, counted in days since 1970-01-01. Valid for the years 0 to 9999.
 */

struct date {
    int year, month, day; /* month 1 to 12, day 1 to 31 */
};

int64_t date_to_days(struct date);
struct date date_from_days(int64_t days);

/* Returns the number of days of a month; month is 1 to 12. */
int date_month_days(int year, int month);

/* Returns 0 for a Sunday, 6 for a Saturday. */
int date_weekday(int64_t days);

/* ---- times ---- */

/* Times as text, in the form of RFC 3339 that the API uses. */

enum { TIMESTAMP_SIZE = 25 }; /* "2030-01-01T00:00:00.000Z" and its NUL */

#define TIMESTAMP_MAX_MS INT64_C(253402300799999) /* 9999-12-31T23:59:59.999Z */

/* The error for a text that timestamp_parse refuses. */
#define TIMESTAMP_EXPECTED "must be a time as in RFC 3339, such as 2030-01-01T00:00:00Z"

/* Parses a time with any offset. Fractions of a millisecond are rounded up. The time in UTC must not be after
 * the year 9999; a time before 1970 becomes 0. A leap second becomes the next second. */
bool timestamp_parse(struct slice text, int64_t *ms);

/* Parses a local time without an offset, such as 2030-01-01T09:00 or 2030-01-01T09:00:30: ms is the time that
 * a clock of UTC shows so. */
bool timestamp_parse_local(struct slice text, int64_t *ms);

/* Writes a time. If ms is below 0, writes 0; if ms is above TIMESTAMP_MAX_MS, writes this maximum. Only
 * damaged data has such times. */
void timestamp_format(int64_t ms, char text[TIMESTAMP_SIZE]);

#endif
