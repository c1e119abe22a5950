#include "base/encoding.h"
#include "support/suite.h"

START_TEST(bytes_come_back_as_they_went)
{
    static const struct {
        struct slice bytes;
        const char *text;
    } cases[] = {{SLICE(""), ""},
                 {SLICE("f"), "Zg"},
                 {SLICE("fo"), "Zm8"},
                 {SLICE("foo"), "Zm9v"},
                 {SLICE("foobar"), "Zm9vYmFy"},
                 {SLICE("\xff\xfe\xfd\0x"), "__79AHg"},
                 {SLICE("\xfb\xf0"), "-_A"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer text, bytes;
        buffer_init(&text, 100);
        buffer_init(&bytes, 100);
        base64url_append(&text, cases[i].bytes);
        ck_assert_str_eq(buffer_text(&text), cases[i].text);
        ck_assert(base64url_decode(buffer_slice(&text), &bytes));
        ck_assert(slice_equal(buffer_slice(&bytes), cases[i].bytes));
        buffer_fini(&text);
        buffer_fini(&bytes);
    }
}
END_TEST

START_TEST(other_texts_are_refused)
{
    static const struct slice cases[] = {SLICE("Z"),    SLICE("Zg=="), SLICE("Zm9vY"), SLICE("Zh"),
                                         SLICE("+/+/"), SLICE("Zm 9"), SLICE("Zm\0v"), SLICE("Zm9\xc3")};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer bytes;
        buffer_init(&bytes, 100);
        ck_assert_msg(!base64url_decode(cases[i], &bytes), "%s", cases[i].data);
        buffer_fini(&bytes);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("base64url");
    TCase *tests = tcase_create("base64url");
    tcase_add_test(tests, bytes_come_back_as_they_went);
    tcase_add_test(tests, other_texts_are_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
