#include <stdio.h>

#include "support/suite.h"

#include "base/utf8.h"
#include "job/attempt_line.h"

#define SHOWN "\xef\xbf\xbd" /* U+FFFD */

static struct attempt_result status(int status)
{
    return (struct attempt_result){.at_ms = 1700000000123, .duration_ms = 246, .status = status};
}

static void ck_written(struct slice answer, bool is_cut, const char *wanted)
{
    struct attempt_result result = status(503);
    struct buffer out;
    buffer_init(&out, ATTEMPT_LINE_MAX);
    attempt_line_write(&out, 1, 3, &result, answer, is_cut);
    ck_assert_str_eq(buffer_text(&out), wanted);
    buffer_fini(&out);
}

#define HEAD "3 1700000000123 246 503"

START_TEST(writes_what_an_attempt_left_behind)
{
    struct attempt_result timeout = {.at_ms = 1, .duration_ms = 30000, .error = FAILURE_TIMEOUT};
    struct buffer out;
    ck_written(SLICE(""), false, HEAD);
    ck_written(SLICE("no"), false, HEAD " \"no\"");
    ck_written(SLICE("no"), true, HEAD " \"no\"+");
    ck_written(SLICE(""), true, HEAD " \"\"+");
    buffer_init(&out, ATTEMPT_LINE_MAX);
    attempt_line_write(&out, 1, 100, &timeout, SLICE("half an answer"), true);
    ck_assert_str_eq(buffer_text(&out), "100 1 30000 timeout");
    buffer_clear(&out);
    timeout.detail = SLICE("Timed out, with 0 bytes");
    attempt_line_write(&out, 1, 100, &timeout, SLICE("half an answer"), true);
    ck_assert_str_eq(buffer_text(&out), "100 1 30000 timeout \"Timed out, with 0 bytes\"");
    buffer_fini(&out);
}
END_TEST

/* Checks the text and the bytes that are read from the line of an answer. */
static void ck_read(struct slice answer, bool is_cut, const char *text, struct slice bytes)
{
    struct attempt_result result = status(503);
    struct attempt_line line;
    struct buffer out, scratch;
    buffer_init(&out, ATTEMPT_LINE_MAX);
    buffer_init(&scratch, ATTEMPT_LINE_MAX);
    attempt_line_write(&out, 1, 3, &result, answer, is_cut);
    buffer_append_byte(&out, '\n');
    struct slice lines = buffer_slice(&out);
    ck_assert(attempt_line_take(&lines, &line) && line.is_answer_cut == is_cut);
    ck_assert(slice_equal(attempt_line_text(&line, &scratch), slice_of(text)));
    buffer_clear(&scratch);
    ck_assert(slice_equal(attempt_line_bytes(&line, &scratch), bytes));
    buffer_fini(&scratch);
    buffer_fini(&out);
}

START_TEST(an_answer_that_is_not_utf8_is_kept_as_bytes)
{
    ck_written(SLICE("\xff\xd8\xff\xe0"), false, HEAD " \"\\u001f/9j/4A==\"");
    ck_written(SLICE("\xff\xd8\xff\xe0"), true, HEAD " \"\\u001f/9j/4A==\"+");
    ck_read(SLICE("\xff\0\xc3"), true, SHOWN SHOWN, SLICE("\xff\0\xc3")); /* the text lacks what is torn */
    ck_read(SLICE("\x1f/9j/"), false, SHOWN "/9j/", SLICE(SHOWN "/9j/"));
}
END_TEST

START_TEST(an_answer_of_any_bytes_becomes_a_json_string)
{
    static const struct {
        struct slice answer;
        const char *text;
    } cases[] = {
        {SLICE("a\"b\\c\r\n\td"), "a\"b\\c\r\n\td"},
        {SLICE("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
        {SLICE("\0\x1b[2J\x7f"), SHOWN SHOWN "[2J" SHOWN},
        {SLICE("\xc2\x9b"
               "1m\xc2\xa0"),
         SHOWN SHOWN "1m\xc2\xa0"}, /* U+009B is a control character and is replaced; U+00A0 is kept */
        {SLICE("\x80\xff\xfe"), SHOWN SHOWN SHOWN},
        {SLICE("\xc0\xaf\xe0\x80\x80"), SHOWN SHOWN SHOWN SHOWN SHOWN}, /* overlong */
        {SLICE("\xed\xa0\x80x"), SHOWN SHOWN SHOWN "x"},                /* a surrogate */
        {SLICE("\xf4\x90\x80\x80"), SHOWN SHOWN SHOWN SHOWN},           /* over U+10FFFF */
        {SLICE("\xe2\x82"), SHOWN SHOWN}, /* the receiver's answer ends in the middle of a character */
        {SLICE("\xe2x\x82"), SHOWN "x" SHOWN},
        {SLICE("\x1f\x8b\x08"), SHOWN SHOWN SHOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slice answer = cases[i].answer;
        bool is_utf8 = utf8_is_sound_text(answer.data, answer.size);
        ck_read(answer, false, cases[i].text, is_utf8 ? slice_of(cases[i].text) : answer);
    }
}
END_TEST

START_TEST(a_character_that_the_cut_tore_is_left_out)
{
    ck_written(SLICE("ab\xc3"), true, HEAD " \"ab\"+");
    ck_written(SLICE("ab\xe2\x82"), true, HEAD " \"ab\"+");
    ck_written(SLICE("ab\xf0\x9f\x98"), true, HEAD " \"ab\"+");
    ck_read(SLICE("ab\x80"), true, "ab" SHOWN, SLICE("ab\x80"));
    ck_read(SLICE("ab\xf0\x9fz"), true, "ab" SHOWN SHOWN "z", SLICE("ab\xf0\x9fz"));
}
END_TEST

/* The line must fit into ATTEMPT_LINE_MAX, even if the answer is longer than its limit, and whatever bytes it
 * has. */
START_TEST(a_line_has_a_bound)
{
    static const char bytes[] = {'a', '"', '\\', '\n', '\0', '\x1b', '\x80', '\xff', '\xe2'};
    struct attempt_result longest = {.at_ms = INT64_MAX, .duration_ms = INT64_MAX, .status = 999};
    char answer[ATTEMPT_ANSWER_MAX + 1];
    struct buffer out;
    buffer_init(&out, ATTEMPT_LINE_MAX);
    for (size_t i = 0; i < sizeof bytes; i++) {
        memset(answer, bytes[i], sizeof answer);
        buffer_clear(&out);
        attempt_line_write(&out, 1, INT32_MAX, &longest, slice_from(answer, sizeof answer), false);
        ck_assert(!out.failed);
        ck_assert_int_eq(out.data[out.size - 1], '+');
        ck_assert_ptr_null(memchr(out.data, '\n', out.size));
    }
    buffer_fini(&out);
}
END_TEST

START_TEST(reads_what_it_wrote)
{
    struct attempt_result refused = {.at_ms = 5, .duration_ms = 0, .error = FAILURE_TARGET_REFUSED};
    struct attempt_result moved = status(302), locked = status(503);
    struct attempt_line line;
    struct buffer out;
    buffer_init(&out, 3 * ATTEMPT_LINE_MAX);
    refused.detail = SLICE("leads to 127.0.0.1");
    attempt_line_write(&out, 1, 1, &refused, SLICE(""), false);
    buffer_append_byte(&out, '\n');
    attempt_line_write(&out, 1, 2, &moved, SLICE(""), false);
    buffer_append_byte(&out, '\n');
    attempt_line_write(&out, 1, 3, &locked, SLICE("a + \"b\"\n+"), true);
    buffer_append_byte(&out, '\n');
    struct slice lines = buffer_slice(&out);

    ck_assert(attempt_line_take(&lines, &line));
    ck_assert_int_eq(line.number, 1);
    ck_assert_int_eq(line.result.at_ms, 5);
    ck_assert_int_eq(line.result.error, FAILURE_TARGET_REFUSED);
    ck_assert_uint_eq(line.answer.size, 0);
    ck_assert(attempt_line_take(&lines, &line));
    ck_assert_int_eq(line.result.status, 302);
    ck_assert_int_eq(line.result.error, FAILURE_NONE);
    ck_assert_uint_eq(line.answer.size, 0);
    ck_assert(!line.is_answer_cut);
    ck_assert(attempt_line_take(&lines, &line));
    ck_assert_int_eq(line.number, 3);
    ck_assert_int_eq(line.result.at_ms, 1700000000123);
    ck_assert_int_eq(line.result.duration_ms, 246);
    ck_assert_int_eq(line.result.status, 503);
    ck_assert(slice_equal(line.answer, SLICE("\"a + \\\"b\\\"\\n+\"")));
    ck_assert(line.is_answer_cut);
    ck_assert(!attempt_line_take(&lines, &line));
    buffer_fini(&out);
}
END_TEST

START_TEST(a_later_round_is_named)
{
    struct attempt_result first = status(202);
    struct attempt_line line;
    struct buffer out;
    buffer_init(&out, 1000);
    attempt_line_write(&out, 1, 2, &first, SLICE(""), false);
    buffer_append_byte(&out, '\n');
    attempt_line_write(&out, 10000, 3, &first, SLICE("no"), false);
    buffer_append_byte(&out, '\n');
    ck_assert_str_eq(buffer_text(&out), "2 1700000000123 246 202\n3@10000 1700000000123 246 202 \"no\"\n");
    struct slice lines = buffer_slice(&out);
    ck_assert(attempt_line_take(&lines, &line) && line.number == 2 && line.round == 1);
    ck_assert(attempt_line_take(&lines, &line) && line.number == 3 && line.round == 10000);
    ck_assert(line.result.status == 202 && slice_equal(line.answer, SLICE("\"no\"")));
    lines = SLICE("3@ 1 1 200\n");
    ck_assert(!attempt_line_take(&lines, &line));
    lines = SLICE("@3 1 1 200\n");
    ck_assert(!attempt_line_take(&lines, &line));
    buffer_fini(&out);
}
END_TEST

START_TEST(an_error_of_a_later_version_is_another_one)
{
    struct attempt_line line;
    struct slice lines = SLICE("1 2 3 of_later\n2 3 4 200\n");
    ck_assert(attempt_line_take(&lines, &line));
    ck_assert_int_eq(line.result.error, FAILURE_OTHER);
    ck_assert(attempt_line_take(&lines, &line));
    ck_assert_int_eq(line.number, 2);
}
END_TEST

START_TEST(what_somebody_else_wrote_is_no_line)
{
    static const char *const cases[] = {
        "",
        "\n",
        "x\n",
        "1 2 3 200",
        "1 2 3\n",
        "1 2 3 \n",
        "1 2 3 99\n",
        "1 2 3 1000\n",
        "1 2 3 Nothing\n",
        "-1 2 3 200\n",
        "1 999999999999999 3 200\n",
        "1 2 3 200 \n",
        "1 2 3 200 +\n",
        "1 2 3 200 \"\n",
        "1 2 3 200 \"a\" \"b\"\n",
        "1 2 3 200 \"\x80\"\n",
        "1 2 3 200 \"\\x\"\n",
        "1 2 3 200 {}\n",
    };
    struct attempt_line line;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slice lines = slice_of(cases[i]);
        ck_assert_msg(!attempt_line_take(&lines, &line), "%s", cases[i]);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("attempt_line");
    TCase *tests = tcase_create("attempt_line");
    tcase_add_test(tests, writes_what_an_attempt_left_behind);
    tcase_add_test(tests, an_answer_of_any_bytes_becomes_a_json_string);
    tcase_add_test(tests, an_answer_that_is_not_utf8_is_kept_as_bytes);
    tcase_add_test(tests, a_character_that_the_cut_tore_is_left_out);
    tcase_add_test(tests, a_line_has_a_bound);
    tcase_add_test(tests, reads_what_it_wrote);
    tcase_add_test(tests, a_later_round_is_named);
    tcase_add_test(tests, an_error_of_a_later_version_is_another_one);
    tcase_add_test(tests, what_somebody_else_wrote_is_no_line);
    suite_add_tcase(all, tests);
    return all;
}
