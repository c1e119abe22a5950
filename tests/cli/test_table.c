/* Tests which characters of a cell are replaced, so that a terminal does not obey them. */
#include "cli/output.h"

#include "support/suite.h"

static void check_shown(const char *text, const char *shown)
{
    struct buffer out;
    buffer_init(&out, 256);
    table_append_shown(&out, slice_of(text));
    ck_assert_str_eq(buffer_text(&out), shown);
    buffer_fini(&out);
}

START_TEST(what_a_terminal_would_obey_is_replaced)
{
    check_shown("a\033[2Jb\n\x7f", "a?[2Jb??");
    check_shown("C1 \xc2\x9b", "C1 ?");
    check_shown("zero width \xe2\x80\x8b\xe2\x80\x8f", "zero width ??");
    check_shown("line \xe2\x80\xa8, paragraph \xe2\x80\xa9", "line ?, paragraph ?");
    check_shown("no UTF-8 \x9b\x32J\xff, cut \xe2\x80", "no UTF-8 ?2J?, cut ??");
    check_shown("direction \xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", "direction ????");
}
END_TEST

START_TEST(other_text_is_shown)
{
    static const char *const texts[] = {
        "",
        "orders/1 ~",
        "\xc3\xa4\xc2\xa0", /* U+00E4, U+00A0 */
        "\xe2\x80\x8a\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\x9f\xe2\x81\xb0\xe2\x82\xac", /* neighbours
                                                                                                 */
        "\xf0\x9f\x93\xae",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_shown(texts[i], texts[i]);
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("table");
    TCase *tests = tcase_create("table");
    tcase_add_test(tests, what_a_terminal_would_obey_is_replaced);
    tcase_add_test(tests, other_text_is_shown);
    suite_add_tcase(all, tests);
    return all;
}
