#include "support/suite.h"

#include "job/delivery/digest.h"

START_TEST(is_the_first_half_of_sha_256)
{
    char text[FINGERPRINT_SIZE];
    fingerprint_make(SLICE("abc"), text);
    ck_assert_str_eq(text, "ba7816bf8f01cfea414140de5dae2223");
    fingerprint_make((struct slice){NULL, 0}, text);
    ck_assert_str_eq(text, "e3b0c44298fc1c149afbf4c8996fb924");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("fingerprint");
    TCase *tests = tcase_create("fingerprint");
    tcase_add_test(tests, is_the_first_half_of_sha_256);
    suite_add_tcase(suite, tests);
    return suite;
}
