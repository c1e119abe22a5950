#include "support/suite.h"

#include "job/request.h"

START_TEST(names_are_tokens)
{
    ck_assert(header_name_is_valid(SLICE("X-Foo")));
    ck_assert(header_name_is_valid(SLICE("!#$%&'*+-.^_`|~09azAZ")));
    static const struct slice bad[] = {{"", 0},         {"a b", 3}, {"a:", 2},  {"a\0b", 3},
                                       {"\xc3\xa9", 2}, {"a\n", 2}, {"(a)", 3}, {"a\x7f", 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!header_name_is_valid(bad[i]), "%zu", i);
}
END_TEST

START_TEST(values_are_visible)
{
    ck_assert(header_value_is_valid(SLICE("")));
    ck_assert(header_value_is_valid(SLICE("a b\tc \"\\~!")));
    static const struct slice bad[] = {{"a\r\nb", 4}, {"\0", 1}, {"\x7f", 1}, {"\xc3\xa9", 2}, {"\x1f", 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!header_value_is_valid(bad[i]), "%zu", i);
}
END_TEST

START_TEST(some_are_refused)
{
    static const char *const refused[] = {
        "Host",
        "hOST",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Proxy-Authorization",
        "proxy-",
        "Duepost-Topic",
        "DUEPOST-X",
        "Webhook-Id",
        "webhook-signature",
    };
    static const char *const fine[] = {"Content-Type", "Authorization", "Hosts",  "X-Host", "T",
                                       "Proxy",        "X-Webhook-Id",  "Duepost"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        ck_assert_msg(header_is_refused(slice_of(refused[i])), "%s", refused[i]);
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        ck_assert_msg(!header_is_refused(slice_of(fine[i])), "%s", fine[i]);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("header");
    TCase *tests = tcase_create("header");
    tcase_add_test(tests, names_are_tokens);
    tcase_add_test(tests, values_are_visible);
    tcase_add_test(tests, some_are_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
