#include "base/encoding.h"
#include "support/suite.h"

START_TEST(bytes_come_back_as_they_went)
{
    static const struct {
        struct slice bytes;
        const char *text;
    } cases[] = {{SLICE(""), ""},
                 {SLICE("aZ0-._~:"), "aZ0-._~:"},
                 {SLICE("a/b c%"), "a%2Fb%20c%25"},
                 {SLICE("\xc3\xa9?#"), "%C3%A9%3F%23"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer text, bytes;
        buffer_init(&text, 100);
        buffer_init(&bytes, 100);
        percent_append(&text, cases[i].bytes);
        ck_assert_str_eq(buffer_text(&text), cases[i].text);
        ck_assert(percent_decode(buffer_slice(&text), '\0', &bytes));
        ck_assert(slice_equal(buffer_slice(&bytes), cases[i].bytes));
        buffer_fini(&text);
        buffer_fini(&bytes);
    }
}
END_TEST

START_TEST(other_texts_are_refused)
{
    static const char *const cases[] = {"%",   "%2",  "a%2", "%2x",      "%x2", "%00",  "%0a",
                                        "%1F", "%7f", "a b", "\xc3\xa9", "\n",  "a%2Fb"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer bytes;
        buffer_init(&bytes, 100);
        ck_assert_msg(!percent_decode(slice_of(cases[i]), '/', &bytes), "%s", cases[i]);
        buffer_fini(&bytes);
    }
}
END_TEST

START_TEST(a_plus_is_a_space_in_a_form_only)
{
    static const struct {
        const char *text, *plain, *form;
    } cases[] = {
        {"a+b", "a+b", "a b"}, {"%2B", "+", "+"}, {"a%20b+%2b+", "a b+++", "a b + "}, {"+%", NULL, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer plain, form;
        buffer_init(&plain, 100);
        buffer_init(&form, 100);
        ck_assert(percent_decode(slice_of(cases[i].text), '\0', &plain) == (cases[i].plain != NULL));
        ck_assert(percent_decode_form(slice_of(cases[i].text), &form) == (cases[i].form != NULL));
        if (cases[i].form) {
            ck_assert_str_eq(buffer_text(&plain), cases[i].plain);
            ck_assert_str_eq(buffer_text(&form), cases[i].form);
        }
        buffer_fini(&plain);
        buffer_fini(&form);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("percent");
    TCase *tests = tcase_create("percent");
    tcase_add_test(tests, bytes_come_back_as_they_went);
    tcase_add_test(tests, other_texts_are_refused);
    tcase_add_test(tests, a_plus_is_a_space_in_a_form_only);
    suite_add_tcase(suite, tests);
    return suite;
}
