#include "support/suite.h"

#include "job/target/url.h"

static struct address address_of(const char *text)
{
    struct address address;
    ck_assert_msg(address_parse(slice_of(text), &address), "%s", text);
    return address;
}

START_TEST(parses_strictly)
{
    static const struct {
        const char *text;
        bool is_v6;
        uint8_t bytes[16];
    } good[] = {
        {"127.0.0.1", false, {127, 0, 0, 1}},
        {"255.255.255.255", false, {255, 255, 255, 255}},
        {"::", true, {0}},
        {"::1", true, {[15] = 1}},
        {"2001:DB8::a", true, {0x20, 0x01, 0x0d, 0xb8, [15] = 10}},
        {"::ffff:1.2.3.4", true, {[10] = 0xff, 0xff, 1, 2, 3, 4}},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct address address = address_of(good[i].text);
        ck_assert_msg(address.is_v6 == good[i].is_v6 && memcmp(address.bytes, good[i].bytes, 16) == 0, "%s",
                      good[i].text);
    }
    static const struct slice bad[] = {
        {"", 0},
        {"1.2.3", 5},
        {"1.2.3.256", 9},
        {"01.2.3.4", 8},
        {"1.2.3.4.", 8},
        {" 1.2.3.4", 8},
        {"1.2.3.4\0", 8},
        {"fe80::1%eth0", 12},
        {":", 1},
        {"1::2::3", 7},
        {"[::1]", 5},
        {"localhost", 9},
        {"0x7f.0.0.1", 10},
        {"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa", 49},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct address address;
        ck_assert_msg(!address_parse(bad[i], &address), "%s", bad[i].data);
    }
}
END_TEST

START_TEST(parses_loosely_what_resolvers_take)
{
    static const char *const good[][2] = {
        {"127.0.0.1", "127.0.0.1"},
        {"127.1", "127.0.0.1"},
        {"127.0.1", "127.0.0.1"},
        {"2130706433", "127.0.0.1"},
        {"0x7f000001", "127.0.0.1"},
        {"0X7F.1", "127.0.0.1"},
        {"0177.0.0.1", "127.0.0.1"},
        {"017700000001", "127.0.0.1"},
        {"0", "0.0.0.0"},
        {"1.2.65535", "1.2.255.255"},
        {"1.16777215", "1.255.255.255"},
        {"4294967295", "255.255.255.255"},
        {"0xA9.0xfe.0xa9.0xFE", "169.254.169.254"},
        {"00.0.0.01", "0.0.0.1"},
        {"::1", "::1"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct address address, expected = address_of(good[i][1]);
        ck_assert_msg(address_parse_loose(slice_of(good[i][0]), &address) &&
                          address_equal(&address, &expected),
                      "%s", good[i][0]);
    }
    static const char *const bad[] = {
        "",
        ".",
        "1.",
        ".1",
        "1..2",
        "1.2.3.4.5",
        "256.1",
        "1.16777216",
        "1.2.65536",
        "4294967296",
        "99999999999999999999999999",
        "08",
        "0x",
        "0xg",
        "1a",
        "-1",
        "+1",
        "1.2.3.4.",
        "0x7f.0.0.0x100",
        "a.b",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct address address;
        ck_assert_msg(!address_parse_loose(slice_of(bad[i]), &address), "%s", bad[i]);
    }
}
END_TEST

START_TEST(knows_public_addresses)
{
    static const struct {
        const char *first, *last, *before,
            *after; /* first and last address of a block, and the public addresses before and after it */
    } blocks[] = {
        {"0.0.0.0", "0.255.255.255", NULL, "1.0.0.0"},
        {"10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
        {"100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"},
        {"127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"},
        {"168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"},
        {"169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"},
        {"172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"},
        {"192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"},
        {"192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"},
        {"192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"},
        {"192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"},
        {"198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"},
        {"198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"},
        {"203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"},
        {"224.0.0.0", "239.255.255.255", "223.255.255.255", NULL},
        {"240.0.0.0", "255.255.255.255", NULL, NULL},
        {"::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "2000::"},
        {"4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:ffff::", NULL},
        {"2001::", "2001:1ff:ffff::", "2000:ffff::", "2001:200::"},
        {"2001:db8::", "2001:db8:ffff::", "2001:db7:ffff::", "2001:db9::"},
        {"2002::", "2002:ffff::", "2001:ffff::", "2003::"},
        {"3fff::", "3fff:fff:ffff::", "3ffe:ffff::", "3fff:1000::"},
        {"::ffff:10.0.0.1", "::ffff:127.0.0.1", NULL, "::ffff:8.8.8.8"},
        {"64:ff9b::10.0.0.1", "64:ff9b::127.0.0.1", NULL, "64:ff9b::8.8.8.8"},
        {"64:ff9b:1::8.8.8.8", "::8.8.8.8", NULL, NULL},
        {"fc00::1", "fe80::1", NULL, NULL},
        {"::1", "ff02::1", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        const char *const texts[] = {blocks[i].first, blocks[i].last, blocks[i].before, blocks[i].after};
        for (int at = 0; at < 4; at++) {
            if (!texts[at])
                continue;
            struct address address = address_of(texts[at]);
            ck_assert_msg(address_is_public(&address) == (at >= 2), "%s", texts[at]);
        }
    }
}
END_TEST

START_TEST(blocks_have_their_addresses)
{
    static const struct {
        const char *block, *address;
        bool has;
    } cases[] = {
        {"10.0.0.0/8", "10.255.0.1", true},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"10.1.2.3/8", "10.9.9.9", true},
        {"10.0.0.1", "10.0.0.1", true},
        {"10.0.0.1", "10.0.0.2", false},
        {"10.0.0.0/31", "10.0.0.1", true},
        {"10.0.0.0/31", "10.0.0.2", false},
        {"0.0.0.0/0", "255.1.2.3", true},
        {"0.0.0.0/0", "::1", false},
        {"::/0", "1.2.3.4", false},
        {"::/0", "fe80::1", true},
        {"::1", "::1", true},
        {"fd00::/12", "fd0f::1", true},
        {"fd00::/12", "fd10::1", false},
        {"127.0.0.0/8", "::ffff:127.0.0.1", true},
        {"127.0.0.0/8", "64:ff9b::127.9.9.9", true},
        {"::ffff:10.0.0.0/104", "10.1.1.1", true},
        {"::ffff:10.0.0.0/104", "11.1.1.1", false},
        {"::ffff:10.0.0.0/90", "10.0.0.0", false},
        {"::1/128", "::2", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct address_block block;
        struct address address = address_of(cases[i].address);
        ck_assert_msg(address_block_parse(slice_of(cases[i].block), &block), "%s", cases[i].block);
        ck_assert_msg(address_block_has(&block, &address) == cases[i].has, "%s %s", cases[i].block,
                      cases[i].address);
    }
    static const char *const bad[] = {"",         "/8",          "10.0.0.0/", "10.0.0.0/33", "::/129",
                                      "10.0.0/8", "10.0.0.0/-1", "a/8",       "10.0.0.0/8/8"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct address_block block;
        ck_assert_msg(!address_block_parse(slice_of(bad[i]), &block), "%s", bad[i]);
    }
}
END_TEST

START_TEST(names_the_risk_of_wide_blocks)
{
    static const struct {
        const char *block, *risk; /* NULL: none */
    } cases[] = {
        {"0.0.0.0/0", "is wider"},
        {"8.0.0.0/7", "is wider"},
        {"::/0", "is wider"},
        {"fc00::/7", "is wider"},
        {"10.0.0.0/8", NULL},
        {"192.168.0.0/16", NULL},
        {"fd12:3456::/32", NULL},
        {"203.0.113.7", NULL},
        {"127.0.0.0/8", "includes loopback"},
        {"127.0.0.1", "includes loopback"},
        {"::ffff:127.0.0.1", "includes loopback"},
        {"::1", "includes loopback"},
        {"169.254.169.254", "includes the metadata"},
        {"169.0.0.0/8", "includes the metadata"},
        {"fd00::/8", "includes the metadata"},
        {"fd00:ec2::254", "includes the metadata"},
        {"fd00:ec3::/32", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct address_block block;
        ck_assert(address_block_parse(slice_of(cases[i].block), &block));
        const char *risk = address_block_risk(&block);
        ck_assert_msg(!risk == !cases[i].risk, "%s: %s", cases[i].block, risk ? risk : "none");
        ck_assert_msg(!risk || strncmp(risk, cases[i].risk, strlen(cases[i].risk)) == 0, "%s: %s",
                      cases[i].block, risk);
    }
}
END_TEST

START_TEST(compares)
{
    static const struct {
        const char *a, *b;
        bool is_equal;
    } cases[] = {
        {"1.2.3.4", "1.2.3.4", true},  {"1.2.3.4", "::ffff:1.2.3.4", true},
        {"1.2.3.4", "1.2.3.5", false}, {"::1", "::1", true},
        {"::1", "::2", false},         {"0.0.0.0", "::", false},
        {"::1", "0.0.0.1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct address a = address_of(cases[i].a), b = address_of(cases[i].b);
        ck_assert_msg(address_equal(&a, &b) == cases[i].is_equal, "%s %s", cases[i].a, cases[i].b);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("address");
    TCase *tests = tcase_create("address");
    tcase_add_test(tests, parses_strictly);
    tcase_add_test(tests, parses_loosely_what_resolvers_take);
    tcase_add_test(tests, knows_public_addresses);
    tcase_add_test(tests, blocks_have_their_addresses);
    tcase_add_test(tests, names_the_risk_of_wide_blocks);
    tcase_add_test(tests, compares);
    suite_add_tcase(suite, tests);
    return suite;
}
