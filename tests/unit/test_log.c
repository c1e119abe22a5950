#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/log.h"
#include "support/suite.h"

static char folder[] = "/tmp/duepost-log-XXXXXX";
static char path[64], moved[64];
static char text[20000];

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/log", folder);
    snprintf(moved, sizeof moved, "%s/log.1", folder);
}

static void tear_down(void)
{
    unlink(path);
    unlink(moved);
    rmdir(folder);
}

static void open_log(enum log_format format, enum log_level level)
{
    struct problem problem;
    ck_assert_int_eq(log_open(path, format, level, &problem), STATUS_OK);
}

static const char *read_file(const char *name)
{
    FILE *file = fopen(name, "r");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    fclose(file);
    return text;
}

/* Returns the part of the line that begins with mark. The time before it differs in each run. */
static const char *behind_time(const char *line, const char *mark)
{
    const char *found = strstr(line, mark);
    ck_assert_ptr_nonnull(found);
    return found;
}

START_TEST(writes_logfmt)
{
    open_log(LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO);
    log_info("job_sent", LOG_TEXT("topic", "orders"), LOG_NUMBER("after_ms", -3), LOG_TEXT("why", "a b"),
             LOG_TEXT("empty", ""), LOG_SLICE("quote", SLICE("\"")), LOG_SLICE("line", SLICE("a\nb")),
             LOG_SLICE("high", SLICE("\xc3\xa9")));
    const char *line = read_file(path);
    ck_assert(strncmp(line, "time=20", 7) == 0);
    ck_assert_str_eq(behind_time(line, " level"),
                     " level=info event=job_sent topic=orders after_ms=-3 why=\"a b\" "
                     "empty=\"\" quote=\"\\\"\" line=\"a\\nb\" high=\"\xc3\xa9\"\n");
}
END_TEST

START_TEST(writes_json)
{
    open_log(LOG_FORMAT_JSON, LOG_LEVEL_INFO);
    log_error("redis_lost", LOG_TEXT("why", "gone \"away\""), LOG_NUMBER("n", 7));
    const char *line = read_file(path);
    ck_assert(strncmp(line, "{\"time\":\"20", 11) == 0);
    ck_assert_str_eq(behind_time(line, "Z\","), "Z\",\"level\":\"error\",\"event\":\"redis_lost\","
                                                "\"why\":\"gone \\\"away\\\"\",\"n\":7}\n");
}
END_TEST

START_TEST(leaves_out_what_is_below_its_level)
{
    open_log(LOG_FORMAT_LOGFMT, LOG_LEVEL_WARNING);
    log_debug("one", LOG_NUMBER("n", 1));
    log_info("two", LOG_NUMBER("n", 2));
    ck_assert_str_eq(read_file(path), "");
    log_warning("three", LOG_NUMBER("n", 3));
    ck_assert_ptr_nonnull(strstr(read_file(path), "event=three n=3\n"));
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("four", LOG_NUMBER("n", 4));
    ck_assert_ptr_nonnull(strstr(read_file(path), "event=four n=4\n"));
}
END_TEST

START_TEST(leaves_out_no_audit_event)
{
    open_log(LOG_FORMAT_LOGFMT, LOG_LEVEL_ERROR);
    log_audit("job_cancelled", LOG_TEXT("who", "shop"));
    ck_assert_str_eq(behind_time(read_file(path), " level"), " level=audit event=job_cancelled who=shop\n");
}
END_TEST

START_TEST(leaves_out_a_field_that_is_too_long)
{
    static char large[9000];
    memset(large, 'x', sizeof large - 1);
    open_log(LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO);
    log_info("big", LOG_TEXT("large", large), LOG_NUMBER("n", 1));
    ck_assert_str_eq(behind_time(read_file(path), " event"), " event=big n=1\n");
}
END_TEST

START_TEST(goes_on_in_a_new_file_after_rotation)
{
    struct problem problem;
    open_log(LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO);
    log_info("before", LOG_NUMBER("n", 1));
    ck_assert_int_eq(rename(path, moved), 0);
    ck_assert_int_eq(log_reopen(&problem), STATUS_OK);
    log_info("after", LOG_NUMBER("n", 2));
    ck_assert_ptr_nonnull(strstr(read_file(moved), "event=before"));
    ck_assert_ptr_nonnull(strstr(read_file(path), "event=after"));
    ck_assert_ptr_null(strstr(read_file(path), "event=before"));
}
END_TEST

START_TEST(says_why_a_file_cannot_be_written)
{
    struct problem problem;
    ck_assert_int_eq(log_open("/nowhere/log", LOG_FORMAT_JSON, LOG_LEVEL_INFO, &problem), STATUS_FAILED);
    ck_assert_str_eq(problem.text, "cannot write the log file /nowhere/log: No such file or directory");
}
END_TEST

START_TEST(keeps_the_old_file_when_the_new_one_cannot_be_opened)
{
    struct problem problem;
    open_log(LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
    ck_assert_int_eq(log_reopen(&problem), STATUS_FAILED);
    log_info("still", LOG_NUMBER("n", 1));
}
END_TEST

START_TEST(has_nothing_to_reopen_on_stderr)
{
    struct problem problem;
    ck_assert_int_eq(log_open(NULL, LOG_FORMAT_JSON, LOG_LEVEL_ERROR, &problem), STATUS_OK);
    ck_assert_int_eq(log_reopen(&problem), STATUS_OK);
}
END_TEST

/* ---- gathered lines ---- */

START_TEST(gathered_lines_are_written_together)
{
    open_log(LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO);
    log_gather_begin();
    log_info("first", LOG_NUMBER("n", 1));
    log_info("second", LOG_NUMBER("n", 2));
    ck_assert_str_eq(read_file(path), "");
    log_flush();
    ck_assert_ptr_nonnull(strstr(behind_time(read_file(path), "event=first n=1\n"), "event=second n=2\n"));
    log_info("third", LOG_NUMBER("n", 3));
    ck_assert_ptr_null(strstr(read_file(path), "third"));
    log_gather_end();
    ck_assert_ptr_nonnull(strstr(read_file(path), "event=third n=3\n"));
    log_info("fourth", LOG_NUMBER("n", 4));
    ck_assert_ptr_nonnull(strstr(read_file(path), "event=fourth n=4\n"));
}
END_TEST

START_TEST(a_warning_is_written_at_once_after_the_gathered_lines)
{
    open_log(LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO);
    log_gather_begin();
    log_info("first", LOG_NUMBER("n", 1));
    log_warning("second", LOG_NUMBER("n", 2));
    ck_assert_ptr_nonnull(strstr(behind_time(read_file(path), "event=first n=1\n"), "event=second n=2\n"));
    log_gather_end();
}
END_TEST

START_TEST(gathered_lines_need_no_more_than_their_room)
{
    enum { LINES = 3000 };
    size_t count = 0;
    open_log(LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO);
    log_gather_begin();
    for (int i = 0; i < LINES; i++)
        log_info("line", LOG_NUMBER("n", i));
    struct stat stat_now;
    ck_assert_int_eq(stat(path, &stat_now), 0);
    ck_assert_int_gt(stat_now.st_size, 64 * 1024);
    log_gather_end();
    FILE *file = fopen(path, "r");
    for (int byte; (byte = fgetc(file)) != EOF;)
        count += byte == '\n';
    fclose(file);
    ck_assert_uint_eq(count, LINES);
}
END_TEST

/* Each read from the pipe returns whole lines. Lines that could not be written are counted. */
START_TEST(a_pipe_gets_whole_lines)
{
    enum { LINES = 2000 };
    static char lines[LINES * 64], pieces[64 * 1024 + 1];
    int ends[2], size = 0;
    for (int i = 0; i < LINES; i++)
        size += snprintf(lines + size, 64, "line %d %s\n", i, "of about fifty bytes, more or less");
    ck_assert_int_eq(pipe(ends), 0);
    log_sink_use(ends[1]);
    ck_assert(!log_sink_write(slice_from(lines, (size_t)size)));
    ssize_t got = read(ends[0], pieces, sizeof pieces - 1);
    ck_assert_int_gt(got, 0);
    ck_assert_int_eq(pieces[got - 1], '\n');
    ck_assert_int_eq(memcmp(pieces, lines, (size_t)got), 0);
    unsigned long whole = 0;
    for (ssize_t i = 0; i < got; i++)
        whole += pieces[i] == '\n';
    ck_assert_uint_eq(log_sink_take_dropped(), LINES - whole);
    log_sink_use(STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

static void on_signal(int number)
{
    (void)number;
}

/* The freeze guard's timer sends such signals to a reactor, also while the reactor writes its log. A signal
 * must not make the write wait longer. */
START_TEST(a_signal_lets_no_write_wait_for_a_full_pipe)
{
    static char lines[256 * 1024];
    static const struct itimerval soon = {.it_value = {.tv_usec = LOG_SINK_WAIT_MS * 1000 / 2}};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    int ends[2];
    memset(lines, '\n', sizeof lines);
    ck_assert_int_eq(pipe(ends), 0);
    log_sink_use(ends[1]);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    ck_assert(!log_sink_write(slice_from(lines, sizeof lines)));
    log_sink_use(STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(knows_its_words)
{
    enum log_level level;
    enum log_format format;
    ck_assert(log_level_parse(SLICE("debug"), &level) && level == LOG_LEVEL_DEBUG);
    ck_assert(log_level_parse(SLICE("error"), &level) && level == LOG_LEVEL_ERROR);
    ck_assert(!log_level_parse(SLICE("Error"), &level));
    ck_assert(!log_level_parse(SLICE("audit"), &level));
    ck_assert(log_format_parse(SLICE("json"), &format) && format == LOG_FORMAT_JSON);
    ck_assert(log_format_parse(SLICE("logfmt"), &format) && format == LOG_FORMAT_LOGFMT);
    ck_assert(!log_format_parse(SLICE(""), &format));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("log");
    TCase *tests = tcase_create("log");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, writes_logfmt);
    tcase_add_test(tests, writes_json);
    tcase_add_test(tests, leaves_out_what_is_below_its_level);
    tcase_add_test(tests, leaves_out_no_audit_event);
    tcase_add_test(tests, leaves_out_a_field_that_is_too_long);
    tcase_add_test(tests, goes_on_in_a_new_file_after_rotation);
    tcase_add_test(tests, says_why_a_file_cannot_be_written);
    tcase_add_test(tests, keeps_the_old_file_when_the_new_one_cannot_be_opened);
    tcase_add_test(tests, has_nothing_to_reopen_on_stderr);
    tcase_add_test(tests, gathered_lines_are_written_together);
    tcase_add_test(tests, a_warning_is_written_at_once_after_the_gathered_lines);
    tcase_add_test(tests, gathered_lines_need_no_more_than_their_room);
    tcase_add_test(tests, a_pipe_gets_whole_lines);
    tcase_add_test(tests, a_signal_lets_no_write_wait_for_a_full_pipe);
    tcase_add_test(tests, knows_its_words);
    suite_add_tcase(suite, tests);
    return suite;
}
