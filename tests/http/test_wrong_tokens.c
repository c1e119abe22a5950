/* Tests how many wrong tokens an address may send. */
#include "http/wrong_tokens.h"

#include "support/suite.h"

#define SECOND_NS INT64_C(1000000000)

static int64_t now_ns = 1000 * SECOND_NS;

/* Counts wrong tokens of an address. Returns how many of them were within the limit. */
static int count(uint64_t address, int times)
{
    int within = 0;
    int64_t wait_ns;
    bool is_first;
    for (int i = 0; i < times; i++)
        within += wrong_tokens_count(address, now_ns, &wait_ns, &is_first);
    return within;
}

START_TEST(an_address_has_its_number_at_once_and_then_one_a_second)
{
    int64_t wait_ns;
    bool is_first;
    ck_assert_int_eq(count(1, 2 * WRONG_TOKENS_AT_ONCE), WRONG_TOKENS_AT_ONCE);
    ck_assert(!wrong_tokens_count(1, now_ns + SECOND_NS / 4, &wait_ns, &is_first));
    ck_assert_int_eq(wait_ns, 3 * SECOND_NS / 4);
    ck_assert_int_eq(count(2, 1), 1); /* another address */
    now_ns += 3 * SECOND_NS;
    ck_assert_int_eq(count(1, 10), 3);
    now_ns += 1000 * SECOND_NS;
    ck_assert_int_eq(count(1, 2 * WRONG_TOKENS_AT_ONCE), WRONG_TOKENS_AT_ONCE);
}
END_TEST

START_TEST(an_episode_is_told_once_and_one_a_second)
{
    int64_t wait_ns;
    bool is_first;
    int told = 0;
    now_ns += 1000 * SECOND_NS;
    for (uint64_t address = 10; address < 20; address++)
        count(address, WRONG_TOKENS_AT_ONCE);
    for (int second = 0; second < 50; second++) {
        for (uint64_t address = 10; address < 20; address++)
            for (int i = 0; i < 5; i++) {
                (void)wrong_tokens_count(address, now_ns, &wait_ns, &is_first);
                told += is_first;
            }
        ck_assert_int_le(told, second + 1);
        now_ns += SECOND_NS;
    }
    ck_assert_int_eq(told, 10);
    now_ns += 1000 * SECOND_NS;
    count(10, WRONG_TOKENS_AT_ONCE);
    ck_assert(!wrong_tokens_count(10, now_ns, &wait_ns, &is_first) && is_first);
    ck_assert(!wrong_tokens_count(10, now_ns, &wait_ns, &is_first) && !is_first);
}
END_TEST

START_TEST(many_addresses_take_no_more_memory_and_refuse_no_other)
{
    now_ns += 1000 * SECOND_NS;
    for (uint64_t address = 1000; address < 1000 + UINT64_C(100000); address++)
        ck_assert_int_eq(count(address, 1), 1);
    ck_assert_int_eq(count(5, WRONG_TOKENS_AT_ONCE), WRONG_TOKENS_AT_ONCE);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("wrong_tokens");
    TCase *tests = tcase_create("wrong_tokens");
    tcase_add_test(tests, an_address_has_its_number_at_once_and_then_one_a_second);
    tcase_add_test(tests, an_episode_is_told_once_and_one_a_second);
    tcase_add_test(tests, many_addresses_take_no_more_memory_and_refuse_no_other);
    suite_add_tcase(suite, tests);
    return suite;
}
