/* cron_words.c - describes a cron expression in words.
 *
 *   1. the time of day: "every 15 minutes from 09:00 to 17:45", "at 09:00 and 17:30"
 *   2. the days: "on the 1st of the month, and also on Monday"
 *   3. the months
 *
 * Values at equal distances are described by the distance, such as "every 15 minutes". A few times of day are
 * listed one by one. All other values are listed by unit: the seconds, the minutes, the hours. */
#include "job/schedule/cron.h"

enum { MINUTES = 60, HOURS = 24, DAYS = 31, MONTHS = 12, WEEKDAYS = 7, TIMES_LISTED = 6, DAY_STEPS_MIN = 4 };

/* ---- sets of values ---- */

/* The values of one field of the expression that match. */
struct cron_set {
    uint64_t bits;
    int cycle; /* number of units after which the values repeat: 60 minutes */
    int count, first, last;
    int step; /* distance between all neighbours; 0 if the distances differ, or there is one value only */
};

static struct cron_set set_of(uint64_t bits, int cycle)
{
    struct cron_set set = {.bits = bits, .cycle = cycle, .count = __builtin_popcountll(bits)};
    set.first = __builtin_ctzll(bits);
    set.last = 63 - __builtin_clzll(bits);
    int step = set.count > 1 ? (set.last - set.first) / (set.count - 1) : 0;
    uint64_t regular = 0;
    for (int i = set.first; step && i <= set.last; i += step)
        regular |= UINT64_C(1) << i;
    set.step = regular == bits ? step : 0;
    return set;
}

static bool has_all(const struct cron_set *set)
{
    return set->count == set->cycle;
}

/* Returns whether the distance stays the same from the last value of a cycle to the first value of the next
 * cycle. */
static bool is_endless(const struct cron_set *set)
{
    return set->step && set->first + set->cycle - set->last == set->step;
}

/* Returns whether the values are described by their distance, and not as a list. */
static bool is_regular(const struct cron_set *set)
{
    return set->step && (set->count > 2 || (is_endless(set) && set->first == 0));
}

/* ---- lists ---- */

typedef void write_value_fn(struct buffer *, int value);

static void write_number(struct buffer *out, int value)
{
    buffer_append_number(out, value);
}

static void write_ordinal(struct buffer *out, int value)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    int digit = value % 10;
    buffer_printf(out, "%d%s", value, digit > 3 || value / 10 == 1 ? "th" : ends[digit]);
}

static void write_month(struct buffer *out, int value)
{
    static const char *const names[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
    buffer_printf(out, "%s", names[value - 1]);
}

static void write_weekday(struct buffer *out, int value)
{
    static const char *const names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};
    buffer_printf(out, "%s", names[value - 1]);
}

/* Returns the last value of the run that begins with this value. Only three or more consecutive values are a
 * run. */
static int end_of_run(uint64_t bits, int value)
{
    int end = value;
    while (end < 63 && bits >> (end + 1) & 1)
        end++;
    return end - value > 1 ? end : value;
}

/* Writes the separator before an item: nothing, a comma, or the last "and". */
static void write_separator(struct buffer *out, bool is_first, bool is_last)
{
    if (!is_first)
        buffer_printf(out, "%s", is_last ? " and " : ", ");
}

/* Writes "1, 3 to 7 and 9". */
static void write_list(struct buffer *out, uint64_t bits, write_value_fn *write_value)
{
    for (bool is_first = true; bits; is_first = false) {
        int value = __builtin_ctzll(bits), end = end_of_run(bits, value);
        for (int i = value; i <= end; i++)
            bits &= ~(UINT64_C(1) << i);
        write_separator(out, is_first, bits == 0);
        write_value(out, value);
        if (end > value) {
            buffer_printf(out, " to ");
            write_value(out, end);
        }
    }
}

/* Writes "minute 5" or "minutes 5, 6 and 40". */
static void write_values(struct buffer *out, const char *unit, const struct cron_set *set)
{
    buffer_printf(out, "%s%s ", unit, set->count > 1 ? "s" : "");
    write_list(out, set->bits, write_number);
}

/* Writes "every minute" or "every 5 minutes". */
static void write_step(struct buffer *out, const char *unit, int step)
{
    if (step == 1)
        buffer_printf(out, "every %s", unit);
    else
        buffer_printf(out, "every %d %ss", step, unit);
}

/* Writes a step, such as "every 10 minutes", and its first and last value unless they are the default. */
static void write_steps(struct buffer *out, const char *unit, const struct cron_set *set)
{
    write_step(out, unit, set->step);
    if (!is_endless(set) || set->first > 0)
        buffer_printf(out, ", from %s %d to %d", unit, set->first, set->last);
}

/* ---- the time of day ---- */

struct cron_times {
    struct cron_set seconds, minutes, hours;
};

static void write_clock(struct buffer *out, int hour, int minute, const struct cron_set *seconds)
{
    buffer_printf(out, "%02d:%02d", hour, minute);
    if (seconds->first > 0)
        buffer_printf(out, ":%02d", seconds->first);
}

/* Writes each time of day. Must be called only if the expression has a single value for seconds. */
static void write_times(struct buffer *out, const struct cron_times *times)
{
    int left = times->hours.count * times->minutes.count;
    bool is_first = true;
    buffer_printf(out, "at ");
    for (int hour = 0; hour < HOURS; hour++) {
        for (int minute = 0; minute < MINUTES; minute++) {
            if (!(times->hours.bits >> hour & 1) || !(times->minutes.bits >> minute & 1))
                continue;
            write_separator(out, is_first, --left == 0);
            write_clock(out, hour, minute, &times->seconds);
            is_first = false;
        }
    }
}

/* Writes " from 09:00 to 17:45". */
static void write_from_to(struct buffer *out, const struct cron_times *times)
{
    buffer_printf(out, " from ");
    write_clock(out, times->hours.first, times->minutes.first, &times->seconds);
    buffer_printf(out, " to ");
    write_clock(out, times->hours.last, times->minutes.last, &times->seconds);
}

/* Writes " of every hour" or " of the hours 9 to 17". */
static void write_of_hours(struct buffer *out, const struct cron_set *hours)
{
    buffer_printf(out, " of ");
    if (has_all(hours)) {
        buffer_printf(out, "every hour");
        return;
    }
    buffer_printf(out, "the ");
    write_values(out, "hour", hours);
}

/* Returns whether the times repeat with one distance in hours, from midnight on, such as "every 2 hours". */
static bool is_every_few_hours(const struct cron_times *times)
{
    return times->seconds.bits == 1 && times->minutes.bits == 1 && is_endless(&times->hours) &&
           times->hours.first == 0 && times->hours.count > 2;
}

/* Writes times at one minute of each hour. */
static void write_hourly(struct buffer *out, const struct cron_times *times)
{
    const struct cron_set *hours = &times->hours;
    if (is_every_few_hours(times)) {
        write_step(out, "hour", hours->step);
    } else if (is_regular(hours) && hours->count > 3 && !has_all(hours)) {
        write_step(out, "hour", hours->step);
        write_from_to(out, times);
    } else if (hours->count <= TIMES_LISTED) {
        write_times(out, times);
    } else {
        buffer_printf(out, "at minute %d", times->minutes.first);
        write_of_hours(out, hours);
    }
}

/* Returns whether all minutes of the day that match have the same distance, also from the last minute of an
 * hour to the first one of the next hour. */
static bool is_one_row(const struct cron_times *times)
{
    const struct cron_set *hours = &times->hours, *minutes = &times->minutes;
    return is_regular(minutes) && (hours->count == 1 || (hours->step == 1 && is_endless(minutes))) &&
           hours->count * minutes->count > 2;
}

/* Writes the minutes of an expression whose only second is 0. */
static void write_minutes(struct buffer *out, const struct cron_times *times)
{
    const struct cron_set *hours = &times->hours, *minutes = &times->minutes;
    if (minutes->count == 1) {
        write_hourly(out, times);
    } else if (has_all(hours) && is_regular(minutes)) {
        write_steps(out, "minute", minutes);
        if (!is_endless(minutes) || minutes->first > 0)
            write_of_hours(out, hours);
    } else if (is_one_row(times)) {
        write_step(out, "minute", minutes->step);
        write_from_to(out, times);
    } else if (hours->count * minutes->count <= TIMES_LISTED) {
        write_times(out, times);
    } else if (is_regular(minutes)) {
        write_steps(out, "minute", minutes);
        write_of_hours(out, hours);
    } else {
        buffer_printf(out, "at ");
        write_values(out, "minute", minutes);
        write_of_hours(out, hours);
    }
}

static void write_seconds(struct buffer *out, const struct cron_times *times)
{
    const struct cron_set *seconds = &times->seconds;
    bool is_plain = is_endless(seconds) && seconds->first == 0;
    if (seconds->count == 1 && times->hours.count * times->minutes.count <= TIMES_LISTED) {
        write_times(out, times);
        return;
    }
    if (is_regular(seconds)) {
        write_steps(out, "second", seconds);
    } else {
        buffer_printf(out, "at ");
        write_values(out, "second", seconds);
    }
    bool is_always = has_all(&times->minutes) && has_all(&times->hours);
    if (is_plain && is_always)
        return;
    buffer_printf(out, " of "); /* such as " of minute 59 of the hour 23" */
    if (has_all(&times->minutes))
        buffer_printf(out, "every minute");
    else
        write_values(out, "minute", &times->minutes);
    if (!is_always)
        write_of_hours(out, &times->hours);
}

/* ---- days and months ---- */

/* Writes "on the 1st and 15th". */
static void write_days(struct buffer *out, uint64_t bits)
{
    struct cron_set days = set_of(bits, DAYS);
    if (days.step > 1 && days.count >= DAY_STEPS_MIN) {
        buffer_printf(out, "on every ");
        write_ordinal(out, days.step);
        buffer_printf(out, " day from the ");
        write_ordinal(out, days.first);
        buffer_printf(out, " to the ");
        write_ordinal(out, days.last);
    } else {
        buffer_printf(out, "on the ");
        write_list(out, bits, write_ordinal);
    }
}

/* The days and months of an expression, as they are described. */
struct cron_dates {
    uint64_t days, weekdays, months; /* bits; Monday is bit 1; 0: all values match */
    bool is_both;                    /* a day must match days and weekdays */
};

/* Returns the days and months of an expression. cron.h says when a day must match both fields for days. */
static struct cron_dates dates_of(const struct cron *cron)
{
    uint64_t weekdays = (cron->weekdays | (cron->weekdays & 1) << WEEKDAYS) & ~UINT64_C(1);
    bool has_all_days = __builtin_popcountll(cron->days) == DAYS;
    bool has_all_weekdays = __builtin_popcountll(weekdays) == WEEKDAYS;
    bool is_both = cron->is_any_day || cron->is_any_weekday;
    bool is_any = !is_both && (has_all_days || has_all_weekdays);
    return (struct cron_dates){
        .days = is_any || has_all_days ? 0 : cron->days,
        .weekdays = is_any || has_all_weekdays ? 0 : weekdays,
        .months = __builtin_popcountll(cron->months) == MONTHS ? 0 : cron->months,
        .is_both = is_both,
    };
}

static void write_dates(struct buffer *out, const struct cron_dates *dates, bool is_whole_day)
{
    bool is_every_day = !dates->days && !dates->weekdays;
    if (is_every_day && !is_whole_day)
        buffer_printf(out, ", every day");
    if (dates->days) {
        buffer_printf(out, ", ");
        write_days(out, dates->days);
        if (dates->weekdays || !dates->months)
            buffer_printf(out, " of the month");
    }
    if (dates->weekdays) {
        buffer_printf(out, ", %son ", !dates->days ? "" : dates->is_both ? "but only " : "and also ");
        write_list(out, dates->weekdays, write_weekday);
    }
    if (dates->months) {
        const char *word = dates->weekdays || (is_every_day && is_whole_day) ? ", in " : " in ";
        buffer_printf(out, "%s", dates->days && !dates->weekdays ? " of " : word);
        write_list(out, dates->months, write_month);
    }
}

void cron_write_words(const struct cron *cron, struct buffer *out)
{
    struct cron_times times = {
        .seconds = set_of(cron->seconds, MINUTES),
        .minutes = set_of(cron->minutes, MINUTES),
        .hours = set_of(cron->hours, HOURS),
    };
    struct cron_dates dates = dates_of(cron);
    if (cron->seconds == 1)
        write_minutes(out, &times);
    else
        write_seconds(out, &times);
    write_dates(out, &dates, has_all(&times.hours) || is_every_few_hours(&times));
}
