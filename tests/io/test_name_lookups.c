#include "io/name_lookups.h"
#include "support/suite.h"

enum { SECOND = 1000 * 1000 };

static struct name_lookups *lookups;

static void set_up(void)
{
    lookups = name_lookups_new();
}

static void tear_down(void)
{
    name_lookups_free(lookups);
}

static void abandon(size_t count, int64_t now_us)
{
    while (count--)
        name_lookups_abandoned(lookups, now_us);
}

static bool may_begin(const char *url, int64_t now_us)
{
    return name_lookups_may_begin(lookups, slice_of(url), now_us);
}

START_TEST(so_many_may_be_abandoned)
{
    abandon(NAME_LOOKUPS_MAX - 1, SECOND);
    ck_assert(may_begin("http://a.example/", SECOND));
    abandon(1, SECOND);
    ck_assert(!may_begin("http://a.example/", SECOND));
    ck_assert(!may_begin("https://a.example:8443?x", SECOND));
}
END_TEST

START_TEST(they_end_by_themselves)
{
    abandon(NAME_LOOKUPS_MAX - 1, SECOND);
    abandon(1, 5 * SECOND);
    ck_assert(!may_begin("http://a.example/", 31 * SECOND - 1));
    ck_assert(may_begin("http://a.example/", 31 * SECOND));
    abandon(NAME_LOOKUPS_MAX - 1, 31 * SECOND);
    ck_assert(!may_begin("http://a.example/", 31 * SECOND));
    abandon(1000, 40 * SECOND); /* these are more abandoned lookups than can be counted, so the oldest ones
                                   are no longer counted */
    ck_assert(!may_begin("http://a.example/", 61 * SECOND - 1));
    ck_assert(may_begin("http://a.example/", 61 * SECOND));
}
END_TEST

START_TEST(names_that_libcurl_still_knows_may_be_asked_for)
{
    name_lookups_found(lookups, SLICE("http://a.example/x"), SECOND);
    name_lookups_found(lookups, SLICE("http://a.example/x"),
                       50 * SECOND); /* found again on an open connection, without a new lookup */
    abandon(NAME_LOOKUPS_MAX, 50 * SECOND);
    ck_assert(may_begin("http://a.example?y", 50 * SECOND));
    ck_assert(!may_begin("http://b.example/x", 50 * SECOND));
    ck_assert(!may_begin("http://a.example/x", 57 * SECOND));
    name_lookups_found(lookups, SLICE("http://a.example/x"), 58 * SECOND);
    ck_assert(may_begin("http://a.example/x", 59 * SECOND));
}
END_TEST

START_TEST(addresses_are_not_looked_up)
{
    abandon(NAME_LOOKUPS_MAX, SECOND);
    ck_assert(may_begin("http://127.0.0.1:80/", SECOND));
    ck_assert(may_begin("http://0x7f.1", SECOND));
    ck_assert(may_begin("https://[::1]:8443/", SECOND));
    ck_assert(!may_begin("http://1.example:80/1.1", SECOND));
    ck_assert(!may_begin("http://example:80/", SECOND));
    ck_assert(!may_begin("", SECOND));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("name_lookups");
    TCase *tests = tcase_create("name_lookups");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, so_many_may_be_abandoned);
    tcase_add_test(tests, they_end_by_themselves);
    tcase_add_test(tests, names_that_libcurl_still_knows_may_be_asked_for);
    tcase_add_test(tests, addresses_are_not_looked_up);
    suite_add_tcase(suite, tests);
    return suite;
}
