#include <stdbool.h>

#include "base/timestamp.h"
#include "support/suite.h"

START_TEST(counts_days)
{
    static const struct {
        struct date date;
        int64_t days;
        int weekday;
    } cases[] = {
        {{1970, 1, 1}, 0, 4},       {{1969, 12, 31}, -1, 3}, {{2000, 2, 29}, 11016, 2},
        {{2026, 11, 22}, 20779, 0}, {{1, 1, 1}, -719162, 1}, {{9999, 12, 31}, 2932896, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct date date = date_from_days(cases[i].days);
        ck_assert_int_eq(date_to_days(cases[i].date), cases[i].days);
        ck_assert(date.year == cases[i].date.year && date.month == cases[i].date.month &&
                  date.day == cases[i].date.day);
        ck_assert_int_eq(date_weekday(cases[i].days), cases[i].weekday);
    }
}
END_TEST

START_TEST(each_day_follows_the_day_before)
{
    struct date before = date_from_days(-100 * 366);
    for (int64_t days = -100 * 366 + 1; days < 240 * 366; days++) {
        struct date date = date_from_days(days);
        bool is_first = date.day == 1;
        int last_day = is_first ? date_month_days(before.year, before.month) : date.day - 1;
        if (date_to_days(date) != days || last_day != before.day ||
            date_weekday(days) !=
                (date_weekday(days - 1) + 1) %
                    7) /* checked without an assertion, because assertions of Check are slow */
            ck_abort_msg("%04d-%02d-%02d", date.year, date.month, date.day);
        before = date;
    }
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("date");
    TCase *tests = tcase_create("date");
    tcase_add_test(tests, counts_days);
    tcase_add_test(tests, each_day_follows_the_day_before);
    suite_add_tcase(all, tests);
    return all;
}
