#include "support/suite.h"

#include "job/seconds.h"

START_TEST(writes_the_shortest_exact_number)
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

START_TEST(refuses_what_is_over_the_maximum)
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
    Suite *suite = suite_create("seconds");
    TCase *tests = tcase_create("seconds");
    tcase_add_test(tests, writes_the_shortest_exact_number);
    tcase_add_test(tests, refuses_what_is_over_the_maximum);
    suite_add_tcase(suite, tests);
    return suite;
}
