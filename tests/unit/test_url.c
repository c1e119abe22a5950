#include "support/suite.h"

#include <stdio.h>

#include "job/job.h"
#include "job/target/url.h"

START_TEST(finds_the_parts)
{
    static const struct {
        const char *text;
        bool is_https;
        const char *host;
        uint16_t port;
        const char *target, *query;
    } cases[] = {
        {"http://example.com", false, "example.com", 80, "", ""},
        {"https://example.com/", true, "example.com", 443, "/", ""},
        {"HTTPS://Example.COM./a", true, "Example.COM.", 443, "/a", ""},
        {"http://a-b_c.example:8080/p/q?x=1&y=%zz", false, "a-b_c.example", 8080, "/p/q?x=1&y=%zz",
         "?x=1&y=%zz"},
        {"http://h?x=/@:", false, "h", 80, "?x=/@:", "?x=/@:"},
        {"http://h/a@b:c[d]|{}\"?", false, "h", 80, "/a@b:c[d]|{}\"?", "?"},
        {"http://h:1/", false, "h", 1, "/", ""},
        {"http://h:65535", false, "h", 65535, "", ""},
        {"http://h:00080/", false, "h", 80, "/", ""},
        {"http://1a.example/", false, "1a.example", 80, "/", ""},
        {"http://1.2.3.com/", false, "1.2.3.com", 80, "/", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct url url;
        const char *detail;
        ck_assert_msg(url_parse(slice_of(cases[i].text), &url, &detail) == STATUS_OK, "%s", cases[i].text);
        ck_assert_msg(url.is_https == cases[i].is_https && slice_equal(url.host, slice_of(cases[i].host)) &&
                          url.port == cases[i].port && slice_equal(url.target, slice_of(cases[i].target)) &&
                          slice_equal(url.query, slice_of(cases[i].query)) && !url.host_is_address,
                      "%s", cases[i].text);
    }
}
END_TEST

START_TEST(knows_addresses_in_every_spelling)
{
    static const struct {
        const char *text, *host, *address;
        uint16_t port;
    } cases[] = {
        {"http://127.0.0.1", "127.0.0.1", "127.0.0.1", 80},
        {"http://127.0.0.1:81/", "127.0.0.1", "127.0.0.1", 81},
        {"http://127.1/", "127.1", "127.0.0.1", 80},
        {"http://2130706433/", "2130706433", "127.0.0.1", 80},
        {"http://0x7f000001?", "0x7f000001", "127.0.0.1", 80},
        {"http://0177.0.0.1/", "0177.0.0.1", "127.0.0.1", 80},
        {"http://0/", "0", "0.0.0.0", 80},
        {"http://[::1]", "::1", "::1", 80},
        {"https://[::ffff:127.0.0.1]:8443/x", "::ffff:127.0.0.1", "127.0.0.1", 8443},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct url url;
        struct address address;
        const char *detail;
        ck_assert(address_parse(slice_of(cases[i].address), &address));
        ck_assert_msg(url_parse(slice_of(cases[i].text), &url, &detail) == STATUS_OK, "%s", cases[i].text);
        ck_assert_msg(url.host_is_address && address_equal(&url.address, &address) &&
                          slice_equal(url.host, slice_of(cases[i].host)) && url.port == cases[i].port,
                      "%s", cases[i].text);
    }
}
END_TEST

#define LABEL_63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

START_TEST(says_which_rule_is_broken)
{
    static const char *const host = "must have a host of letters, digits, '.', '-' and '_'";
    static const char *const number = "must have a host that is a name or an address";
    static const char *const port = "must have a port from 1 to 65535, or none";
    static const char *const bytes = "must be visible ASCII, without spaces";
    static const char *const scheme = "must begin with http:// or https://";
    static const char *const v6 = "must have an IPv6 address between the brackets";
    const struct {
        const char *text, *detail;
    } cases[] = {
        {"", scheme},
        {"http:/", scheme},
        {"ftp://h/", scheme},
        {"//h/", scheme},
        {"http:h", scheme},
        {"httpx://h", scheme},
        {"https:/h/", scheme},
        {"file:///etc/passwd", scheme},
        {"http://", "must have a host"},
        {"http:///x", "must have a host"},
        {"http://?x", "must have a host"},
        {"http://:80/", "must have a host"},
        {"http://./", "must have a host"},
        {"http://a@h/", "must not have a user name or password"},
        {"http://a:b@h/", "must not have a user name or password"},
        {"http://h:/", port},
        {"http://h:0/", port},
        {"http://h:65536/", port},
        {"http://h:1:2/", port},
        {"http://h:-1/", port},
        {"http://[::1]:0/", port},
        {"http://[::1]:/", port},
        {"http://h/a b", bytes},
        {" http://h/", bytes},
        {"http://h/\t", bytes},
        {"http://h/\n", bytes},
        {"http://h/\x7f", bytes},
        {"http://h/\xc3\xa9", bytes},
        {"http://\xc3\xa9/", bytes},
        {"http://h\\a/", "must not have a backslash"},
        {"http://h/#a", "must not have a fragment"},
        {"http://h#@x/", "must not have a fragment"},
        {"http://a%41/", host},
        {"http://a%/", host},
        {"http://%31%32%37.0.0.1/", number},
        {"http://a..b/", host},
        {"http://.a/", host},
        {"http://a../", host},
        {"http://a,b/", host},
        {"http://a]/", host},
        {"http://" LABEL_63 "a/", host},
        {"http://::1/", "must have a host"},
        {"http://" LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_63 "/", host},
        {"http://256.1.1.1/", number},
        {"http://127.0.0.1./", number},
        {"http://127.0.0.1.:81/", number},
        {"http://1.2.3.4.5/", number},
        {"http://a.1/", number},
        {"http://a.0x1/", number},
        {"http://0x/", number},
        {"http://a.0X1/", number},
        {"http://a{/", host},
        {"http://08/", number},
        {"http://a.b.09./", number},
        {"http://a.0xyz/", number},
        {"http://[fe80::1%25eth0]/", "must not have a scope id"},
        {"http://[::1/", v6},
        {"http://[]/", v6},
        {"http://[127.0.0.1]/", v6},
        {"http://[::1]x/", "must have a valid host"},
        {"http://[::g]/", v6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct url url;
        const char *detail = NULL;
        ck_assert_msg(url_parse(slice_of(cases[i].text), &url, &detail) == STATUS_INVALID, "%s",
                      cases[i].text);
        ck_assert_str_eq(detail, cases[i].detail);
    }
}
END_TEST

START_TEST(is_bounded)
{
    char text[JOB_URL_MAX + 2];
    struct url url;
    const char *detail;
    snprintf(text, sizeof text, "http://h/%0*d", JOB_URL_MAX - 9, 0);
    ck_assert_int_eq(url_parse(slice_from(text, JOB_URL_MAX), &url, &detail), STATUS_OK);
    text[JOB_URL_MAX] = '0';
    ck_assert_int_eq(url_parse(slice_from(text, JOB_URL_MAX + 1), &url, &detail), STATUS_INVALID);
    ck_assert_str_eq(detail, "must be at most 2048 bytes");
    ck_assert_int_eq(url_parse(slice_from("http://h/\0", 10), &url, &detail), STATUS_INVALID);
}
END_TEST

START_TEST(knows_names)
{
    ck_assert(url_host_is_name(SLICE("example.com")));
    ck_assert(url_host_is_name(SLICE("localhost.")));
    ck_assert(!url_host_is_name(SLICE("")));
    ck_assert(!url_host_is_name(SLICE("127.1")));
    ck_assert(!url_host_is_name(SLICE("::1")));
    ck_assert(!url_host_is_name(SLICE("a/b")));
    ck_assert(url_host_equal(SLICE("Example.com."), SLICE("example.COM")));
    ck_assert(!url_host_equal(SLICE("example.com"), SLICE("example.org")));
    ck_assert(url_host_is_localhost(SLICE("LocalHost")));
    ck_assert(url_host_is_localhost(SLICE("localhost.")));
    ck_assert(url_host_is_localhost(SLICE("a.b.localhost")));
    ck_assert(!url_host_is_localhost(SLICE("mylocalhost")));
    ck_assert(!url_host_is_localhost(SLICE("localhost.example")));
    ck_assert(!url_host_is_localhost(SLICE("host")));
    ck_assert(!url_host_is_localhost(SLICE("localhost..")));
}
END_TEST

START_TEST(compares_origins)
{
    static const struct {
        const char *a, *b;
        bool is_same;
    } cases[] = {
        {"http://h/", "http://h/x?y", true},
        {"http://h", "HTTP://H.:80/", true},
        {"https://h:443/", "https://h/", true},
        {"http://127.0.0.1/", "http://0x7f000001/", true},
        {"http://[::1]:80/", "http://[0:0::1]/", true},
        {"http://h/", "https://h/", false},
        {"http://h:443/", "https://h/", false},
        {"http://h/", "http://h:81/", false},
        {"http://h/", "http://i/", false},
        {"http://h/", "http://h.h/", false},
        {"http://127.0.0.1/", "http://localhost/", false},
        {"http://127.0.0.1/", "http://127.0.0.2/", false},
    };
    struct url a, b;
    const char *detail;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(url_parse(slice_of(cases[i].a), &a, &detail), STATUS_OK);
        ck_assert_int_eq(url_parse(slice_of(cases[i].b), &b, &detail), STATUS_OK);
        ck_assert_msg(url_is_same_origin(&a, &b) == cases[i].is_same, "%s %s", cases[i].a, cases[i].b);
        ck_assert_msg(url_is_same_origin(&b, &a) == cases[i].is_same, "%s %s", cases[i].b, cases[i].a);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("url");
    TCase *tests = tcase_create("url");
    tcase_add_test(tests, finds_the_parts);
    tcase_add_test(tests, knows_addresses_in_every_spelling);
    tcase_add_test(tests, says_which_rule_is_broken);
    tcase_add_test(tests, is_bounded);
    tcase_add_test(tests, knows_names);
    tcase_add_test(tests, compares_origins);
    suite_add_tcase(suite, tests);
    return suite;
}
