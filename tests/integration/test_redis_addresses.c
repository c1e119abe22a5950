#include <stdio.h>

#include "server/redis/redis_private.h"
#include "support/suite.h"

enum { PORT = 6390 };

static struct redis_addresses *addresses;
static struct target_policy *policy;

static void set_up(void)
{
    addresses = redis_addresses_new();
    policy = target_policy_new();
}

static void tear_down(void)
{
    redis_addresses_free(addresses);
    target_policy_free(policy);
}

static void refuse(const char *host)
{
    char name[64];
    snprintf(name, sizeof name, "%s", host);
    struct redis_address redis = {.host = name, .port = PORT};
    redis_addresses_refuse(addresses, &redis, policy);
}

static bool is_refused(const char *text, bool is_local)
{
    struct address address;
    ck_assert(address_parse(slice_of(text), &address));
    return target_policy_refuses(policy, &address, PORT, is_local);
}

START_TEST(on_this_host_it_is_refused_on_all_its_addresses)
{
    refuse("127.0.0.1");
    ck_assert(target_policy_asks_local(policy, PORT));
    ck_assert(!target_policy_asks_local(policy, PORT + 1));
    ck_assert(is_refused("127.0.0.1", true));
    ck_assert(is_refused("127.0.0.2", true));
    ck_assert(is_refused("192.0.2.7", true));
    ck_assert(!is_refused("192.0.2.7", false));
}
END_TEST

START_TEST(on_another_host_it_is_refused_there)
{
    refuse("192.0.2.1");
    ck_assert(!target_policy_asks_local(policy, PORT));
    ck_assert(is_refused("192.0.2.1", false));
    ck_assert(!is_refused("192.0.2.2", false));
}
END_TEST

/* Each reload creates a new policy. */
START_TEST(what_was_found_stays_when_the_name_is_not_found)
{
    refuse("192.0.2.1");
    target_policy_free(policy);
    policy = target_policy_new();
    refuse("no..name");
    ck_assert(is_refused("192.0.2.1", false));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("redis_addresses");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, on_this_host_it_is_refused_on_all_its_addresses);
    tcase_add_test(tests, on_another_host_it_is_refused_there);
    tcase_add_test(tests, what_was_found_stays_when_the_name_is_not_found);
    suite_add_tcase(suite, tests);
    return suite;
}
