#include <inttypes.h>
#include <stdio.h>

#include "base/duration.h"
#include "support/suite.h"

#define MAX INT64_C(1000000000000)

START_TEST(is_exact_and_rounds_up)
{
    static const struct {
        const char *text;
        int64_t multiplier, value;
        bool is_exact;
    } cases[] = {
        {"0", 1000, 0, true},
        {"-0", 1000, 0, true},
        {"-0.000e7", 1000, 0, true},
        {"0e999999999999999999999", 1000, 0, true},
        {"0.001", 1000, 1, true},
        {"0.0010", 1000, 1, true},
        {"0.00100000000000000000000000000000", 1000, 1, true},
        {"0.00100000000000000000000000000001", 1000, 2, false},
        {"0.0000000000000000000000000000001", 1000, 1, false},
        {"0.0001", 1000, 1, false},
        {"0.3", 1000, 300, true},
        {"1.1", 1000, 1100, true},
        {"2.675", 1000, 2675, true},
        {"2.6751", 1000, 2676, false},
        {"1.0005", 1000, 1001, false},
        {"1e3", 1000, 1000000, true},
        {"1E+3", 1, 1000, true},
        {"1000e-3", 1, 1, true},
        {"1e-3", 1000, 1, true},
        {"1e-4", 1000, 1, false},
        {"1e-999999999999999999999", 1000, 1, false},
        {"12345678901e-8", 1, 124, false},
        {"1000000000000", 1, MAX, true},
        {"999999999999.9", 1, MAX, false},
        {"1.5", 86400000, 129600000, true},
        {"007", 1, 7, true},
        {"000000000000000000000000000001", 1, 1, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = -1;
        bool is_exact;
        ck_assert_msg(decimal_parse(slice_of(cases[i].text), cases[i].multiplier, MAX, &value, &is_exact),
                      "%s", cases[i].text);
        ck_assert_msg(value == cases[i].value && is_exact == cases[i].is_exact, "%s: %" PRId64, cases[i].text,
                      value);
    }
}
END_TEST

START_TEST(refuses)
{
    static const char *const cases[] = {
        "",
        "-",
        "+1",
        ".5",
        "5.",
        "1.e3",
        "1e",
        "1e+",
        "e3",
        "-1",
        "-0.1",
        "1 ",
        " 1",
        "0x10",
        "1,5",
        "NaN",
        "1e5x",
        "1e5/",
        "1.5.",
        "1000000000001",
        "1e13",
        "1e999",
        "1e999999999999999999999999",
        "1000000000000.0000000000000001",
        "9999999999999999999999999999999999999999999999999999999999",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value;
        ck_assert_msg(!decimal_parse(slice_of(cases[i]), 1, MAX, &value, NULL), "'%s'", cases[i]);
    }
}
END_TEST

/* Parses each millisecond of some seconds, written with three digits, and with more digits than a float
 * holds. */
START_TEST(keeps_every_millisecond)
{
    for (int ms = 0; ms < 20000; ms++) {
        char text[64];
        int64_t value;
        int size = snprintf(text, sizeof text, "%d.%03d0000000000000000000000", ms / 1000, ms % 1000);
        ck_assert(decimal_parse(slice_from(text, (size_t)size), 1000, MAX, &value, NULL));
        ck_assert_int_eq(value, ms);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("decimal");
    TCase *tests = tcase_create("decimal");
    tcase_add_test(tests, is_exact_and_rounds_up);
    tcase_add_test(tests, refuses);
    tcase_add_test(tests, keeps_every_millisecond);
    suite_add_tcase(suite, tests);
    return suite;
}
