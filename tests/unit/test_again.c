#include "job/delivery/delivery_form.h"

#include "support/suite.h"

#define NOW_MS INT64_C(784111777000) /* Sun, 06 Nov 1994 08:49:37 GMT */

START_TEST(reads_seconds_durations_and_dates)
{
    static const struct {
        const char *value;
        int64_t wait_ms;
    } cases[] = {
        {"30", 30000},
        {"1", 1000},
        {"1.5", 1500},
        {"5m", 300000},
        {"1h30m", 5400000},
        {"1000ms", 1000},
        {"365d", AGAIN_MAX_MS},
        {"31536000", AGAIN_MAX_MS},
        {"Sun, 06 Nov 1994 08:49:38 GMT", 1000},
        {"Sun, 06 Nov 1994 09:49:37 GMT", 3600000},
        {"Mon, 06 Nov 1995 08:49:37 GMT", AGAIN_MAX_MS},
        {"Sun Nov  6 08:50:37 1994", 60000},
        {"Wed Nov 16 08:49:37 1994", INT64_C(864000000)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char detail[AGAIN_DETAIL_SIZE];
        int64_t wait_ms;
        ck_assert_msg(again_parse(slice_of(cases[i].value), NOW_MS, &wait_ms, detail), "%s", cases[i].value);
        ck_assert_msg(wait_ms == cases[i].wait_ms, "%s: %lld", cases[i].value, (long long)wait_ms);
    }
}
END_TEST

START_TEST(reads_the_dates_of_old)
{
    char detail[AGAIN_DETAIL_SIZE];
    int64_t wait_ms;
    ck_assert(again_parse(SLICE("Sunday, 18-Jan-26 00:00:10 GMT"), INT64_C(1768694400000), &wait_ms, detail));
    ck_assert_int_eq(wait_ms, 10000);
}
END_TEST

START_TEST(says_what_it_found)
{
    static const struct slice cases[] = {
        SLICE(""),
        SLICE("0"),
        SLICE("0.9"),
        SLICE("999ms"),
        SLICE("-1"),
        SLICE("31536000.001"),
        SLICE("366d"),
        SLICE("soon"),
        SLICE("30, 40"),
        SLICE("1e1000"),
        SLICE("99999999999999999999999"),
        SLICE("30\0"),
        SLICE("30 "),
        SLICE("Sun, 06 Nov 1994 08:49:37 GMT"),
        SLICE("Mon, 06 Nov 1995 08:49:38 GMT"),
        SLICE("Sun, 06 Nov 1993 08:49:37 GMT"),
        SLICE("Mon, 32 Nov 1994 08:49:37 GMT"),
        SLICE("Mon, 07 Foo 1994 08:49:37 GMT"),
        SLICE("Mon, 07 Nov 1994 25:49:37 GMT"),
        SLICE("Mon, 07 Nov 1994 08:49:37 GMTx"),
        SLICE("Mon, 07 Nov 1994 08:49:37"),
        SLICE("Mon, 07 Nov 1994 08:49:37 GMT\0x"),
        SLICE("1994-11-07T08:49:37Z"),
        SLICE("Sun Nov  6 08:50:37 1994 and more"),
        SLICE("\"a\\b\"\xff\r\x01"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char detail[AGAIN_DETAIL_SIZE];
        int64_t wait_ms;
        ck_assert_msg(!again_parse(cases[i], NOW_MS, &wait_ms, detail), "%s", cases[i].data);
        ck_assert(strlen(detail) <= ATTEMPT_DETAIL_MAX);
        for (const char *at = detail; *at; at++)
            ck_assert(*at >= ' ' && *at <= '~' && *at != '"' && *at != '\\');
    }
}
END_TEST

START_TEST(shows_the_beginning_of_a_long_value)
{
    char detail[AGAIN_DETAIL_SIZE], value[1000];
    int64_t wait_ms;
    memset(value, '7', sizeof value);
    ck_assert(!again_parse(slice_from(value, sizeof value), NOW_MS, &wait_ms, detail));
    ck_assert_str_eq(
        detail,
        "The answer has Duepost-Again: 77777777777777777777777777777777777777777777777777...; expected are "
        "seconds, a duration such as 5m, or an HTTP date, 1 s to 365 days ahead");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("again");
    TCase *tests = tcase_create("again");
    tcase_add_test(tests, reads_seconds_durations_and_dates);
    tcase_add_test(tests, reads_the_dates_of_old);
    tcase_add_test(tests, says_what_it_found);
    tcase_add_test(tests, shows_the_beginning_of_a_long_value);
    suite_add_tcase(suite, tests);
    return suite;
}
