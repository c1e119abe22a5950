#include "base/timestamp.h"

#include "base/buffer.h"

/* ---- dates ---- */

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

/* ---- times ---- */

#define DAY_MS INT64_C(86400000)

/* Takes count digits of a number between min and max from the front of *rest. */
static bool take_number(struct slice *rest, size_t count, int min, int max, int *value)
{
    uint64_t number;
    if (rest->size < count || !slice_to_number(slice_from(rest->data, count), (uint64_t)max, &number) ||
        (int)number < min)
        return false;
    *value = (int)number;
    *rest = slice_skip(*rest, count);
    return true;
}

/* Takes one byte from the front of *rest if it is a or b. */
static bool take_byte(struct slice *rest, char a, char b)
{
    if (rest->size == 0 || (rest->data[0] != a && rest->data[0] != b))
        return false;
    *rest = slice_skip(*rest, 1);
    return true;
}

static bool take_date(struct slice *rest, int64_t *days)
{
    struct date date;
    if (!take_number(rest, 4, 0, 9999, &date.year) || !take_byte(rest, '-', '-') ||
        !take_number(rest, 2, 1, 12, &date.month) || !take_byte(rest, '-', '-') ||
        !take_number(rest, 2, 1, date_month_days(date.year, date.month), &date.day))
        return false;
    *days = date_to_days(date);
    return true;
}

/* Takes a point and the digits after it, and rounds them up to milliseconds. Without a point, *ms is 0. */
static bool take_fraction(struct slice *rest, int *ms)
{
    *ms = 0;
    if (!take_byte(rest, '.', '.'))
        return true;
    size_t i = 0;
    bool is_cut = false;
    for (int unit_ms = 100; i < rest->size && rest->data[i] >= '0' && rest->data[i] <= '9';
         i++, unit_ms /= 10) {
        *ms += unit_ms * (rest->data[i] - '0');
        is_cut |= unit_ms == 0 && rest->data[i] != '0';
    }
    *ms += is_cut;
    *rest = slice_skip(*rest, i);
    return i > 0;
}

static bool take_offset(struct slice *rest, int *minutes)
{
    int hour, minute;
    *minutes = 0;
    if (take_byte(rest, 'Z', 'z'))
        return true;
    bool is_west = rest->size && rest->data[0] == '-';
    if (!take_byte(rest, '+', '-') || !take_number(rest, 2, 0, 23, &hour) || !take_byte(rest, ':', ':') ||
        !take_number(rest, 2, 0, 59, &minute))
        return false;
    *minutes = (hour * 60 + minute) * (is_west ? -1 : 1);
    return true;
}

bool timestamp_parse(struct slice text, int64_t *ms)
{
    int64_t days;
    int hour, minute, second, fraction_ms, offset_minutes;
    if (!take_date(&text, &days) || !take_byte(&text, 'T', 't') || !take_number(&text, 2, 0, 23, &hour) ||
        !take_byte(&text, ':', ':') || !take_number(&text, 2, 0, 59, &minute) ||
        !take_byte(&text, ':', ':') || !take_number(&text, 2, 0, 60, &second) ||
        !take_fraction(&text, &fraction_ms) || !take_offset(&text, &offset_minutes) || text.size)
        return false;
    int64_t minutes = hour * 60 + minute - offset_minutes;
    int64_t sum = days * DAY_MS + (minutes * 60 + second) * 1000 + fraction_ms;
    if (sum > TIMESTAMP_MAX_MS)
        return false;
    *ms = sum > 0 ? sum : 0;
    return true;
}

static void put_number(char *at, int count, int number)
{
    for (; count > 0; count--, number /= 10)
        at[count - 1] = (char)('0' + number % 10);
}

bool timestamp_parse_local(struct slice text, int64_t *ms)
{
    enum { MINUTES_SIZE = sizeof "2030-01-01T09:00" - 1, SECONDS_SIZE = sizeof "2030-01-01T09:00:30" - 1 };
    char room[SECONDS_SIZE + 2];
    struct buffer whole = buffer_of(room, sizeof room);
    if (text.size != MINUTES_SIZE && text.size != SECONDS_SIZE)
        return false;
    buffer_append(&whole, text);
    if (text.size == MINUTES_SIZE)
        buffer_append(&whole, SLICE(":00"));
    buffer_append_byte(&whole, 'Z');
    return timestamp_parse(buffer_slice(&whole), ms);
}

void timestamp_format(int64_t ms, char text[TIMESTAMP_SIZE])
{
    if (ms < 0)
        ms = 0;
    if (ms > TIMESTAMP_MAX_MS)
        ms = TIMESTAMP_MAX_MS;
    int rest = (int)(ms % DAY_MS);
    struct date date = date_from_days(ms / DAY_MS);
    memcpy(text, "0000-00-00T00:00:00.000Z", TIMESTAMP_SIZE);
    put_number(text, 4, date.year);
    put_number(text + 5, 2, date.month);
    put_number(text + 8, 2, date.day);
    put_number(text + 11, 2, rest / 3600000);
    put_number(text + 14, 2, rest / 60000 % 60);
    put_number(text + 17, 2, rest / 1000 % 60);
    put_number(text + 20, 3, rest % 1000);
}
