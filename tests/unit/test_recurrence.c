#include <time.h>

#include "support/schedule_times.h"
#include "support/suite.h"
#include "support/zone_file.h"

static struct problem problem;

/* ---- the table of cron_times.txt ---- */

static void check_line(struct slice line)
{
    struct slice expression, zone_name, from, times, time;
    char text[CRON_TEXT_MAX + 1], found[TIMESTAMP_SIZE], expected[TIMESTAMP_SIZE];
    slice_cut(line, '\t', &expression, &line);
    slice_cut(line, '\t', &zone_name, &line);
    slice_cut(line, '\t', &from, &times);
    struct time_zone *zone = zone_from_file(zone_name);
    snprintf(text, sizeof text, "%.*s", SLICE_ARG(expression));
    set_cron(text, zone);
    int64_t at_ms = 0, expected_ms = 0;
    ck_assert(timestamp_parse(from, &at_ms));
    while (times.size) {
        slice_cut(times, ' ', &time, &times);
        ck_assert(timestamp_parse(time, &expected_ms));
        at_ms = recurrence_next_ms(&recurrence, at_ms);
        timestamp_format(at_ms, found);
        timestamp_format(expected_ms, expected);
        ck_assert_msg(at_ms == expected_ms, "%s in %.*s after %.*s: %s, not %s", text, SLICE_ARG(zone_name),
                      SLICE_ARG(from), found, expected);
    }
    time_zone_free(zone);
}

START_TEST(has_the_times_of_another_implementation)
{
    struct buffer table;
    struct slice rest, line;
    size_t lines = 0;
    ck_assert_int_eq(file_read(TESTS_FOLDER "/support/cron_times.txt", 1 << 20, &table, &problem), STATUS_OK);
    for (rest = buffer_slice(&table); rest.size;) {
        slice_cut(rest, '\n', &line, &rest);
        if (line.size == 0 || line.data[0] == '#')
            continue;
        check_line(line);
        lines++;
    }
    ck_assert_uint_ge(lines, 300);
    buffer_fini(&table);
}
END_TEST

/* ---- further cases ---- */

static const char *next_of(const char *after)
{
    static char text[TIMESTAMP_SIZE];
    int64_t next_ms = recurrence_next_ms(&recurrence, ms_of(after));
    if (next_ms == RECURRENCE_NEVER_MS)
        return "never";
    timestamp_format(next_ms, text);
    return text;
}

START_TEST(times_outside_the_windows_do_not_occur)
{
    static const char json[] = "[{\"days\":[\"mon\"],\"from\":\"02:00\",\"to\":\"04:00\"}]";
    struct time_zone *zone = zone_from_file(SLICE("Europe/Berlin"));
    set_cron("0 * * * *", zone);
    ck_assert_int_eq(windows_parse(slice_of(json), &recurrence.windows, &problem), STATUS_OK);
    ck_assert_str_eq(next_of("2026-11-24T00:00:00Z"), "2026-11-30T01:00:00.000Z");
    ck_assert_str_eq(next_of("2026-11-30T01:00:00Z"), "2026-11-30T02:00:00.000Z");
    ck_assert_str_eq(next_of("2026-11-30T02:00:00Z"), "2026-12-07T01:00:00.000Z");
    set_cron("0 4 * * *", zone);
    ck_assert_int_eq(windows_parse(slice_of(json), &recurrence.windows, &problem), STATUS_OK);
    ck_assert_str_eq(next_of("2026-11-24T00:00:00Z"), "never");
    time_zone_free(zone);
}
END_TEST

/* A request of a client must not hold up the loop. */
START_TEST(windows_without_times_are_searched_for_a_moment)
{
    char json[1024] = "";
    for (size_t hour = 0, size = 0; hour < WINDOWS_MAX; hour++)
        size +=
            (size_t)snprintf(json + size, sizeof json - size, "%c{\"from\":\"%02zu:00\",\"to\":\"%02zu:01\"}",
                             hour ? ',' : '[', hour, hour);
    strcat(json, "]");
    struct time_zone *zone = zone_from_file(SLICE("Europe/Berlin"));
    set_cron("1-59/4 * * * *", zone);
    ck_assert_int_eq(windows_parse(slice_of(json), &recurrence.windows, &problem), STATUS_OK);
    clock_t start = clock();
    ck_assert_str_eq(next_of("2026-11-24T00:00:00Z"), "never");
    ck_assert((clock() - start) / CLOCKS_PER_SEC < 3);
    time_zone_free(zone);
}
END_TEST

START_TEST(several_skipped_times_are_one)
{
    struct time_zone *zone = zone_from_file(SLICE("Europe/Berlin"));
    set_cron("* 0-59 2 * * *", zone);
    ck_assert_str_eq(next_of("2026-03-29T00:59:59Z"), "2026-03-29T01:00:00.000Z");
    ck_assert_str_eq(next_of("2026-03-29T01:00:00Z"), "2026-03-30T00:00:00.000Z");
    set_cron("30 30 2,3 * * *", zone);
    ck_assert_str_eq(next_of("2026-03-29T00:59:59Z"), "2026-03-29T01:00:00.000Z");
    ck_assert_str_eq(next_of("2026-03-29T01:00:00Z"), "2026-03-29T01:30:30.000Z");
    time_zone_free(zone);
}
END_TEST

START_TEST(a_repeated_time_counts_the_first_time)
{
    struct time_zone *zone = zone_from_file(SLICE("Europe/Berlin"));
    set_cron("30 2 * * *", zone);
    ck_assert_str_eq(next_of("2026-10-25T00:29:59Z"), "2026-10-25T00:30:00.000Z");
    ck_assert_str_eq(next_of("2026-10-25T00:30:00Z"), "2026-10-26T01:30:00.000Z");
    ck_assert_str_eq(next_of("2026-10-25T01:10:00Z"), "2026-10-26T01:30:00.000Z");
    time_zone_free(zone);
}
END_TEST

/* Clocks of Berlin are set forward at 01:00 UTC on 29 March and back at 01:00 UTC on 25 October 2026. */
static void check_change(const char *expression, const struct time_zone *zone, bool is_forward, int64_t times,
                         enum recurrence_effect effect)
{
    struct recurrence_change changes[2];
    set_cron(expression, zone);
    size_t count = recurrence_changes(&recurrence, ms_of("2026-01-01T00:00:00Z"),
                                      ms_of("2026-12-31T00:00:00Z"), changes, 2);
    const struct recurrence_change *change = &changes[is_forward || count == 1 ? 0 : 1];
    ck_assert_uint_eq(count, times == 0 ? 0 : 2);
    if (times == 0)
        return;
    ck_assert_int_eq(change->at_ms, ms_of(is_forward ? "2026-03-29T01:00:00Z" : "2026-10-25T01:00:00Z"));
    ck_assert_int_eq(change->skew_s, is_forward ? 3600 : -3600);
    ck_assert_int_eq(change->times, times);
    ck_assert_int_eq(change->effect, effect);
}

START_TEST(changes_of_the_clocks_are_explained)
{
    struct time_zone *zone = zone_from_file(SLICE("Europe/Berlin"));
    check_change("15,45 2 * * *", zone, true, 2, RECURRENCE_MOVED);
    check_change("15,45 2 * * *", zone, false, 2, RECURRENCE_ONCE);
    check_change("*/15 2 * * *", zone, true, 4, RECURRENCE_SKIPPED);
    check_change("*/15 2 * * *", zone, false, 4, RECURRENCE_TWICE);
    check_change("30 4 * * *", zone, true, 0, RECURRENCE_MOVED);
    time_zone_free(zone);
}
END_TEST

START_TEST(counts_between_two_times)
{
    set_cron("*/5 9-16 * * mon-fri", time_zone_utc());
    int64_t from_ms = ms_of("2026-11-30T00:00:00Z"); /* a Monday */
    ck_assert_int_eq(recurrence_count(&recurrence, from_ms, from_ms + 7 * INT64_C(86400000)), 5 * 96);
    ck_assert_int_eq(
        recurrence_count(&recurrence, ms_of("2026-11-30T09:00:00Z"), ms_of("2026-11-30T09:05:00Z")), 1);
    recurrence.last_ms = ms_of("2026-11-30T10:00:00Z");
    ck_assert_int_eq(recurrence_count(&recurrence, from_ms, RECURRENCE_NEVER_MS), 13);
    recurrence = (struct recurrence){
        .every_ms = 7000, .base_ms = from_ms, .first_ms = from_ms, .last_ms = RECURRENCE_NEVER_MS};
    ck_assert_int_eq(recurrence_count(&recurrence, 0, from_ms - 1), 0);
    ck_assert_int_eq(recurrence_count(&recurrence, 0, from_ms), 1);
    ck_assert_int_eq(recurrence_count(&recurrence, from_ms, from_ms + 70000), 10);
}
END_TEST

START_TEST(milliseconds_round_up)
{
    set_cron("* * * * * *", time_zone_utc());
    ck_assert_str_eq(next_of("2026-01-01T00:00:00.001Z"), "2026-01-01T00:00:01.000Z");
    ck_assert_str_eq(next_of("2026-01-01T00:00:00.999Z"), "2026-01-01T00:00:01.000Z");
    ck_assert_str_eq(next_of("2026-01-01T00:00:01Z"), "2026-01-01T00:00:02.000Z");
}
END_TEST

START_TEST(every_counts_from_its_base)
{
    set_every(1500, ms_of("2026-01-01T00:00:00Z"));
    ck_assert_str_eq(next_of("2025-01-01T00:00:00Z"), "2026-01-01T00:00:00.000Z");
    ck_assert_str_eq(next_of("2026-01-01T00:00:00Z"), "2026-01-01T00:00:01.500Z");
    ck_assert_str_eq(next_of("2026-01-01T00:00:01.499Z"), "2026-01-01T00:00:01.500Z");
    ck_assert_str_eq(next_of("2026-01-01T00:00:01.500Z"), "2026-01-01T00:00:03.000Z");
    recurrence.first_ms++; /* first_ms is now later than the time from which times are counted, so that time
                              is no longer one of the schedule */
    ck_assert_str_eq(next_of("2025-01-01T00:00:00Z"), "2026-01-01T00:00:01.500Z");
}
END_TEST

START_TEST(keeps_within_its_bounds)
{
    set_cron("@daily", time_zone_utc());
    recurrence.first_ms = ms_of("2026-02-01T00:00:00Z");
    recurrence.last_ms = ms_of("2026-02-02T00:00:00Z");
    ck_assert_str_eq(next_of("2026-01-01T00:00:00Z"), "2026-02-01T00:00:00.000Z");
    ck_assert_str_eq(next_of("2026-02-01T00:00:00Z"), "2026-02-02T00:00:00.000Z");
    ck_assert_str_eq(next_of("2026-02-02T00:00:00Z"), "never");
    set_cron("@daily", time_zone_utc());
    ck_assert_str_eq(next_of("9999-12-31T00:00:00Z"), "never");
    set_every(1000, 0);
    ck_assert_str_eq(next_of("9999-12-31T23:59:59Z"), "never");
    ck_assert_int_eq(recurrence_next_ms(&recurrence, RECURRENCE_NEVER_MS), RECURRENCE_NEVER_MS);
}
END_TEST

/* ---- jitter ---- */

START_TEST(jitter_is_less_than_the_gap_and_the_same_each_time)
{
    set_cron("* * * * *", time_zone_utc());
    recurrence.seed = recurrence_seed(SLICE("orders/nightly"));
    recurrence.jitter_ms = 3600000;
    int64_t at_ms = ms_of("2026-01-01T00:00:00Z"), sum_ms = 0;
    ck_assert_int_eq(recurrence_jitter_ms(&recurrence, at_ms), recurrence_jitter_ms(&recurrence, at_ms));
    for (size_t i = 0; i < 1000; i++, at_ms += 60000) {
        int64_t jitter_ms = recurrence_jitter_ms(&recurrence, at_ms);
        ck_assert(jitter_ms >= 0 && jitter_ms < 60000);
        sum_ms += jitter_ms;
    }
    ck_assert(sum_ms > 1000 * 27000 && sum_ms < 1000 * INT64_C(33000));
    recurrence.jitter_ms = 1;
    ck_assert_int_le(recurrence_jitter_ms(&recurrence, at_ms), 1);
    recurrence.last_ms = at_ms; /* at_ms is now the last time of the schedule */
    recurrence.jitter_ms = 86400000;
    ck_assert_int_le(recurrence_jitter_ms(&recurrence, at_ms), 86400000);
    recurrence.jitter_ms = 0;
    ck_assert_int_eq(recurrence_jitter_ms(&recurrence, at_ms), 0);
}
END_TEST

START_TEST(jitter_differs_between_schedules)
{
    size_t same = 0;
    int64_t at_ms = ms_of("2026-01-01T00:00:00Z");
    set_cron("@daily", time_zone_utc());
    recurrence.jitter_ms = 1000;
    for (int i = 0; i < 100; i++) {
        char id[32];
        snprintf(id, sizeof id, "orders/%d", i);
        recurrence.seed = recurrence_seed(slice_of(id));
        same += recurrence_jitter_ms(&recurrence, at_ms) < 100;
    }
    ck_assert(same > 0 && same < 30);
}
END_TEST

/* ---- properties ---- */

static uint32_t dice = 1;

static int roll(int sides)
{
    dice = dice * 1664525 + 1013904223;
    return (int)((dice >> 8) % (uint32_t)sides);
}

static void roll_field(struct buffer *out, int min, int max)
{
    int low = min + roll(max - min + 1), high = low + roll(max - low + 1);
    switch (roll(6)) {
    case 0:
        return buffer_printf(out, "*/%d ", 1 + roll(max));
    case 1:
        return buffer_printf(out, "%d ", low);
    case 2:
        return buffer_printf(out, "%d-%d ", low, high);
    case 3:
        return buffer_printf(out, "%d,%d ", low, high);
    default:
        return buffer_append(out, SLICE("* "));
    }
}

/* Each time of a schedule must be later than the one before. For any instant between two times, the second
 * one must be the next time. The local time must match the expression, unless the zone's offset changes at
 * this time, as for summer time. */
START_TEST(times_are_later_and_none_is_left_out)
{
    static const char *const zones[] = {"Europe/Berlin", "America/New_York",  "Australia/Lord_Howe",
                                        "Pacific/Apia",  "Africa/Casablanca", "Europe/Dublin"};
    char text[CRON_TEXT_MAX + 1];
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        struct time_zone *zone = zone_from_file(slice_of(zones[i]));
        for (size_t n = 0; n < 200; n++) {
            struct buffer out = {.data = text, .capacity = sizeof text, .max = sizeof text - 1};
            struct cron ignored;
            roll_field(&out, 0, 59);
            roll_field(&out, 0, 23);
            roll_field(&out, 1, 31);
            roll_field(&out, 1, 12);
            roll_field(&out, 0, 7);
            if (cron_parse(slice_of(buffer_text(&out)), &ignored, &problem) != STATUS_OK)
                continue;
            set_cron(text, zone);
            int64_t at_ms = ms_of("2011-01-01T00:00:00Z") + roll(1 << 20) * INT64_C(700000);
            int64_t began_ms = at_ms;
            for (size_t k = 0; k < 30; k++) {
                int64_t next_ms = recurrence_next_ms(&recurrence, at_ms), local_s = 0;
                if (next_ms == RECURRENCE_NEVER_MS)
                    break;
                ck_assert_msg(next_ms > at_ms && next_ms % 1000 == 0, "%s", text);
                int64_t between_ms = at_ms + (int64_t)((double)(next_ms - at_ms) * roll(1000) / 1000);
                ck_assert_msg(recurrence_next_ms(&recurrence, between_ms) == next_ms, "%s", text);
                ck_assert_msg(recurrence_next_ms(&recurrence, next_ms - 1) == next_ms, "%s", text);
                struct time_zone_span span = time_zone_span(zone, next_ms / 1000);
                bool matches = cron_next(&recurrence.cron, next_ms / 1000 + span.offset_s - 1,
                                         next_ms / 1000 + span.offset_s + 1, &local_s);
                ck_assert_msg(matches || next_ms / 1000 == span.from_s, "%s", text);
                ck_assert_msg(recurrence_count(&recurrence, at_ms, next_ms) == 1, "%s", text);
                ck_assert_msg(recurrence_count(&recurrence, at_ms, next_ms - 1) == 0, "%s", text);
                ck_assert_msg(recurrence_count(&recurrence, began_ms, next_ms) == (int64_t)k + 1, "%s", text);
                at_ms = next_ms;
            }
        }
        time_zone_free(zone);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("recurrence");
    TCase *tests = tcase_create("recurrence");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, has_the_times_of_another_implementation);
    tcase_add_test(tests, times_outside_the_windows_do_not_occur);
    tcase_add_test(tests, windows_without_times_are_searched_for_a_moment);
    tcase_add_test(tests, several_skipped_times_are_one);
    tcase_add_test(tests, a_repeated_time_counts_the_first_time);
    tcase_add_test(tests, changes_of_the_clocks_are_explained);
    tcase_add_test(tests, counts_between_two_times);
    tcase_add_test(tests, milliseconds_round_up);
    tcase_add_test(tests, every_counts_from_its_base);
    tcase_add_test(tests, keeps_within_its_bounds);
    tcase_add_test(tests, jitter_is_less_than_the_gap_and_the_same_each_time);
    tcase_add_test(tests, jitter_differs_between_schedules);
    tcase_add_test(tests, times_are_later_and_none_is_left_out);
    suite_add_tcase(all, tests);
    return all;
}
