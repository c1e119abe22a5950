#include "io/http/client_private.h"
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

static bool must_renew(const char *url, int64_t now_us, const char *wanted)
{
    char entry[NAME_ENTRY_MAX];
    bool must = name_lookups_must_renew(lookups, slice_of(url), now_us, entry);
    if (must)
        ck_assert_str_eq(entry, wanted);
    return must;
}

START_TEST(a_name_is_looked_up_again_after_a_failure)
{
    name_lookups_found(lookups, SLICE("http://a.example/x"), SECOND);
    ck_assert(!must_renew("http://a.example/x", SECOND, ""));
    name_lookups_failed(lookups, SLICE("http://a.example/x"));
    ck_assert(!must_renew("http://b.example/", SECOND, ""));
    ck_assert(must_renew("http://a.example/y", SECOND, "-a.example:80"));
    ck_assert(!must_renew("http://a.example/x", 3 * SECOND, ""));
    name_lookups_failed(lookups, SLICE("https://a.example"));
    ck_assert(must_renew("https://a.example", 3 * SECOND, "-a.example:443"));
    name_lookups_failed(lookups, SLICE("http://u:p@a.example:3128"));
    ck_assert(must_renew("http://u:p@a.example:3128", 3 * SECOND, "-a.example:3128"));
}
END_TEST

START_TEST(a_name_is_looked_up_again_at_most_once_a_second)
{
    name_lookups_failed(lookups, SLICE("http://a.example/x"));
    ck_assert(must_renew("http://a.example/x", 5 * SECOND, "-a.example:80"));
    name_lookups_failed(lookups, SLICE("http://a.example/x"));
    ck_assert(!must_renew("http://a.example/x", 6 * SECOND - 1, ""));
    ck_assert(must_renew("http://a.example/x", 6 * SECOND, "-a.example:80"));
    name_lookups_failed(lookups, SLICE("http://a.example/x"));
    name_lookups_found(lookups, SLICE("http://a.example/x"), 7 * SECOND);
    ck_assert(!must_renew("http://a.example/x", 9 * SECOND, ""));
}
END_TEST

START_TEST(a_renewed_name_counts_as_a_lookup)
{
    name_lookups_found(lookups, SLICE("http://a.example/x"), SECOND);
    name_lookups_failed(lookups, SLICE("http://a.example/x"));
    abandon(NAME_LOOKUPS_MAX, 2 * SECOND);
    ck_assert(!must_renew("http://a.example/x", 2 * SECOND, "")); /* the addresses are better than none */
    ck_assert(may_begin("http://a.example/x", 2 * SECOND));
    ck_assert(may_begin("http://a.example/x", 33 * SECOND));
    ck_assert(must_renew("http://a.example/x", 33 * SECOND, "-a.example:80"));
    abandon(NAME_LOOKUPS_MAX, 33 * SECOND);
    ck_assert(!may_begin("http://a.example/x", 33 * SECOND));
    name_lookups_failed(lookups, SLICE("http://127.0.0.1/"));
    ck_assert(!must_renew("http://127.0.0.1/", 90 * SECOND, ""));
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
    tcase_add_test(tests, a_name_is_looked_up_again_after_a_failure);
    tcase_add_test(tests, a_name_is_looked_up_again_at_most_once_a_second);
    tcase_add_test(tests, a_renewed_name_counts_as_a_lookup);
    suite_add_tcase(suite, tests);
    return suite;
}
