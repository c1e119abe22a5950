/* Tests how duepost finds in redis.log the reason why a redis-server ended. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/redis/redis_private.h"
#include "support/suite.h"

static char folder[] = "/tmp/duepost-redis-log-XXXXXX";
static int dir_fd;

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(dir_fd, 0);
}

static void tear_down(void)
{
    unlinkat(dir_fd, REDIS_LOG_NAME, 0);
    close(dir_fd);
    rmdir(folder);
}

static void write_log(const char *text, int times)
{
    int fd = openat(dir_fd, REDIS_LOG_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    for (int i = 0; i < times; i++)
        ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

#define LINE(pid, level, text) pid ":M 27 Nov 2026 03:07:05.416 " level " " text "\n"

START_TEST(the_last_warnings_of_the_process_are_its_last_words)
{
    static const struct {
        const char *log, *words;
    } cases[] = {
        {"", ""},
        {"\n\n", ""},
        {LINE("7", "#", "one"), "one"},
        {LINE("7", "#", "one") LINE("7", "#", "two"), "two; before: one"},
        {LINE("7", "#", "one") LINE("7", "#", "two") LINE("7", "#", "three") "\n", "three; before: two"},
        {LINE("7", "*", "one") LINE("7", "#", "two"), "two"},
        {LINE("7", "#", "one") LINE("7", "*", "ready to accept connections"), ""}, /* it was killed */
        {LINE("7", "#", "one") LINE("77", "#", "two"), ""},
        {LINE("77", "#", "one") LINE("7", "#", "two"), "two"},
        {"7:M 27 Nov 2026 03:07:05.416 # no line break", "no line break"},
        {"7:M # ", ""},
        {"7:", ""},
        {"*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\n", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[REDIS_LOG_WORDS_MAX];
        write_log(cases[i].log, 1);
        redis_log_last_words(dir_fd, 7, words);
        ck_assert_str_eq(words, cases[i].words);
    }
}
END_TEST

START_TEST(a_long_log_is_read_at_its_end_and_long_words_are_cut)
{
    char words[REDIS_LOG_WORDS_MAX], line[1000] = "7:M 1 # ";
    write_log(LINE("7", "#", "again"), 1000);
    redis_log_last_words(dir_fd, 7, words);
    ck_assert_str_eq(words, "again; before: again");
    memset(line + strlen(line), 'x', 900);
    write_log(line, 1);
    redis_log_last_words(dir_fd, 7, words);
    ck_assert_uint_eq(strlen(words), REDIS_LOG_WORDS_MAX - 1);
}
END_TEST

START_TEST(without_a_log_there_are_no_words)
{
    char words[REDIS_LOG_WORDS_MAX];
    redis_log_last_words(dir_fd, 7, words);
    ck_assert_str_eq(words, "");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("redis_log");
    TCase *tests = tcase_create("redis_log");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_last_warnings_of_the_process_are_its_last_words);
    tcase_add_test(tests, a_long_log_is_read_at_its_end_and_long_words_are_cut);
    tcase_add_test(tests, without_a_log_there_are_no_words);
    suite_add_tcase(suite, tests);
    return suite;
}
