#include "support/suite.h"

#include "job/retry.h"

static struct retry_schedule schedule;
static struct problem problem;

START_TEST(default_is_what_the_api_promises)
{
    ck_assert_int_eq(retry_schedule_parse(SLICE("15s 3m 10m 30m 30m 1h 2h 6h 15h"), &schedule, &problem),
                     STATUS_OK);
    ck_assert_uint_eq(schedule.count, retry_schedule_default.count);
    for (size_t i = 0; i < schedule.count; i++)
        ck_assert_int_eq(schedule.wait_ms[i], retry_schedule_default.wait_ms[i]);
}
END_TEST

START_TEST(parses_words_between_spaces_and_commas)
{
    static const struct {
        const char *text;
        size_t count;
        int64_t last_ms;
    } cases[] = {{"", 0, 0},
                 {" , ", 0, 0},
                 {"1s", 1, 1000},
                 {"1s,2s", 2, 2000},
                 {" 1s, 500ms ,365d ", 3, 31536000000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(retry_schedule_parse(slice_of(cases[i].text), &schedule, &problem), STATUS_OK);
        ck_assert_uint_eq(schedule.count, cases[i].count);
        ck_assert(schedule.count == 0 || schedule.wait_ms[schedule.count - 1] == cases[i].last_ms);
    }
}
END_TEST

START_TEST(says_what_is_wrong)
{
    ck_assert_int_eq(retry_schedule_parse(SLICE("1s soon"), &schedule, &problem), STATUS_INVALID);
    ck_assert_str_eq(problem.text, "'soon' is not a wait of at most 365d, such as 15s, 3m or 1h");
    ck_assert_int_eq(retry_schedule_parse(SLICE("366d"), &schedule, &problem), STATUS_INVALID);
}
END_TEST

START_TEST(has_at_most_100_waits)
{
    char text[300];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = "1s "[i % 3];
    ck_assert_int_eq(retry_schedule_parse(slice_from(text, 300), &schedule, &problem), STATUS_OK);
    ck_assert_uint_eq(schedule.count, RETRY_SCHEDULE_MAX);
    char more[303];
    for (size_t i = 0; i < sizeof more; i++)
        more[i] = "1s "[i % 3];
    ck_assert_int_eq(retry_schedule_parse(slice_from(more, 303), &schedule, &problem), STATUS_INVALID);
    ck_assert_str_eq(problem.text, "a retry schedule has at most 100 waits");
}
END_TEST

START_TEST(repeats_the_last_wait)
{
    static const struct retry_schedule two = {2, {10, 20}};
    ck_assert_int_eq(retry_schedule_wait_ms(&two, 1), 10);
    ck_assert_int_eq(retry_schedule_wait_ms(&two, 2), 20);
    ck_assert_int_eq(retry_schedule_wait_ms(&two, 3), 20);
    ck_assert_int_eq(retry_schedule_wait_ms(&two, 100), 20);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("retry_schedule");
    TCase *tests = tcase_create("retry_schedule");
    tcase_add_test(tests, default_is_what_the_api_promises);
    tcase_add_test(tests, parses_words_between_spaces_and_commas);
    tcase_add_test(tests, says_what_is_wrong);
    tcase_add_test(tests, has_at_most_100_waits);
    tcase_add_test(tests, repeats_the_last_wait);
    suite_add_tcase(suite, tests);
    return suite;
}
