/* date.h - dates of the Gregorian calendar, counted in days since 1970-01-01. Valid for the years 0 to 9999.
 */
#ifndef DUEPOST_BASE_DATE_H
#define DUEPOST_BASE_DATE_H

#include <stdint.h>

struct date {
    int year, month, day; /* month 1 to 12, day 1 to 31 */
};

int64_t date_to_days(struct date);
struct date date_from_days(int64_t days);

/* Returns the number of days of a month; month is 1 to 12. */
int date_month_days(int year, int month);

/* Returns 0 for a Sunday, 6 for a Saturday. */
int date_weekday(int64_t days);

#endif
