#include "io/redis/discovery.h"
#include "support/suite.h"

START_TEST(moved_names_a_slot_and_a_place)
{
    static const struct {
        const char *text;
        unsigned slot;
        const char *host;
        unsigned port;
    } cases[] = {
        {"MOVED 3999 127.0.0.1:6381", 3999, "127.0.0.1", 6381},
        {"MOVED 0 redis-2.example:1", 0, "redis-2.example", 1},
        {"MOVED 16383 2001:db8::1:7000", 16383, "2001:db8::1", 7000},
        {"MOVED 5 :7000", 5, "", 7000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t slot;
        struct redis_node node;
        ck_assert_msg(cluster_moved_parse(slice_of(cases[i].text), &slot, &node), "%s", cases[i].text);
        ck_assert_uint_eq(slot, cases[i].slot);
        ck_assert_str_eq(node.host, cases[i].host);
        ck_assert_uint_eq(node.port, cases[i].port);
    }
}
END_TEST

START_TEST(others_are_none)
{
    static const char *const cases[] = {
        "",
        "MOVED",
        "MOVED 5",
        "MOVED 5 host",
        "MOVED 16384 h:1",
        "MOVED x h:1",
        "MOVED 5 h:0",
        "MOVED 5 h:65536",
        "MOVED 5 h:",
        "ASK 5 127.0.0.1:6381",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t slot;
        struct redis_node node;
        ck_assert_msg(!cluster_moved_parse(slice_of(cases[i]), &slot, &node), "%s", cases[i]);
    }
}
END_TEST

START_TEST(a_host_too_long_is_none)
{
    char text[REDIS_HOST_MAX + 32] = "MOVED 5 ";
    uint16_t slot;
    struct redis_node node;
    memset(text + 8, 'a', REDIS_HOST_MAX);
    strcpy(text + 8 + REDIS_HOST_MAX, ":1");
    ck_assert(!cluster_moved_parse(slice_of(text), &slot, &node));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("cluster");
    TCase *tests = tcase_create("cluster");
    tcase_add_test(tests, moved_names_a_slot_and_a_place);
    tcase_add_test(tests, others_are_none);
    tcase_add_test(tests, a_host_too_long_is_none);
    suite_add_tcase(suite, tests);
    return suite;
}
