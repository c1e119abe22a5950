#include "io/http/client_private.h"

#include <stdio.h>

#include "base/buffer.h"
#include "support/suite.h"

static const struct {
    const char *url, *authority, *target; /* authority NULL: the request must be sent by libcurl */
} cases[] = {
    {"http://a", "a", "/"},
    {"http://a/", "a", "/"},
    {"http://hooks.example.com:8080/a/../b?c=d&e", "hooks.example.com:8080", "/a/../b?c=d&e"},
    {"http://10.0.0.1/x", "10.0.0.1", "/x"},
    {"http://a:80/", "a:80", "/"},
    {"http://a:65535/", "a:65535", "/"},
    {"https://a/", "a", "/"},
    {"https://a:443/b?c", "a:443", "/b?c"},
    {"http://a/%20%C3%A4\"<>{}|^`", "a", "/%20%C3%A4\"<>{}|^`"},
    /* libcurl may write these urls differently in a request */
    {"http://a-b.1c/", NULL, NULL},
    {"HTTPS://a/", NULL, NULL},
    {"https://A/", NULL, NULL},
    {"https:/a/", NULL, NULL},
    {"HTTP://a/", NULL, NULL},
    {"http://A/", NULL, NULL},
    {"http://a?b", NULL, NULL},
    {"http://a#b", NULL, NULL},
    {"http://a/#b", NULL, NULL},
    {"http://a/b c", NULL, NULL},
    {"http://a/\xc3\xa4", NULL, NULL},
    {"http://\xc3\xa4/", NULL, NULL},
    {"http://u@a/", NULL, NULL},
    {"http://u:p@a/", NULL, NULL},
    {"http://[::1]/", NULL, NULL},
    {"http://a_b/", NULL, NULL},
    {"http://a./", NULL, NULL},
    {"http://.a/", NULL, NULL},
    {"http:///", NULL, NULL},
    {"http://", NULL, NULL},
    {"http://a:/", NULL, NULL},
    {"http://a:0/", NULL, NULL},
    {"http://a:080/", NULL, NULL},
    {"http://a:65536/", NULL, NULL},
    {"http://a:8x/", NULL, NULL},
    {"http://a:80:80/", NULL, NULL},
    {"http://127.1/", NULL, NULL},
    {"http://127.0.0.01/", NULL, NULL},
    {"http://127.0.0.256/", NULL, NULL},
    {"http://127.0.0.1.1/", NULL, NULL},
    {"http://0x7f000001/", NULL, NULL},
    {"http://0x7f.1/", NULL, NULL},
    {"http://2130706433/", NULL, NULL},
    {"http://a%2eb/", NULL, NULL},
};

START_TEST(only_urls_with_one_spelling_are_split)
{
    struct http_plain_url parts;
    bool is_split = http_plain_url_split(slice_of(cases[_i].url), &parts);
    ck_assert_int_eq(is_split, cases[_i].authority != NULL);
    if (!is_split)
        return;
    ck_assert(slice_equal(parts.authority, slice_of(cases[_i].authority)));
    ck_assert(slice_equal(parts.target, slice_of(cases[_i].target)));
    ck_assert(slice_starts_with(slice_of(cases[_i].url), parts.origin));
    ck_assert(slice_ends_with(parts.origin, parts.authority));
    ck_assert_int_eq(parts.is_tls, slice_starts_with(parts.origin, SLICE("https://")));
}
END_TEST

static void ck_host(const char *url, const char *host)
{
    struct http_plain_url parts;
    struct buffer head;
    char wanted[100];
    const struct http_call_request request = {.method = HTTP_METHOD_GET};
    buffer_init(&head, 1000);
    ck_assert(http_plain_url_split(slice_of(url), &parts));
    http_plain_head_write(&head, &request, &parts);
    snprintf(wanted, sizeof wanted, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", host);
    ck_assert(slice_equal(buffer_slice(&head), slice_of(wanted)));
    buffer_fini(&head);
}

START_TEST(the_default_port_of_the_scheme_is_left_out)
{
    ck_host("http://a:80/", "a");
    ck_host("http://a:443/", "a:443");
    ck_host("https://a:443/", "a");
    ck_host("https://a:80/", "a:80");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("http_plain_head");
    TCase *tests = tcase_create("http_plain_head");
    tcase_add_loop_test(tests, only_urls_with_one_spelling_are_split, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, the_default_port_of_the_scheme_is_left_out);
    suite_add_tcase(suite, tests);
    return suite;
}
