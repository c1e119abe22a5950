#include "support/suite.h"

#include "base/buffer.h"
#include "base/timestamp.h"
#include "job/schedule/cron.h"

static struct cron cron;
static struct problem problem;

/* Returns the first times, at most count, at which the expression is due and which are later than the
 * argument after, separated by spaces. Milliseconds and Z are left out. */
static const char *next_times(const char *text, const char *after, size_t count)
{
    static char times[400];
    char one[TIMESTAMP_SIZE];
    struct buffer out = {.data = times, .capacity = sizeof times, .max = sizeof times - 1};
    int64_t at_ms, at_s;
    ck_assert_msg(cron_parse(slice_of(text), &cron, &problem) == STATUS_OK, "%s: %s", text, problem.text);
    ck_assert(timestamp_parse(slice_of(after), &at_ms));
    at_s = at_ms / 1000;
    for (size_t i = 0; i < count && cron_next(&cron, at_s, TIMESTAMP_MAX_MS / 1000, &at_s); i++) {
        timestamp_format(at_s * 1000, one);
        buffer_printf(&out, "%s%.19s", i ? " " : "", one);
    }
    return buffer_text(&out);
}

START_TEST(finds_the_next_times)
{
    static const struct {
        const char *text, *after;
        size_t count;
        const char *times;
    } cases[] = {
        {"* * * * *", "2026-01-01T00:00:00Z", 2, "2026-01-01T00:01:00 2026-01-01T00:02:00"},
        {"* * * * * *", "2026-01-01T00:00:59Z", 2, "2026-01-01T00:01:00 2026-01-01T00:01:01"},
        {"*/20 59 23 31 12 *", "2026-01-01T00:00:00Z", 4,
         "2026-12-31T23:59:00 2026-12-31T23:59:20 2026-12-31T23:59:40 2027-12-31T23:59:00"},
        {"5,10-12,20-30/5 0 * * *", "2026-01-01T00:04:59Z", 8,
         "2026-01-01T00:05:00 2026-01-01T00:10:00 2026-01-01T00:11:00 2026-01-01T00:12:00 "
         "2026-01-01T00:20:00 "
         "2026-01-01T00:25:00 2026-01-01T00:30:00 2026-01-02T00:05:00"},
        {" 0\t12  1 JAN,Feb *\t", "2026-01-01T12:00:00Z", 2, "2026-02-01T12:00:00 2027-01-01T12:00:00"},
        {"@hourly", "2026-01-01T00:00:00Z", 1, "2026-01-01T01:00:00"},
        {"@DAILY", "2026-01-01T00:00:00Z", 1, "2026-01-02T00:00:00"},
        {"@midnight", "2026-01-01T00:00:00Z", 1, "2026-01-02T00:00:00"},
        {"@weekly", "2026-01-01T00:00:00Z", 1, "2026-01-04T00:00:00"},
        {"@monthly", "2026-01-01T00:00:00Z", 1, "2026-02-01T00:00:00"},
        {"@yearly", "2026-01-01T00:00:00Z", 1, "2027-01-01T00:00:00"},
        {"@annually", "2026-01-01T00:00:00Z", 1, "2027-01-01T00:00:00"},
        /* Sunday is 0 and 7. 2026-11-22 is a Sunday. */
        {"0 0 * * 0", "2026-11-20T00:00:00Z", 1, "2026-11-22T00:00:00"},
        {"0 0 * * 7", "2026-11-20T00:00:00Z", 1, "2026-11-22T00:00:00"},
        {"0 0 * * sun", "2026-11-20T00:00:00Z", 1, "2026-11-22T00:00:00"},
        {"0 0 * * 5-7", "2026-11-20T00:00:00Z", 3,
         "2026-11-21T00:00:00 2026-11-22T00:00:00 2026-11-27T00:00:00"},
        {"0 0 * * Mon-fri", "2026-11-20T00:00:00Z", 1, "2026-11-23T00:00:00"},
        /* If neither day of month nor day of week begins with an asterisk, one of them must match; otherwise
         * both. */
        {"0 0 13 * 5", "2026-11-01T00:00:00Z", 4,
         "2026-11-06T00:00:00 2026-11-13T00:00:00 2026-11-20T00:00:00 2026-11-27T00:00:00"},
        {"0 0 13 * */5", "2026-01-01T00:00:00Z", 3,
         "2026-02-13T00:00:00 2026-03-13T00:00:00 2026-09-13T00:00:00"},
        {"0 0 */13 * 5", "2026-01-01T00:00:00Z", 3,
         "2026-02-27T00:00:00 2026-03-27T00:00:00 2026-05-01T00:00:00"},
        {"0 0 13 * 0-7", "2026-11-01T00:00:00Z", 2, "2026-11-02T00:00:00 2026-11-03T00:00:00"},
        /* If the step is larger than the range, only the first value of the range is left. */
        {"*/100 0 * * *", "2026-11-01T00:00:00Z", 1, "2026-11-02T00:00:00"},
        {"0 0 29 2 *", "2096-03-01T00:00:00Z", 2, "2104-02-29T00:00:00 2108-02-29T00:00:00"},
        {"0 0 29 2 */7", "2096-01-01T00:00:00Z", 2, "2128-02-29T00:00:00 2156-02-29T00:00:00"},
        {"0 0 31 */3 *", "2026-01-01T00:00:00Z", 4,
         "2026-01-31T00:00:00 2026-07-31T00:00:00 2026-10-31T00:00:00 2027-01-31T00:00:00"},
        {"0 0 31 2 1", "2026-01-01T00:00:00Z", 1, "2026-02-02T00:00:00"},
        {"0 0 1 1 *", "9998-06-01T00:00:00Z", 3, "9999-01-01T00:00:00"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(next_times(cases[i].text, cases[i].after, cases[i].count), cases[i].times);
}
END_TEST

START_TEST(stops_at_the_limit)
{
    int64_t at_s = 0;
    ck_assert_int_eq(cron_parse(SLICE("@hourly"), &cron, &problem), STATUS_OK);
    ck_assert(!cron_next(&cron, 0, 3600, &at_s));
    ck_assert(cron_next(&cron, 0, 3601, &at_s));
    ck_assert_int_eq(at_s, 3600);
    ck_assert(!cron_next(&cron, 3600, 3600, &at_s));
}
END_TEST

/* In the first hours of 1970 in UTC, the local time of a zone may still be in 1969. */
START_TEST(finds_times_before_1970)
{
    int64_t at_s = 0;
    ck_assert_int_eq(cron_parse(SLICE("0 30 23 * * *"), &cron, &problem), STATUS_OK);
    ck_assert(cron_next(&cron, -86400, 0, &at_s));
    ck_assert_int_eq(at_s, -1800);
}
END_TEST

START_TEST(says_which_hours_and_minutes_are_wild)
{
    static const struct {
        const char *text;
        bool is_wild;
    } cases[] = {{"0 4 * * *", false},    {"*/5 4 * * *", true}, {"0 */4 * * *", true},
                 {"0 0-23 * * *", false}, {"@hourly", true},     {"@daily", false},
                 {"* 0 4 * * *", false},  {"0 * 4 * * *", true}, {"0,* 4 * * *", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(cron_parse(slice_of(cases[i].text), &cron, &problem), STATUS_OK);
        ck_assert_msg(cron.is_wild == cases[i].is_wild, "%s", cases[i].text);
    }
}
END_TEST

#define FIELDS(count)                                                                                        \
    "found " count " fields; allowed are 5 (minute, hour, day of month, month, day of week), or 6 with "     \
    "seconds first"
#define WORDS   "allowed words are @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually"
#define NO_STEP "a step needs a range or *, such as 5-59/10 or */10"

START_TEST(names_the_field_and_its_values)
{
    static const char *const cases[][2] = {
        {"", FIELDS("0")},
        {"* * * *", FIELDS("4")},
        {"* * * * * * *", FIELDS("more than 6")},
        {"60 * * * *", "minute: found '60'; allowed are 0 to 59"},
        {"60 * * * * *", "second: found '60'; allowed are 0 to 59"},
        {"* 24 * * *", "hour: found '24'; allowed are 0 to 23"},
        {"* -1 * * *", "hour: found ''; allowed are 0 to 23"},
        {"* 1-24 * * *", "hour: found '24'; allowed are 0 to 23"},
        {"* 5-1 * * *", "hour: found '5-1'; a range must not end before it begins"},
        {"* 1,,2 * * *", "hour: found ''; allowed are 0 to 23"},
        {"* 1, * * *", "hour: found ''; allowed are 0 to 23"},
        {"* * 0 * *", "day of month: found '0'; allowed are 1 to 31"},
        {"* * L * *", "day of month: found 'L'; allowed are 1 to 31"},
        {"* * ? * *", "day of month: found '?'; allowed are 1 to 31"},
        {"* * * 13 *", "month: found '13'; allowed are 1 to 12 or jan to dec"},
        {"* * * january *", "month: found 'january'; allowed are 1 to 12 or jan to dec"},
        {"* * * mon *", "month: found 'mon'; allowed are 1 to 12 or jan to dec"},
        {"* * * * 8", "day of week: found '8'; allowed are 0 to 7 or sun to sat"},
        {"* * * * fri#2", "day of week: found 'fri#2'; allowed are 0 to 7 or sun to sat"},
        {"* * * * sat-sun", "day of week: found 'sat-sun'; a range must not end before it begins"},
        {"5/10 * * * *", "minute: found '5/10'; " NO_STEP},
        {"*/0 * * * *", "minute: found '*/0'; allowed steps are 1 to 999"},
        {"*/1000 * * * *", "minute: found '*/1000'; allowed steps are 1 to 999"},
        {"*/ * * * *", "minute: found '*/'; allowed steps are 1 to 999"},
        {"*5 * * * *", "minute: found '*5'; allowed are 0 to 59"},
        {"*-5 * * * *", "minute: found '*'; allowed are 0 to 59"},
        {"1\n * * * *", "minute: found '1\n'; allowed are 0 to 59"},
        {"0 0 31 2 *", "day of month: no month allowed here has such a day, so the date never comes"},
        {"0 0 30,31 2 *", "day of month: no month allowed here has such a day, so the date never comes"},
        {"0 0 31 4,6,9,11 */2",
         "day of month: no month allowed here has such a day, so the date never comes"},
        {"@reboot", "found '@reboot'; " WORDS},
        {"@", "found '@'; " WORDS},
        {"1111111111222222222233333333334444444444555 * * * *",
         "minute: found '1111111111222222222233333333334444444444'; allowed are 0 to 59"},
    };
    char long_text[CRON_TEXT_MAX + 2];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(cron_parse(slice_of(cases[i][0]), &cron, &problem) == STATUS_INVALID, "%s",
                      cases[i][0]);
        ck_assert_str_eq(problem.text, cases[i][1]);
    }
    memset(long_text, ' ', sizeof long_text);
    memcpy(long_text, "* * * * *", 9);
    ck_assert_int_eq(cron_parse(slice_from(long_text, CRON_TEXT_MAX), &cron, &problem), STATUS_OK);
    ck_assert_int_eq(cron_parse(slice_from(long_text, CRON_TEXT_MAX + 1), &cron, &problem), STATUS_INVALID);
    ck_assert_str_eq(problem.text, "has 256 bytes; allowed are at most 255");
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("cron");
    TCase *tests = tcase_create("cron");
    tcase_add_test(tests, finds_the_next_times);
    tcase_add_test(tests, stops_at_the_limit);
    tcase_add_test(tests, finds_times_before_1970);
    tcase_add_test(tests, says_which_hours_and_minutes_are_wild);
    tcase_add_test(tests, names_the_field_and_its_values);
    suite_add_tcase(all, tests);
    return all;
}
