/* Tests the access tokens that processes share. */
#include "support/keyspace.h"
#include "support/script_examples.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define TOKEN "access:ab: since=now token=t until=now+5000\n"

START_TEST(one_process_gets_a_token)
{
    CHECK_EXAMPLES( //
        {"", "access ab ask 9000", "fetch 0 '' 0", "access:ab: busy=now+9000\n"},
        {"access:ab: busy=now+9000\n", "access ab ask 9000", "busy 9000 '' 0", NULL},
        {"access:cd: busy=now+9000\n", "access ab ask 9000", "fetch 0 '' 0",
         "access:ab: busy=now+9000\naccess:cd: busy=now+9000\n"},
        /* The process that should get one is lost, or Redis's clock has stepped. */
        {"access:ab: busy=now\n", "access ab ask 9000", "fetch 0 '' 0", "access:ab: busy=now+9000\n"},
        {"access:ab: busy=now+90000\n", "access ab ask 9000", "fetch 0 '' 0",
         "access:ab: busy=now+9000\n"}, );
}
END_TEST

START_TEST(a_token_is_used_until_its_end)
{
    CHECK_EXAMPLES( //
        {"access:ab: busy=now+9000 fails=3\n", "access ab keep t 5000", "done 0 '' 0", TOKEN},
        {TOKEN, "access ab ask 9000", "token 5000 t 0", NULL},
        {"access:ab: since=now-7000 token=t until=now+5000\n", "access ab ask 9000", "token 5000 t 7000",
         NULL},
        {"access:ab: since=now+7000 token=t until=now+5000\n", "access ab ask 9000", "token 5000 t 0", NULL},
        {"access:ab: token=t until=now\n", "access ab ask 9000", "fetch 0 '' 0",
         "access:ab: busy=now+9000 token=t until=now\n"},
        {"access:ab: token=t until=now+86400001\n", "access ab ask 9000", "fetch 0 '' 0",
         "access:ab: busy=now+9000 token=t until=now+86400001\n"}, );
}
END_TEST

START_TEST(a_refused_token_is_dropped)
{
    CHECK_EXAMPLES( //
        {TOKEN, "access ab drop t", "done 0 '' 0", ""}, {TOKEN, "access ab drop u", "done 0 '' 0", NULL},
        {"", "access ab drop t", "done 0 '' 0", NULL}, );
}
END_TEST

START_TEST(after_failures_nobody_asks_for_a_while)
{
    CHECK_EXAMPLES( //
        {"access:ab: busy=now+9000\n", "access ab fail 0", "wait 1000 '' 0",
         "access:ab: busy=now+1000 fails=1\n"},
        {"access:ab: busy=now+1000 fails=1\n", "access ab ask 9000", "wait 1000 '' 0", NULL},
        {"access:ab: busy=now fails=1\n", "access ab ask 9000", "fetch 1 '' 0", "access:ab: busy=now+9000\n"},
        {"access:ab: busy=now+9000\n", "access ab fail 3", "wait 8000 '' 0",
         "access:ab: busy=now+8000 fails=4\n"},
        {"access:ab: busy=now+9000\n", "access ab fail 99", "wait 60000 '' 0",
         "access:ab: busy=now+60000 fails=16\n"}, );
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_access");
    TCase *tests = examples_case("access");
    tcase_add_test(tests, one_process_gets_a_token);
    tcase_add_test(tests, a_token_is_used_until_its_end);
    tcase_add_test(tests, a_refused_token_is_dropped);
    tcase_add_test(tests, after_failures_nobody_asks_for_a_while);
    suite_add_tcase(suite, tests);
    return suite;
}
