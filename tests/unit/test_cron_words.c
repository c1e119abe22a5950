#include "support/suite.h"

#include "job/schedule/cron.h"

/* Returns the description of a cron expression in English words. */
static const char *words_of(const char *text)
{
    static char words[CRON_WORDS_MAX + 1];
    struct buffer out = {.data = words, .capacity = sizeof words, .max = CRON_WORDS_MAX};
    struct cron cron;
    struct problem problem;
    ck_assert_msg(cron_parse(slice_of(text), &cron, &problem) == STATUS_OK, "%s: %s", text, problem.text);
    cron_write_words(&cron, &out);
    return buffer_text(&out);
}

START_TEST(says_times_in_words)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"* * * * *", "every minute"},
        {"* * * * * *", "every second"},
        {"@hourly", "every hour"},
        {"@daily", "at 00:00, every day"},
        {"@weekly", "at 00:00, on Sunday"},
        {"@monthly", "at 00:00, on the 1st of the month"},
        {"@yearly", "at 00:00, on the 1st of January"},
        {"*/15 * * * *", "every 15 minutes"},
        {"0,30 * * * *", "every 30 minutes"},
        {"*/2 * * * *", "every 2 minutes"},
        {"*/7 * * * *", "every 7 minutes, from minute 0 to 56 of every hour"},
        {"5-59/10 * * * *", "every 10 minutes, from minute 5 to 55 of every hour"},
        {"10-20/5 * * * *", "every 5 minutes, from minute 10 to 20 of every hour"},
        {"5 * * * *", "at minute 5 of every hour"},
        {"5,35 * * * *", "at minutes 5 and 35 of every hour"},
        {"1,2,40 * * * *", "at minutes 1, 2 and 40 of every hour"},
        {"0-5 * * * *", "every minute, from minute 0 to 5 of every hour"},
        {"30 9 * * *", "at 09:30, every day"},
        {"0 9,17 * * *", "at 09:00 and 17:00, every day"},
        {"30 9,17 * * *", "at 09:30 and 17:30, every day"},
        {"0,30 9,17 * * *", "at 09:00, 09:30, 17:00 and 17:30, every day"},
        {"0 9-11 * * *", "at 09:00, 10:00 and 11:00, every day"},
        {"0 9-17 * * *", "every hour from 09:00 to 17:00, every day"},
        {"15 9-17/2 * * *", "every 2 hours from 09:15 to 17:15, every day"},
        {"0 */2 * * *", "every 2 hours"},
        {"30 */2 * * *", "every 2 hours from 00:30 to 22:30, every day"},
        {"0 */5 * * *", "every 5 hours from 00:00 to 20:00, every day"},
        {"0 */8 * * *", "every 8 hours"},
        {"0 */12 * * *", "at 00:00 and 12:00, every day"},
        {"0 1,2,4,5,7,8,10,11 * * *", "at minute 0 of the hours 1, 2, 4, 5, 7, 8, 10 and 11, every day"},
        {"*/15 9-17 * * *", "every 15 minutes from 09:00 to 17:45, every day"},
        {"*/15 9-17 * * mon-fri", "every 15 minutes from 09:00 to 17:45, on Monday to Friday"},
        {"5-59/20 9-17 * * *", "every 20 minutes from 09:05 to 17:45, every day"},
        {"* 9-17 * * *", "every minute from 09:00 to 17:59, every day"},
        {"* 9 * * *", "every minute from 09:00 to 09:59, every day"},
        {"*/15 9 * * *", "every 15 minutes from 09:00 to 09:45, every day"},
        {"*/15 9-12,14-17 * * *", "every 15 minutes of the hours 9 to 12 and 14 to 17, every day"},
        {"*/7 9-17 * * *", "every 7 minutes, from minute 0 to 56 of the hours 9 to 17, every day"},
        {"*/7 9 * * *", "every 7 minutes from 09:00 to 09:56, every day"},
        {"0-4 9 * * *", "every minute from 09:00 to 09:04, every day"},
        {"0,30 9-17 * * *", "every 30 minutes from 09:00 to 17:30, every day"},
        {"0,30 9 * * *", "at 09:00 and 09:30, every day"},
        {"1,5,7 9-17 * * *", "at minutes 1, 5 and 7 of the hours 9 to 17, every day"},
        {"0 9 * * 1", "at 09:00, on Monday"},
        {"0 9 * * 1-5", "at 09:00, on Monday to Friday"},
        {"0 9 * * 0,6", "at 09:00, on Saturday and Sunday"},
        {"0 9 * * 5-7", "at 09:00, on Friday to Sunday"},
        {"0 9 * * 0-7", "at 09:00, every day"},
        {"0 9 * * 1,3,5", "at 09:00, on Monday, Wednesday and Friday"},
        {"0 0 1 * *", "at 00:00, on the 1st of the month"},
        {"0 0 1,15 * *", "at 00:00, on the 1st and 15th of the month"},
        {"0 0 1-7 * *", "at 00:00, on the 1st to 7th of the month"},
        {"0 0 */2 * *", "at 00:00, on every 2nd day from the 1st to the 31st of the month"},
        {"0 0 1-31 * *", "at 00:00, every day"},
        {"0 0 2,3,12,21,22,23,31 * *", "at 00:00, on the 2nd, 3rd, 12th, 21st to 23rd and 31st of the month"},
        {"0 9 13 * 5", "at 09:00, on the 13th of the month, and also on Friday"},
        {"0 9 13 * */5", "at 09:00, on the 13th of the month, but only on Friday and Sunday"},
        {"0 9 */13 * 5", "at 09:00, on the 1st, 14th and 27th of the month, but only on Friday"},
        {"0 0 1-7 * 1", "at 00:00, on the 1st to 7th of the month, and also on Monday"},
        {"0 0 13 * 0-7", "at 00:00, every day"},
        {"0 0 * 1 *", "at 00:00, every day in January"},
        {"0 0 1 1,7 *", "at 00:00, on the 1st of January and July"},
        {"0 0 1 */3 *", "at 00:00, on the 1st of January, April, July and October"},
        {"0 0 * 6-8 1-5", "at 00:00, on Monday to Friday, in June to August"},
        {"0 0 29 2 *", "at 00:00, on the 29th of February"},
        {"*/10 * * * * *", "every 10 seconds"},
        {"30 * * * * *", "at second 30 of every minute"},
        {"*/7 * * * * *", "every 7 seconds, from second 0 to 56 of every minute"},
        {"5,6,40 * * * * *", "at seconds 5, 6 and 40 of every minute"},
        {"30 0 9 * * *", "at 09:00:30, every day"},
        {"0,30 0 9 * * *", "every 30 seconds of minute 0 of the hour 9, every day"},
        {"*/20 59 23 31 12 *", "every 20 seconds of minute 59 of the hour 23, on the 31st of December"},
        {"* 0 4 * * *", "every second of minute 0 of the hour 4, every day"},
        {"* * 9-17 * * *", "every second of every minute of the hours 9 to 17, every day"},
        {"*/5 */15 * * * *", "every 5 seconds of minutes 0, 15, 30 and 45 of every hour"},
        {"15 */10 * * * *", "at second 15 of minutes 0, 10, 20, 30, 40 and 50 of every hour"},
        {"* * * * mon", "every minute, on Monday"},
        {"0 * * * *", "every hour"},
        {"0,1 0,1 * * *", "at 00:00, 00:01, 01:00 and 01:01, every day"},
        {"0 0,23 * * *", "at 00:00 and 23:00, every day"},
        {"59 23 31 12 5", "at 23:59, on the 31st of the month, and also on Friday, in December"},
        {"*/5 * * 1 *", "every 5 minutes, in January"},
        {"0 0 * feb-apr,oct sun", "at 00:00, on Sunday, in February to April and October"},
        {"* * * 2 *", "every minute, in February"},
        {"0 0 29 2 mon", "at 00:00, on the 29th of the month, and also on Monday, in February"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(words_of(cases[i].text), cases[i].words);
}
END_TEST

/* Expressions with the same times get the same words, however they are written. */
START_TEST(says_equal_times_equally)
{
    static const char *const pairs[][2] = {
        {"*/30 * * * *", "0,30 * * * *"},
        {"0 0 * * sun", "0 0 * * 7"},
        {"@daily", "0 0 1-31 * 0-6"},
        {"0-59 * * * *", "* * * * *"},
        {"0 6-8,9 * * 1-5", "0 6-9 * * mon-fri"},
        {"0 0 0 1 jan *", "@yearly"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char first[CRON_WORDS_MAX + 1];
        strcpy(first, words_of(pairs[i][0]));
        ck_assert_str_eq(first, words_of(pairs[i][1]));
    }
}
END_TEST

START_TEST(has_room_for_the_longest_words)
{
    const char *words = words_of("*/7,1,3,9,11 1,2,4,5,7,8,10,11,13,14,16,17,19,20,22,23,25,26,28,29,31,32 "
                                 "0,2,3,5,6,8,9,11,12,14,15,17,18,20 2,3,5,6,8,9,11,12,14,15,17,18,20,21,23 "
                                 "1,2,4,5,7,8,10,11 1,3,4,6");
    ck_assert_uint_gt(strlen(words), 300);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("cron words");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, says_times_in_words);
    tcase_add_test(tests, says_equal_times_equally);
    tcase_add_test(tests, has_room_for_the_longest_words);
    suite_add_tcase(suite, tests);
    return suite;
}
