#include "support/suite.h"

#include "job/target/receiver.h"

START_TEST(one_receiver_has_one_name)
{
    static const char *const cases[][2] = {
        {"http://example.com", "example.com:80"},
        {"https://Example.COM./a?b", "example.com:443"},
        {"http://h:00080/", "h:80"},
        {"http://127.1:81/", "127.0.0.1:81"},
        {"http://0x7f000001", "127.0.0.1:80"},
        {"https://[0:0::1]:8443/x", "[::1]:8443"},
        {"http://[2001:DB8::A]/", "[2001:db8::a]:80"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[RECEIVER_HOST_SIZE];
        struct url url;
        const char *detail;
        ck_assert_int_eq(url_parse(slice_of(cases[i][0]), &url, &detail), STATUS_OK);
        receiver_name(&url, name);
        ck_assert_str_eq(name, cases[i][1]);
    }
}
END_TEST

START_TEST(the_longest_host_has_a_name)
{
    char text[400] = "http://", name[RECEIVER_HOST_SIZE];
    struct url url;
    const char *detail;
    for (int i = 0; i < 253; i++)
        strcat(text, i % 64 == 63 ? "." : "A");
    strcat(text, ".:65535");
    ck_assert_int_eq(url_parse(slice_of(text), &url, &detail), STATUS_OK);
    receiver_name(&url, name);
    ck_assert_uint_eq(strlen(name), 253 + 6);
    ck_assert_str_eq(name + 250, "aaa:65535");
    ck_assert(receiver_name_parse(slice_of(name), name));
}
END_TEST

START_TEST(a_receiver_is_called_by_host_and_port)
{
    static const struct {
        const char *spelt, *name; /* NULL: the text is not the name of a receiver */
    } cases[] = {
        {"example.com:80", "example.com:80"},
        {"Example.com.:443", "example.com:443"},
        {"127.1:9", "127.0.0.1:9"},
        {"[::1]:9", "[::1]:9"},
        {"[0::1]:9", "[::1]:9"},
        {"", NULL},
        {":80", NULL},
        {"h", NULL},
        {"h:", NULL},
        {"h:0", NULL},
        {"h:65536", NULL},
        {"h:8x", NULL},
        {"h h:80", NULL},
        {"u@h:80", NULL},
        {"h/:80", NULL},
        {"h?:80", NULL},
        {"::1:80", NULL},
        {"[::1]", NULL},
        {"[::1", NULL},
        {"[::1:80", NULL},
        {"http://h:80", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[RECEIVER_HOST_SIZE];
        bool is_one = receiver_name_parse(slice_of(cases[i].spelt), name);
        ck_assert_msg(is_one == (cases[i].name != NULL), "%s", cases[i].spelt);
        if (is_one)
            ck_assert_str_eq(name, cases[i].name);
    }
}
END_TEST

START_TEST(a_path_has_a_name_of_its_own)
{
    static const char *const cases[][2] = {
        {"http://example.com", "example.com:80/"},
        {"http://example.com?a=b", "example.com:80/"},
        {"https://Example.COM./A/b?c=/d", "example.com:443/A/b"},
        {"https://[0:0::1]:8443//x", "[::1]:8443//x"},
    };
    char name[RECEIVER_NAME_SIZE], text[400] = "http://h/", other[RECEIVER_NAME_SIZE];
    struct url url;
    const char *detail;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(url_parse(slice_of(cases[i][0]), &url, &detail), STATUS_OK);
        receiver_path_name(&url, name);
        ck_assert_str_eq(name, cases[i][1]);
    }
    ck_assert(slice_equal(receiver_host_of(slice_of(name)), SLICE("[::1]:8443")));
    ck_assert(slice_equal(receiver_path_of(slice_of(name)), SLICE("//x")));
    ck_assert_uint_eq(receiver_path_of(SLICE("h:80")).size, 0);
    memset(text + 9, 'p', 200);
    ck_assert_int_eq(url_parse(slice_of(text), &url, &detail), STATUS_OK);
    receiver_path_name(&url, name);
    ck_assert_uint_eq(strlen(name), 4 + RECEIVER_PATH_MAX + 17);
    text[208] = 'q';
    ck_assert_int_eq(url_parse(slice_of(text), &url, &detail), STATUS_OK);
    receiver_path_name(&url, other);
    ck_assert_str_ne(name, other);
    ck_assert_int_eq(strncmp(name, other, 4 + RECEIVER_PATH_MAX), 0);
}
END_TEST

START_TEST(an_attempt_tells_how_its_receiver_and_its_path_are)
{
    static const struct {
        int status;
        enum failure error;
        bool was_sent;
        enum receiver_health health, path;
        bool is_overloaded;
        const char *cause;
    } cases[] = {
        {200, 0, true, RECEIVER_HEALTHY, RECEIVER_HEALTHY, false, "200"},
        {301, 0, true, RECEIVER_HEALTHY, RECEIVER_HEALTHY, false, "301"},
        {404, 0, true, RECEIVER_HEALTHY, RECEIVER_HEALTHY, false, "404"},
        {429, 0, true, RECEIVER_HEALTHY, RECEIVER_HEALTHY, true, "429"},
        {500, 0, true, RECEIVER_HEALTHY, RECEIVER_HEALTHY, false, "500"},
        {501, 0, true, RECEIVER_HEALTHY, RECEIVER_HEALTHY, false, "501"},
        {502, 0, true, RECEIVER_HEALTHY, RECEIVER_FAILING, true, "502"},
        {503, 0, true, RECEIVER_HEALTHY, RECEIVER_FAILING, false, "503"},
        {504, 0, true, RECEIVER_HEALTHY, RECEIVER_FAILING, true, "504"},
        {505, 0, true, RECEIVER_HEALTHY, RECEIVER_HEALTHY, false, "505"},
        {0, FAILURE_DNS, false, RECEIVER_INCONCLUSIVE, RECEIVER_INCONCLUSIVE, false, "dns"},
        {0, FAILURE_CONNECT, false, RECEIVER_FAILING, RECEIVER_INCONCLUSIVE, false, "connect"},
        {0, FAILURE_TLS, false, RECEIVER_FAILING, RECEIVER_INCONCLUSIVE, false, "tls"},
        {0, FAILURE_TIMEOUT, false, RECEIVER_FAILING, RECEIVER_INCONCLUSIVE, false, "timeout"},
        {0, FAILURE_TIMEOUT, true, RECEIVER_INCONCLUSIVE, RECEIVER_FAILING, false, "timeout"},
        {429, FAILURE_RESET, false, RECEIVER_FAILING, RECEIVER_INCONCLUSIVE, false, "reset"},
        {429, FAILURE_RESET, true, RECEIVER_INCONCLUSIVE, RECEIVER_FAILING, false, "reset"},
        {0, FAILURE_TARGET_REFUSED, false, RECEIVER_INCONCLUSIVE, RECEIVER_INCONCLUSIVE, false,
         "target_refused"},
        {0, FAILURE_ANSWER_TOO_LARGE, true, RECEIVER_HEALTHY, RECEIVER_HEALTHY, false, "answer_too_large"},
        {0, FAILURE_PROTOCOL, true, RECEIVER_HEALTHY, RECEIVER_HEALTHY, false, "protocol"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct attempt_result result = {.status = cases[i].status,
                                        .error = cases[i].error,
                                        .was_sent = cases[i].was_sent,
                                        .duration_ms = 1000};
        char cause[RECEIVER_CAUSE_SIZE];
        receiver_cause(&result, cause);
        ck_assert_str_eq(cause, cases[i].cause);
        ck_assert_int_eq(receiver_health(&result), cases[i].health);
        ck_assert_int_eq(receiver_path_health(&result), cases[i].path);
        ck_assert_int_eq(receiver_is_overloaded(&result), cases[i].is_overloaded);
    }
    struct attempt_result idle = {.error = FAILURE_RESET, .was_sent = true, .is_idle_closed = true};
    ck_assert_int_eq(receiver_path_health(&idle), RECEIVER_INCONCLUSIVE);
    ck_assert_int_eq(receiver_health(&idle), RECEIVER_INCONCLUSIVE);
}
END_TEST

START_TEST(a_timeout_of_less_than_a_second_tells_nothing)
{
    struct attempt_result result = {.error = FAILURE_TIMEOUT, .duration_ms = 1000};
    ck_assert_int_eq(receiver_health(&result), RECEIVER_FAILING);
    result.duration_ms = 899;
    ck_assert_int_eq(receiver_health(&result), RECEIVER_INCONCLUSIVE);
    result.error = FAILURE_RESET;
    ck_assert_int_eq(receiver_health(&result), RECEIVER_FAILING);
}
END_TEST

START_TEST(many_jobs_are_held_longer_the_longer_their_receiver_is_away)
{
    static const int64_t cases[][2] = {
        {-5, 33750},       {0, 33750},        {135000, 33750},    {136000, 34000},     {1200000, 300000},
        {2400000, 600000}, {2400004, 600000}, {86400000, 600000}, {INT64_MAX, 600000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(receiver_row_ms(cases[i][0]), cases[i][1]);
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("receiver");
    TCase *tests = tcase_create("receiver");
    tcase_add_test(tests, one_receiver_has_one_name);
    tcase_add_test(tests, the_longest_host_has_a_name);
    tcase_add_test(tests, a_receiver_is_called_by_host_and_port);
    tcase_add_test(tests, a_path_has_a_name_of_its_own);
    tcase_add_test(tests, an_attempt_tells_how_its_receiver_and_its_path_are);
    tcase_add_test(tests, a_timeout_of_less_than_a_second_tells_nothing);
    tcase_add_test(tests, many_jobs_are_held_longer_the_longer_their_receiver_is_away);
    suite_add_tcase(all, tests);
    return all;
}
