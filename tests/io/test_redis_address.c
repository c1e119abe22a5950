#include "io/redis/redis.h"
#include "support/suite.h"

static struct redis_address address;
static struct problem problem;

static void parse(const char *text)
{
    ck_assert_msg(redis_address_parse(slice_of(text), &address, &problem) == STATUS_OK, "%s: %s", text,
                  problem.text);
}

static void check_seed(size_t index, const char *host, uint16_t port)
{
    ck_assert_str_eq(address.seeds[index].host, host);
    ck_assert_uint_eq(address.seeds[index].port, port);
}

static void check_password(struct secret *password, const char *text)
{
    char *copy = secret_copy(password);
    ck_assert_str_eq(copy, text);
    secret_free_copy(copy);
}

START_TEST(one_redis)
{
    parse("redis://u:p@w@[::1]:7000/3");
    ck_assert_str_eq(address.host, "::1");
    ck_assert_uint_eq(address.port, 7000);
    ck_assert_str_eq(address.user, "u");
    check_password(address.password, "p@w");
    ck_assert_uint_eq(address.database, 3);
    ck_assert(!address.is_cluster && address.seed_count == 0);
    redis_address_fini(&address);
}
END_TEST

START_TEST(sentinels)
{
    parse("sentinel://a,b:5/main");
    ck_assert(!address.is_cluster && address.seed_count == 2 && !address.host);
    ck_assert_str_eq(address.service, "main");
    check_seed(0, "a", 26379);
    check_seed(1, "b", 5);
    redis_address_fini(&address);
}
END_TEST

START_TEST(nodes_of_a_cluster)
{
    parse("cluster://:secret@a,10.0.0.1:7001,[2001:db8::1]:7002");
    ck_assert(address.is_cluster && address.seed_count == 3 && !address.host && !address.service);
    ck_assert_ptr_null(address.user);
    check_password(address.password, "secret");
    check_seed(0, "a", 6379);
    check_seed(1, "10.0.0.1", 7001);
    check_seed(2, "2001:db8::1", 7002);
    redis_address_fini(&address);
}
END_TEST

START_TEST(schemes_with_tls)
{
    static const struct {
        const char *text;
        bool has_tls;
    } cases[] = {
        {"redis://a", false},         {"rediss://a", true},     {"sentinel://a/main", false},
        {"sentinels://a/main", true}, {"cluster://a,b", false}, {"clusters://a,b", true},
        {"unix:/a", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parse(cases[i].text);
        ck_assert_msg(address.has_tls == cases[i].has_tls, "%s", cases[i].text);
        redis_address_fini(&address);
    }
}
END_TEST

START_TEST(others_are_refused_without_the_password)
{
    static const char *const cases[] = {
        "cluster://",
        "cluster://:pass@",
        "cluster://:pass@a/0",
        "cluster://a/",
        "cluster://a,:7000",
        "cluster://:pass@a:0",
        "cluster://:pass@a:65536",
        "cluster://[::1",
        "sentinel://a",
        "redis://:pass@",
        "redisss://:pass@a",
        "unixs:/a",
        "rediss:a",
        "clusters://:pass@a/0",
        "http://:pass@a",
        "",
        "cluster://1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(redis_address_parse(slice_of(cases[i]), &address, &problem) == STATUS_INVALID, "%s",
                      cases[i]);
        ck_assert(!strstr(problem.text, "pass"));
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("redis_address");
    TCase *tests = tcase_create("redis_address");
    tcase_add_test(tests, one_redis);
    tcase_add_test(tests, sentinels);
    tcase_add_test(tests, nodes_of_a_cluster);
    tcase_add_test(tests, schemes_with_tls);
    tcase_add_test(tests, others_are_refused_without_the_password);
    suite_add_tcase(suite, tests);
    return suite;
}
