#include "support/suite.h"

#include <inttypes.h>

#include "base/duration.h"

#define DAY INT64_C(86400000)

START_TEST(parses)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"500ms", 500},     {"15s", 15000},
        {"3m", 180000},     {"1h", 3600000},
        {"2d", 2 * DAY},    {"0", 0},
        {"15", 15000},      {"1.5", 1500},
        {"1.5h", 5400000},  {"0.1ms", 1},
        {"1.0001s", 1001},  {"365d", 365 * DAY},
        {"1h30m", 5400000}, {"1d2h3m4s5ms", DAY + 7384005},
        {"1m0.5s", 60500},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ms = -1;
        ck_assert_msg(duration_parse(slice_of(cases[i].text), 365 * DAY, &ms) && ms == cases[i].ms,
                      "%s: %" PRId64, cases[i].text, ms);
    }
}
END_TEST

START_TEST(refuses)
{
    static const char *const cases[] = {"",   "s",     "ms",   "-1s",  "+1",   "1e3",    "1 s",
                                        "1S", "30m1h", "1h1h", "1h30", "h1",   "1h 3m",  "364d25h",
                                        "1w", "1.s",   ".5s",  "d",    "366d", "365.1d", "1..5"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ms;
        ck_assert_msg(!duration_parse(slice_of(cases[i]), 365 * DAY, &ms), "'%s'", cases[i]);
    }
}
END_TEST

START_TEST(formats_so_that_it_reads_it_again)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {1, "1ms"},
        {500, "500ms"},
        {1000, "1s"},
        {1500, "1.5s"},
        {1001, "1.001s"},
        {90000, "90s"},
        {900000, "15m"},
        {3600000, "1h"},
        {5400000, "90m"},
        {2 * DAY, "2d"},
        {61230, "61.23s"},
        {INT64_MAX, "9223372036854775.807s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DURATION_TEXT_MAX];
        int64_t ms;
        duration_format(cases[i].ms, text);
        ck_assert_str_eq(text, cases[i].text);
        ck_assert_msg(duration_parse(slice_of(text), INT64_MAX, &ms) && ms == cases[i].ms, "%s", text);
    }
}
END_TEST

START_TEST(writes_seconds_as_the_shortest_exact_number)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "0.001"},
                 {10, "0.01"},
                 {100, "0.1"},
                 {1000, "1"},
                 {1500, "1.5"},
                 {2675, "2.675"},
                 {30000, "30"},
                 {10010, "10.01"},
                 {123456, "123.456"},
                 {INT64_MAX, "9223372036854775.807"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer text;
        int64_t ms;
        buffer_init(&text, 100);
        seconds_append(&text, cases[i].ms);
        ck_assert_str_eq(buffer_text(&text), cases[i].text);
        ck_assert(seconds_parse(buffer_slice(&text), INT64_MAX, &ms));
        ck_assert_int_eq(ms, cases[i].ms);
        buffer_fini(&text);
    }
}
END_TEST

START_TEST(refuses_seconds_over_the_maximum)
{
    int64_t ms;
    ck_assert(seconds_parse(SLICE("1.0"), 1000, &ms));
    ck_assert(!seconds_parse(SLICE("1.0000001"), 1000, &ms));
    ck_assert(!seconds_parse(SLICE("-1"), 1000, &ms));
    ck_assert(!seconds_parse(SLICE("true"), 1000, &ms));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("duration");
    TCase *tests = tcase_create("duration");
    tcase_add_test(tests, parses);
    tcase_add_test(tests, refuses);
    tcase_add_test(tests, formats_so_that_it_reads_it_again);
    tcase_add_test(tests, writes_seconds_as_the_shortest_exact_number);
    tcase_add_test(tests, refuses_seconds_over_the_maximum);
    suite_add_tcase(suite, tests);
    return suite;
}
