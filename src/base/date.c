#include "base/date.h"

/* Years are counted from March, so that the leap day is the last day of its year. */
int64_t date_to_days(struct date date)
{
    int64_t y = date.month > 2 ? date.year : date.year - 1;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

struct date date_from_days(int64_t days)
{
    days += 719468;
    int64_t era = days / 146097;
    int64_t day_of_era = days % 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted = (5 * day_of_year + 2) / 153;
    int month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
    return (struct date){.year = (int)(year_of_era + era * 400 + (month <= 2)),
                         .month = month,
                         .day = (int)(day_of_year - (153 * shifted + 2) / 5 + 1)};
}

int date_month_days(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && is_leap);
}

int date_weekday(int64_t days)
{
    return (int)(days % 7 + 11) % 7; /* 1970-01-01 was a Thursday */
}
