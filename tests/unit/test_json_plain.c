#include "base/memory.h"
#include "base/utf8.h"
#include "support/suite.h"

enum { SIZE = 40 };

/* The text has no NUL after its SIZE bytes, so that a sanitizer detects a read beyond its end. */
static char *text;

static void set_up(void)
{
    text = memory_resize(NULL, SIZE);
    memset(text, 'a', SIZE);
}

static void tear_down(void)
{
    free(text);
}

static bool is_plain_by_definition(int byte)
{
    return byte >= 0x20 && byte <= 0x7f && byte != '"' && byte != '\\';
}

START_TEST(finds_each_byte_that_is_not_plain_at_each_place)
{
    for (int start = 0; start < 8; start++)
        for (int at = start; at < SIZE; at++)
            for (int byte = 0; byte < 256; byte++) {
                text[at] = (char)byte;
                const char *end = text + SIZE, *expected = is_plain_by_definition(byte) ? end : text + at;
                ck_assert_int_eq(json_is_plain((char)byte), is_plain_by_definition(byte));
                ck_assert_msg(json_plain_end(text + start, end) == expected, "byte %d at %d, from %d", byte,
                              at, start);
                text[at] = 'a';
            }
}
END_TEST

/* The search must find the first special byte of any two adjacent bytes. */
START_TEST(finds_the_first_of_two_bytes)
{
    for (int first = 0; first < 256; first++)
        for (int second = 0; second < 256; second++) {
            text[3] = (char)first;
            text[4] = (char)second;
            const char *expected = !is_plain_by_definition(first)    ? text + 3
                                   : !is_plain_by_definition(second) ? text + 4
                                                                     : text + SIZE;
            ck_assert_msg(json_plain_end(text, text + SIZE) == expected, "bytes %d and %d", first, second);
        }
}
END_TEST

START_TEST(takes_short_texts)
{
    ck_assert_ptr_eq(json_plain_end(text, text), text);
    ck_assert_ptr_eq(json_plain_end(text + SIZE - 1, text + SIZE), text + SIZE);
}
END_TEST

Suite *suite(void)
{
    TCase *tests = tcase_create("plain");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, finds_each_byte_that_is_not_plain_at_each_place);
    tcase_add_test(tests, finds_the_first_of_two_bytes);
    tcase_add_test(tests, takes_short_texts);
    Suite *all = suite_create("json_plain");
    suite_add_tcase(all, tests);
    return all;
}
