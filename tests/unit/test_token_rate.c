#include "support/suite.h"

#include "job/token.h"

#define SECOND INT64_C(1000000000)

static int take_all(struct token_rate *rate, int64_t now_ns, int64_t *wait_ns)
{
    int count = 0;
    while (count < 10000 && token_rate_take(rate, now_ns, wait_ns))
        count++;
    return count;
}

START_TEST(a_rate_is_a_number_for_each_second_minute_or_hour)
{
    static const char *const wrong[] = {"",    "1",   "/s",   "0/s",  "-1/s",      "1/",
                                        "1/d", "1/S", "1/ss", "1 /s", "1000001/s", "1.5/s"};
    struct token_rate rate;
    ck_assert(token_rate_parse(SLICE("1000/s"), &rate));
    ck_assert_int_eq(rate.step_ns, SECOND / 1000);
    ck_assert(token_rate_parse(SLICE("60/m"), &rate));
    ck_assert_int_eq(rate.step_ns, SECOND);
    ck_assert(token_rate_parse(SLICE("1/h"), &rate));
    ck_assert_int_eq(rate.step_ns, 3600 * SECOND);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!token_rate_parse(slice_of(wrong[i]), &rate), "%s", wrong[i]);
}
END_TEST

START_TEST(a_full_bucket_holds_a_period_s_worth_and_fills_up_at_its_pace)
{
    struct token_rate rate;
    int64_t wait_ns, now_ns = 77 * SECOND;
    ck_assert(token_rate_parse(SLICE("10/s"), &rate));
    ck_assert_int_eq(take_all(&rate, now_ns, &wait_ns), 10);
    ck_assert_int_eq(wait_ns, SECOND / 10);
    now_ns += wait_ns - 1;
    ck_assert_int_eq(take_all(&rate, now_ns, &wait_ns), 0);
    ck_assert_int_eq(wait_ns, 1);
    ck_assert_int_eq(take_all(&rate, now_ns + 1, &wait_ns), 1);
    ck_assert_int_eq(take_all(&rate, now_ns + SECOND / 2, &wait_ns), 4);
    ck_assert_int_eq(take_all(&rate, now_ns + 100 * SECOND, &wait_ns), 10);
}
END_TEST

START_TEST(what_was_charged_is_waited_for)
{
    struct token_rate rate;
    int64_t wait_ns;
    ck_assert(token_rate_parse(SLICE("10/s"), &rate));
    ck_assert(token_rate_take(&rate, SECOND, &wait_ns));
    token_rate_charge(&rate, SECOND, 99);
    ck_assert(!token_rate_take(&rate, SECOND, &wait_ns));
    ck_assert_int_eq(wait_ns, 9 * SECOND + SECOND / 10);
    ck_assert(token_rate_take(&rate, SECOND + wait_ns, &wait_ns));
    ck_assert(!token_rate_take(&rate, SECOND + wait_ns, &wait_ns));
}
END_TEST

START_TEST(without_a_rate_nothing_is_held_back)
{
    struct token_rate rate = {.period_ns = 0};
    int64_t wait_ns;
    token_rate_charge(&rate, SECOND, 1000000);
    ck_assert_int_eq(take_all(&rate, SECOND, &wait_ns), 10000);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("token_rate");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_rate_is_a_number_for_each_second_minute_or_hour);
    tcase_add_test(tests, a_full_bucket_holds_a_period_s_worth_and_fills_up_at_its_pace);
    tcase_add_test(tests, what_was_charged_is_waited_for);
    tcase_add_test(tests, without_a_rate_nothing_is_held_back);
    suite_add_tcase(suite, tests);
    return suite;
}
