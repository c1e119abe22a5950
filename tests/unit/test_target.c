#include "support/suite.h"

#include <stdio.h>

#include "job/target/target.h"
#include "job/target/url.h"

static struct target_policy *policy;
static struct problem problem;

static void set_up(void)
{
    policy = target_policy_new();
}

static void tear_down(void)
{
    target_policy_free(policy);
}

static bool permits(const char *host, const char *text, uint16_t port, bool is_local)
{
    struct address address;
    ck_assert(address_parse(slice_of(text), &address));
    return target_policy_permits(policy, slice_of(host), &address, port, is_local);
}

static void refuse(const char *text, uint16_t port)
{
    struct address address;
    ck_assert(address_parse(slice_of(text), &address));
    target_policy_refuse(policy, &address, port);
}

START_TEST(permits_public_addresses_only)
{
    ck_assert(permits("example.com", "93.184.216.34", 80, false));
    ck_assert(permits("example.com", "2606:2800:220:1::1", 80, false));
    ck_assert(!permits("example.com", "127.0.0.1", 80, true));
    ck_assert(!permits("example.com", "::1", 80, true));
    ck_assert(!permits("example.com", "::ffff:10.0.0.1", 80, false));
}
END_TEST

START_TEST(permits_what_the_operator_allows)
{
    ck_assert_int_eq(
        target_policy_allow(policy, SLICE("127.0.0.0/8,::1 10.0.0.7, Intern.example."), &problem), STATUS_OK);
    ck_assert(permits("a", "127.9.9.9", 80, true));
    ck_assert(permits("a", "::1", 80, true));
    ck_assert(permits("a", "10.0.0.7", 80, false));
    ck_assert(!permits("a", "10.0.0.8", 80, false));
    ck_assert(permits("intern.EXAMPLE", "10.0.0.8", 80, false));
    ck_assert(permits("intern.example.", "10.0.0.8", 80, false));
    ck_assert(!permits("x.intern.example", "10.0.0.8", 80, false));
    ck_assert_int_eq(target_policy_allow(policy, SLICE(" , "), &problem), STATUS_OK);
}
END_TEST

START_TEST(permits_all_names_below_one)
{
    static const char *const below[] = {"a.svc.cluster.local", "A.B.SVC.cluster.local",
                                        "a.svc.cluster.local."};
    static const char *const others[] = {"svc.cluster.local", ".svc.cluster.local", "asvc.cluster.local",
                                         "a.svc.cluster.local.example", "local"};
    ck_assert_int_eq(target_policy_allow(policy, SLICE("*.svc.cluster.local"), &problem), STATUS_OK);
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        ck_assert_msg(permits(below[i], "10.0.0.8", 80, false), "%s", below[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!permits(others[i], "10.0.0.8", 80, false), "%s", others[i]);
}
END_TEST

START_TEST(explains_with_address_rule_and_option)
{
    static const char *const cases[][2] = {
        {"127.0.0.1", "leads to 127.0.0.1: loopback (127.0.0.0/8) is not allowed, see --allow-target"},
        {"10.1.2.3", "leads to 10.1.2.3: private (10.0.0.0/8) is not allowed, see --allow-target"},
        {"::ffff:169.254.169.254",
         "leads to ::ffff:169.254.169.254: link-local (169.254.0.0/16) is not allowed, see --allow-target"},
        {"::1", "leads to ::1: loopback (::1) is not allowed, see --allow-target"},
        {"fd00::1", "leads to fd00::1: unique local (fc00::/7) is not allowed, see --allow-target"},
        {"2001:db8::1",
         "leads to 2001:db8::1: documentation (2001:db8::/32) is not allowed, see --allow-target"},
        {"4000::1", "leads to 4000::1: not global unicast (2000::/3) is not allowed, see --allow-target"},
    };
    char why[TARGET_WHY_SIZE];
    struct address address;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert(address_parse(slice_of(cases[i][0]), &address));
        target_explain(&address, why);
        ck_assert_str_eq(why, cases[i][1]);
    }
    ck_assert(address_parse(SLICE("127.0.0.1"), &address));
    target_explain_ours(&address, 7700, why);
    ck_assert_str_eq(why,
                     "leads to 127.0.0.1, port 7700: duepost itself or its Redis, which no option allows");
}
END_TEST

START_TEST(says_what_it_does_not_understand)
{
    static const char *const bad[] = {"10.0.0.0/33", "127.1", "a/b", "[::1]", "a..b", "all",
                                      "ANY",         "*",     "*.",  "a.*.b", "*a.b", "http://h"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(target_policy_allow(policy, slice_of(bad[i]), &problem) == STATUS_INVALID, "%s",
                      bad[i]);
    ck_assert_str_eq(problem.text, "'http://h' is not a CIDR block, address, host name or *.name");
    ck_assert_int_eq(target_policy_allow(policy, SLICE("10.0.0.0/8 All"), &problem), STATUS_INVALID);
    ck_assert_str_eq(problem.text,
                     "'All' would be the name of a host; to allow all addresses, private ones too, write "
                     "0.0.0.0/0,::/0");
}
END_TEST

START_TEST(refuses_ourselves_even_if_allowed)
{
    ck_assert_int_eq(target_policy_allow(policy, SLICE("127.0.0.0/8 ::1 0.0.0.0 :: me"), &problem),
                     STATUS_OK);
    refuse("127.0.0.1", 7700);
    refuse("93.184.216.34", 6379);
    ck_assert(!permits("me", "127.0.0.1", 7700, true));
    ck_assert(!permits("me", "::ffff:127.0.0.1", 7700, true));
    ck_assert(!permits("me", "0.0.0.0", 7700, true)); /* Linux treats 0.0.0.0 as 127.0.0.1 */
    ck_assert(!permits("me", "::", 7700, true));
    ck_assert(permits("me", "0.0.0.0", 7701, true));
    ck_assert(permits("me", "127.0.0.1", 7701, true));
    ck_assert(permits("me", "127.0.0.2", 7700, true));
    ck_assert(!permits("me", "93.184.216.34", 6379, false));
    ck_assert(permits("me", "93.184.216.34", 80, false));
    ck_assert(!target_policy_asks_local(policy, 7700));
}
END_TEST

START_TEST(refuses_every_address_of_this_host)
{
    ck_assert_int_eq(target_policy_allow(policy, SLICE("10.0.0.0/8"), &problem), STATUS_OK);
    target_policy_refuse(policy, NULL, 7700);
    ck_assert(target_policy_asks_local(policy, 7700));
    ck_assert(!target_policy_asks_local(policy, 80));
    ck_assert(!permits("a", "10.0.0.1", 7700, true));
    ck_assert(permits("a", "10.0.0.1", 7700, false));
    ck_assert(permits("a", "10.0.0.1", 80, true));
    ck_assert(!permits("a", "93.184.216.34", 7700, true));
}
END_TEST

/* --- the cases in support/targets.txt, whose head describes them --- */

/* Decodes the escapes of text in place. Returns the size of the decoded bytes. */
static size_t unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        unsigned byte = (unsigned char)*from;
        if (*from == '\\' && *++from == 'x') {
            ck_assert_int_eq(sscanf(from + 1, "%2x", &byte), 1);
            from += 2;
        } else if (byte == '\\') {
            byte = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from == 'r' ? '\r' : '\\';
        }
        *to++ = (char)byte;
    }
    return (size_t)(to - text);
}

static const char *verdict_of(struct slice text)
{
    struct url url;
    const char *detail;
    if (url_parse(text, &url, &detail) != STATUS_OK)
        return "invalid";
    if (!url.host_is_address)
        return "name";
    return target_policy_permits(policy, url.host, &url.address, url.port, false) ? "public" : "refused";
}

START_TEST(judges_urls_in_every_spelling)
{
    char path[4096], line[4096];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/support/targets.txt", TESTS_FOLDER);
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "cannot read %s", path);
    while (fgets(line, sizeof line, file)) {
        char shown[sizeof line], *url = line + strlen("invalid ");
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        memcpy(shown, line, sizeof shown);
        line[strcspn(line, " ")] = '\0';
        ck_assert_msg(strcmp(verdict_of(slice_from(url, unescape(url))), line) == 0, "%s", shown);
        count++;
    }
    fclose(file);
    ck_assert_uint_gt(count, 300);
}
END_TEST

START_TEST(frees_nothing)
{
    target_policy_free(NULL);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("target");
    TCase *tests = tcase_create("target");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, permits_public_addresses_only);
    tcase_add_test(tests, permits_what_the_operator_allows);
    tcase_add_test(tests, permits_all_names_below_one);
    tcase_add_test(tests, explains_with_address_rule_and_option);
    tcase_add_test(tests, says_what_it_does_not_understand);
    tcase_add_test(tests, refuses_ourselves_even_if_allowed);
    tcase_add_test(tests, refuses_every_address_of_this_host);
    tcase_add_test(tests, judges_urls_in_every_spelling);
    tcase_add_test(tests, frees_nothing);
    suite_add_tcase(suite, tests);
    return suite;
}
