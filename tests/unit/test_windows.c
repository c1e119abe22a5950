/* Tests windows (job/schedule/windows.h), local due times, and the errors of wrong ones. */
#include "support/suite.h"
#include "support/zone_file.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/timestamp.h"
#include "job/schedule/windows.h"

static struct problem problem;

static const struct time_zone *find_zone(void *arg, struct slice name)
{
    struct time_zone **zone = arg;
    if (name.size == 0)
        return time_zone_utc();
    if (slice_equal(name, SLICE("Mars/Base")))
        return NULL;
    time_zone_free(*zone);
    *zone = zone_from_file(name);
    return *zone;
}

static int64_t ms_of(const char *text)
{
    int64_t ms = 0;
    ck_assert_msg(timestamp_parse(slice_of(text), &ms), "%s", text);
    return ms;
}

/* Checks the first spans, written as "opens closes\nopens closes\n" without seconds. */
static void check_spans(const char *json, const char *now, const char *expected)
{
    struct windows windows;
    struct window_span spans[WINDOW_SPANS_MAX];
    struct time_zone *zone = NULL;
    struct buffer text;
    size_t lines = 0;
    buffer_init(&text, 4096);
    ck_assert_msg(windows_parse(slice_of(json), &windows, &problem) == STATUS_OK, "%s", problem.text);
    size_t count = windows_spans(&windows, ms_of(now), find_zone, &zone, spans);
    for (const char *at = expected; *at; at++)
        lines += *at == '\n';
    for (size_t i = 0; i < count && i < lines; i++) {
        char opens[TIMESTAMP_SIZE], closes[TIMESTAMP_SIZE];
        timestamp_format(spans[i].opens_ms, opens);
        timestamp_format(spans[i].closes_ms, closes);
        buffer_printf(&text, "%.16s %.16s\n", opens, closes);
        ck_assert_int_gt(spans[i].closes_ms, spans[i].opens_ms);
        if (i > 0)
            ck_assert_int_gt(spans[i].opens_ms, spans[i - 1].closes_ms);
    }
    if (lines == 0)
        ck_assert_uint_eq(count, 0);
    buffer_append_byte(&text, '\0');
    ck_assert_str_eq(text.data, expected);
    buffer_fini(&text);
    time_zone_free(zone);
}

START_TEST(opens_at_the_local_times_of_its_days)
{
    check_spans("[{\"from\":\"09:00\",\"to\":\"17:00\"}]", "2026-11-29T08:00:00Z",
                "2026-11-29T09:00 2026-11-29T17:00\n2026-11-30T09:00 2026-11-30T17:00\n");
    check_spans("[{\"from\":\"09:00\",\"to\":\"17:00\"}]", "2026-11-29T16:59:59.999Z",
                "2026-11-29T09:00 2026-11-29T17:00\n");
    check_spans("[{\"from\":\"09:00\",\"to\":\"17:00\"}]", "2026-11-29T17:00:00Z",
                "2026-11-30T09:00 2026-11-30T17:00\n");
    check_spans(
        "[{\"days\":[\"mon\",\"wed\"],\"from\":\"09:00\",\"to\":\"17:30\",\"timezone\":\"Europe/Berlin\"}]",
        "2026-11-29T12:00:00Z",
        "2026-11-30T08:00 2026-11-30T16:30\n2026-12-02T08:00 2026-12-02T16:30\n"
        "2026-12-07T08:00 2026-12-07T16:30\n");
    check_spans(
        "[{\"days\":[\"sun\"],\"from\":\"00:00\",\"to\":\"24:00\",\"timezone\":\"America/New_York\"}]",
        "2026-11-29T04:00:00Z", "2026-11-29T05:00 2026-11-30T05:00\n2026-12-06T05:00 2026-12-07T05:00\n");
}
END_TEST

START_TEST(may_end_on_the_next_day)
{
    check_spans("[{\"days\":[\"sat\"],\"from\":\"22:00\",\"to\":\"06:00\"}]", "2026-11-29T05:00:00Z",
                "2026-11-28T22:00 2026-11-29T06:00\n2026-12-05T22:00 2026-12-06T06:00\n");
    check_spans("[{\"from\":\"22:00\",\"to\":\"22:00\"}]", "2026-11-29T05:00:00Z",
                "2026-11-28T22:00 2026-12-15T22:00\n");
}
END_TEST

START_TEST(several_windows_become_one_span_where_they_meet)
{
    check_spans(
        "[{\"from\":\"12:00\",\"to\":\"14:00\"},{\"from\":\"09:00\",\"to\":\"12:00\"},{\"from\":\"13:00\","
        "\"to\":\"13:30\"},{\"from\":\"18:00\",\"to\":\"19:00\"}]",
        "2026-11-29T08:00:00Z",
        "2026-11-29T09:00 2026-11-29T14:00\n2026-11-29T18:00 2026-11-29T19:00\n"
        "2026-11-30T09:00 2026-11-30T14:00\n");
}
END_TEST

/* In Berlin, clocks are set from 02:00 to 03:00 on 2027-03-28, and from 03:00 to 02:00 on 2027-10-31. On Lord
 * Howe Island, the changes are half an hour. */
START_TEST(follows_changes_of_the_clocks)
{
    static const char night[] = "[{\"from\":\"02:30\",\"to\":\"04:00\",\"timezone\":\"Europe/Berlin\"}]";
    check_spans(night, "2027-03-27T12:00:00Z",
                "2027-03-28T01:00 2027-03-28T02:00\n2027-03-29T00:30 2027-03-29T02:00\n");
    check_spans(night, "2027-10-30T12:00:00Z",
                "2027-10-31T00:30 2027-10-31T03:00\n2027-11-01T01:30 2027-11-01T03:00\n");
    /* All of the window is skipped. */
    check_spans("[{\"from\":\"02:00\",\"to\":\"02:45\",\"timezone\":\"Europe/Berlin\"}]",
                "2027-03-27T12:00:00Z", "2027-03-29T00:00 2027-03-29T00:45\n");
    check_spans("[{\"from\":\"02:15\",\"to\":\"09:00\",\"timezone\":\"Australia/Lord_Howe\"}]",
                "2027-10-02T14:00:00Z", "2027-10-02T15:30 2027-10-02T22:00\n");
}
END_TEST

START_TEST(never_opens_without_its_zone)
{
    check_spans("[{\"from\":\"09:00\",\"to\":\"17:00\",\"timezone\":\"Mars/Base\"}]", "2026-11-29T08:00:00Z",
                "");
}
END_TEST

START_TEST(says_what_is_wrong)
{
    static const char *const faults[][2] = {
        {"{}", "must be an array of 1 to 16 windows"},
        {"[]", "must be an array of 1 to 16 windows"},
        {"[7]", "window 1: must be an object with from and to"},
        {"[{\"from\":\"09:00\"}]", "window 1: needs from and to"},
        {"[{\"from\":\"9:00\",\"to\":\"17:00\"}]", "window 1: from must be a local time such as \"09:00\""},
        {"[{\"from\":\"24:00\",\"to\":\"17:00\"}]", "window 1: from must be a local time such as \"09:00\""},
        {"[{\"from\":\"09:00\",\"to\":\"24:01\"}]",
         "window 1: to must be a local time such as \"17:00\", or \"24:00\""},
        {"[{\"from\":\"09:60\",\"to\":\"10:00\"}]", "window 1: from must be a local time such as \"09:00\""},
        {"[{\"from\":\"09:00\",\"to\":\"10:00\"},{\"from\":\"09:00\",\"to\":\"10:00\",\"days\":[]}]",
         "window 2: days must be an array of mon, tue, wed, thu, fri, sat and sun, each at most once"},
        {"[{\"from\":\"09:00\",\"to\":\"10:00\",\"days\":[\"mon\",\"mon\"]}]",
         "window 1: days must be an array of mon, tue, wed, thu, fri, sat and sun, each at most once"},
        {"[{\"from\":\"09:00\",\"to\":\"10:00\",\"timezone\":\"../etc\"}]",
         "window 1: timezone " TIME_ZONE_NAME_EXPECTED},
        {"[{\"from\":\"09:00\",\"to\":\"10:00\",\"until\":1}]",
         "window 1: has an unknown member; a window has days, from, to and timezone"},
    };
    struct windows windows;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        ck_assert_int_eq(windows_parse(slice_of(faults[i][0]), &windows, &problem), STATUS_INVALID);
        ck_assert_str_eq(problem.text, faults[i][1]);
    }
}
END_TEST

START_TEST(local_times_become_times_in_utc)
{
    static const struct {
        const char *zone, *local, *utc;
    } times[] = {
        {"Europe/Berlin", "2026-12-24T09:00", "2026-12-24T08:00:00.000Z"},
        {"Europe/Berlin", "2026-07-24T09:00:30", "2026-07-24T07:00:30.000Z"},
        {"Europe/Berlin", "2027-03-28T02:30",
         "2027-03-28T01:00:00.000Z"}, /* skipped: the moment of the change */
        {"Europe/Berlin", "2027-10-31T02:30", "2027-10-31T00:30:00.000Z"}, /* comes twice: the first time */
        {"America/New_York", "2027-03-14T02:00", "2027-03-14T07:00:00.000Z"},
        {"Australia/Lord_Howe", "2027-10-03T02:10", "2027-10-02T15:30:00.000Z"},
        {"Pacific/Apia", "2011-12-30T12:00", "2011-12-30T10:00:00.000Z"}, /* a day that did not exist */
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct time_zone *zone = zone_from_file(slice_of(times[i].zone));
        char text[TIMESTAMP_SIZE];
        int64_t local_ms;
        ck_assert(timestamp_parse_local(slice_of(times[i].local), &local_ms));
        timestamp_format(1000 * time_zone_to_utc(zone, local_ms / 1000), text);
        ck_assert_str_eq(text, times[i].utc);
        time_zone_free(zone);
    }
    static const char *const not_local[] = {"",
                                            "2026-12-24",
                                            "2026-12-24T09",
                                            "2026-12-24T09:00Z",
                                            "2026-12-24 09-00",
                                            "2026-12-24T09:00:00Z",
                                            "2026-12-24T09:00:00.5",
                                            "2026-13-24T09:00"};
    int64_t ignored;
    for (size_t i = 0; i < sizeof not_local / sizeof *not_local; i++)
        ck_assert_msg(!timestamp_parse_local(slice_of(not_local[i]), &ignored), "%s", not_local[i]);
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("windows");
    TCase *tests = tcase_create("windows");
    tcase_add_test(tests, opens_at_the_local_times_of_its_days);
    tcase_add_test(tests, may_end_on_the_next_day);
    tcase_add_test(tests, several_windows_become_one_span_where_they_meet);
    tcase_add_test(tests, follows_changes_of_the_clocks);
    tcase_add_test(tests, never_opens_without_its_zone);
    tcase_add_test(tests, says_what_is_wrong);
    tcase_add_test(tests, local_times_become_times_in_utc);
    suite_add_tcase(all, tests);
    return all;
}
