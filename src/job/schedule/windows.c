#include "job/schedule/windows.h"

#include <stdlib.h>

#include "job/text/json.h"

enum {
    DAY_S = 86400,
    DAY_MIN = 24 * 60,
    DAYS_BEFORE = 2, /* a window may have begun on the day before, which may be another one in its zone */
    DAYS_AFTER = 16, /* each weekday twice */
    SPANS_MAX = WINDOWS_MAX * (DAYS_BEFORE + DAYS_AFTER),
    ALL_DAYS = 127,
};

/* ---- reading ---- */

static const char *const weekdays[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

static bool read_days(struct slice value, unsigned *days)
{
    struct json_cursor cursor;
    struct slice item;
    *days = 0;
    if (!json_open(value, &cursor) || cursor.close != ']')
        return false;
    while (json_next_item(&cursor, &item)) {
        unsigned before = *days;
        for (unsigned i = 0; i < 7; i++)
            if (item.size == 5 && memcmp(item.data + 1, weekdays[i], 3) == 0 && json_is_text(item))
                *days |= 1U << i;
        if (*days == before)
            return false;
    }
    return *days != 0;
}

/* Reads "09:30". 24:00 is allowed. */
static bool read_time(struct slice value, int *minutes)
{
    const char *at = value.data;
    if (value.size != 7 || at[0] != '"' || at[3] != ':')
        return false;
    for (size_t i = 1; i < 6; i++)
        if (i != 3 && (at[i] < '0' || at[i] > '9'))
            return false;
    int hours = 10 * (at[1] - '0') + at[2] - '0', rest = 10 * (at[4] - '0') + at[5] - '0';
    *minutes = 60 * hours + rest;
    return rest < 60 && *minutes <= DAY_MIN;
}

static bool read_zone(struct slice value, struct slice *zone)
{
    if (!json_is_text(value) || json_has_escapes(value))
        return false;
    *zone = slice_from(value.data + 1, value.size - 2);
    return time_zone_name_is_valid(*zone) && !time_zone_name_is_of_host(*zone);
}

static const char *read_member(struct slice key, struct slice value, struct time_window *window)
{
    if (slice_equal(key, SLICE("\"days\"")))
        return read_days(value, &window->days)
                   ? NULL
                   : "days must be an array of mon, tue, wed, thu, fri, sat and sun, "
                     "each at most once";
    if (slice_equal(key, SLICE("\"from\"")))
        return read_time(value, &window->from_min) && window->from_min < DAY_MIN
                   ? NULL
                   : "from must be a local time such as \"09:00\"";
    if (slice_equal(key, SLICE("\"to\"")))
        return read_time(value, &window->to_min) ? NULL
                                                 : "to must be a local time such as \"17:00\", or \"24:00\"";
    if (slice_equal(key, SLICE("\"timezone\"")))
        return read_zone(value, &window->zone) ? NULL : "timezone " TIME_ZONE_NAME_EXPECTED;
    return "has an unknown member; a window has days, from, to and timezone";
}

static const char *read_window(struct slice value, struct time_window *window)
{
    struct json_cursor cursor;
    struct slice key, member;
    *window = (struct time_window){.days = ALL_DAYS, .from_min = -1, .to_min = -1};
    if (!json_open(value, &cursor) || cursor.close != '}')
        return "must be an object with from and to";
    while (json_next_member(&cursor, &key, &member)) {
        const char *fault = read_member(key, member, window);
        if (fault)
            return fault;
    }
    if (window->from_min < 0 || window->to_min < 0)
        return "needs from and to";
    if (window->to_min <= window->from_min)
        window->to_min += DAY_MIN;
    return NULL;
}

enum status windows_parse(struct slice text, struct windows *windows, struct problem *problem)
{
    struct json_cursor cursor;
    struct slice item;
    windows->count = 0;
    bool is_array = json_open(text, &cursor) && cursor.close == ']';
    while (is_array && json_next_item(&cursor, &item)) {
        if (windows->count == WINDOWS_MAX) {
            is_array = false;
            break;
        }
        const char *fault = read_window(item, &windows->items[windows->count]);
        if (fault) {
            problem_set(problem, "window %zu: %s", windows->count + 1, fault);
            return STATUS_INVALID;
        }
        windows->count++;
    }
    if (is_array && windows->count > 0)
        return STATUS_OK;
    problem_set(problem, "must be an array of 1 to %d windows", WINDOWS_MAX);
    return STATUS_INVALID;
}

enum status windows_parse_local(struct slice text, struct windows *windows, struct problem *problem)
{
    enum status status = windows_parse(text, windows, problem);
    for (size_t i = 0; status == STATUS_OK && i < windows->count; i++)
        if (windows->items[i].zone.size) {
            problem_set(problem, "must have no timezone: they are in the timezone of the schedule");
            status = STATUS_INVALID;
        }
    return status;
}

/* ---- computing ---- */

static int compare_spans(const void *one, const void *other)
{
    const struct window_span *a = one, *b = other;
    return (a->opens_ms > b->opens_ms) - (a->opens_ms < b->opens_ms);
}

/* Appends the spans of a window around the time now_s. */
static size_t add_spans(const struct time_window *window, const struct time_zone *zone, int64_t now_s,
                        struct window_span *spans)
{
    int64_t local_s = now_s + time_zone_span(zone, now_s).offset_s;
    int64_t today = local_s / DAY_S; /* days since Thursday, 1970-01-01 */
    size_t count = 0;
    for (int64_t day = today - DAYS_BEFORE; day < today + DAYS_AFTER; day++) {
        if (!(window->days >> (day + 3) % 7 & 1))
            continue;
        int64_t from_s = day * DAY_S + window->from_min * 60, to_s = day * DAY_S + window->to_min * 60;
        struct window_span span = {1000 * time_zone_to_utc(zone, from_s),
                                   1000 * time_zone_to_utc(zone, to_s)};
        if (span.opens_ms < span.closes_ms)
            spans[count++] = span;
    }
    return count;
}

size_t windows_spans(const struct windows *windows, int64_t now_ms, windows_zone_fn *find_zone, void *arg,
                     struct window_span spans[WINDOW_SPANS_MAX])
{
    struct window_span all[SPANS_MAX];
    size_t all_count = 0, count = 0;
    for (size_t i = 0; i < windows->count; i++) {
        const struct time_zone *zone = find_zone(arg, windows->items[i].zone);
        if (zone)
            all_count += add_spans(&windows->items[i], zone, now_ms / 1000, all + all_count);
    }
    qsort(all, all_count, sizeof *all, compare_spans);
    for (size_t i = 0; i < all_count; i++) {
        if (all[i].closes_ms <= now_ms)
            continue;
        if (count > 0 && all[i].opens_ms <= spans[count - 1].closes_ms) {
            if (all[i].closes_ms > spans[count - 1].closes_ms)
                spans[count - 1].closes_ms = all[i].closes_ms;
        } else if (count < WINDOW_SPANS_MAX) {
            spans[count++] = all[i];
        } else {
            break;
        }
    }
    return count;
}
