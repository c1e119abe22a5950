#include "support/suite.h"

#include <stdlib.h>

#include "base/slice.h"

START_TEST(cuts_at_the_first_separator)
{
    static const struct {
        const char *text, *head, *rest;
        bool is_cut;
    } cases[] = {
        {"a/b", "a", "b", true}, {"a/b/c", "a", "b/c", true}, {"/", "", "", true},
        {"a/", "a", "", true},   {"ab", "ab", "", false},     {"", "", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slice head, rest;
        bool is_cut = slice_cut(slice_of(cases[i].text), '/', &head, &rest);
        ck_assert_msg(is_cut == cases[i].is_cut && slice_equal(head, slice_of(cases[i].head)) &&
                          slice_equal(rest, slice_of(cases[i].rest)),
                      "'%s'", cases[i].text);
    }
}
END_TEST

START_TEST(trims_spaces_and_tabs)
{
    static const char *const cases[][2] = {
        {"", ""}, {" \t ", ""}, {"a", "a"}, {" a b\t", "a b"}, {"\ta", "a"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(slice_equal(slice_trim(slice_of(cases[i][0])), slice_of(cases[i][1])), "'%s'",
                      cases[i][0]);
}
END_TEST

START_TEST(reads_numbers_up_to_a_maximum)
{
    static const struct {
        const char *text;
        uint64_t max;
        bool is_number;
        uint64_t value;
    } cases[] = {
        {"0", 0, true, 0},
        {"1", 0, false, 0},
        {"007", 9, true, 7},
        {"65535", 65535, true, 65535},
        {"65536", 65535, false, 0},
        {"655350", 65535, false, 0},
        {"18446744073709551615", UINT64_MAX, true, UINT64_MAX},
        {"18446744073709551616", UINT64_MAX, false, 0},
        {"99999999999999999999999", UINT64_MAX, false, 0},
        {"", 9, false, 0},
        {"-1", 9, false, 0},
        {"+1", 9, false, 0},
        {"1 ", 9, false, 0},
        {"0x1", 9, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 0;
        bool is_number = slice_to_number(slice_of(cases[i].text), cases[i].max, &value);
        ck_assert_msg(is_number == cases[i].is_number && value == cases[i].value, "'%s'", cases[i].text);
    }
}
END_TEST

START_TEST(compares)
{
    ck_assert(slice_equal(SLICE(""), slice_of(NULL)));
    ck_assert(slice_equal(SLICE("ab"), SLICE("ab")));
    ck_assert(!slice_equal(SLICE("ab"), SLICE("aB")));
    ck_assert(!slice_equal(SLICE("ab"), SLICE("abc")));
    ck_assert(slice_equal_nocase(SLICE("aB"), SLICE("Ab")));
    ck_assert(slice_equal_nocase(SLICE(""), slice_of(NULL)));
    ck_assert(!slice_equal_nocase(SLICE("ab"), SLICE("ac")));
    ck_assert(slice_starts_with(SLICE("abc"), SLICE("ab")));
    ck_assert(slice_starts_with(SLICE("abc"), SLICE("")));
    ck_assert(!slice_starts_with(SLICE("a"), SLICE("ab")));
    ck_assert(!slice_starts_with(SLICE("ba"), SLICE("ab")));
}
END_TEST

START_TEST(duplicates_with_a_nul)
{
    char *copy = slice_dup(slice_from("abcdef", 3));
    ck_assert_str_eq(copy, "abc");
    free(copy);
    copy = slice_dup(slice_of(NULL));
    ck_assert_str_eq(copy, "");
    free(copy);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("slice");
    TCase *tests = tcase_create("slice");
    tcase_add_test(tests, cuts_at_the_first_separator);
    tcase_add_test(tests, trims_spaces_and_tabs);
    tcase_add_test(tests, reads_numbers_up_to_a_maximum);
    tcase_add_test(tests, compares);
    tcase_add_test(tests, duplicates_with_a_nul);
    suite_add_tcase(suite, tests);
    return suite;
}
