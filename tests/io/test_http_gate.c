#include "io/http/gate.h"

#include "support/suite.h"

#define HEADERS_MAX 4

static const struct gate_case {
    const char *method, *target, *version;
    struct http_header headers[HEADERS_MAX];
    const char *why; /* part of the reason for the refusal; NULL: the head is accepted */
} cases[] = {
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}}, NULL},
    {"GET", "/", "HTTP/1.0", {{SLICE("X"), SLICE("y")}}, NULL},
    {"GET", "/?a=b%20c", "HTTP/1.1", {{SLICE("hOST"), SLICE("")}}, NULL},
    {"POST", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}, {SLICE("Content-Length"), SLICE("5")}}, NULL},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")}, {SLICE("Transfer-Encoding"), SLICE("Chunked")}},
     NULL},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}, {SLICE("X"), SLICE("tab\tand \xc3\xa4")}}, NULL},

    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("a-b.example:8080")}}, NULL},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("[::1]:7700")}}, NULL},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("[::ffff:127.0.0.1]")}}, NULL},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("x ")}}, NULL},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("a b")}}, "not a valid host"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("a/b")}}, "not a valid host"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("u@a")}}, "not a valid host"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("a:8x")}}, "not a valid host"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("a:1:2")}}, "not a valid host"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("[::1")}}, "not a valid host"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("[::1]x")}}, "not a valid host"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("[a b]")}}, "not a valid host"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("\xc3\xa4")}}, "not a valid host"},

    {"BREW", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}}, "unknown method"},
    {"get", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}}, "unknown method"},
    {"GET", "/", "HTTP/1.2", {{SLICE("Host"), SLICE("x")}}, "version"},
    {"GET", "/", "HTTP/2.0", {{SLICE("Host"), SLICE("x")}}, "version"},
    {"GET", "", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}}, "target"},
    {"GET", "/a b", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}}, "target"},
    {"GET", "/a\x7f", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}}, "target"},
    {"GET", "/", "HTTP/1.1", {{SLICE("X"), SLICE("y")}}, "no Host"},
    {"GET",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")}, {SLICE("host"), SLICE("x")}},
     "more than one Host"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host "), SLICE("x")}}, "not a token"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}, {SLICE("a(b"), SLICE("x")}}, "not a token"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}, {SLICE("a"), SLICE("x\ry")}}, "control byte"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}, {SLICE("a"), SLICE("x\0y")}}, "control byte"},
    {"GET", "/", "HTTP/1.1", {{SLICE("Host"), SLICE("x")}, {SLICE("a"), SLICE("x\x7f")}}, "control byte"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")},
      {SLICE("Content-Length"), SLICE("5")},
      {SLICE("content-length"), SLICE("5")}},
     "more than one Content-Length"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")},
      {SLICE("Transfer-Encoding"), SLICE("chunked")},
      {SLICE("Transfer-Encoding"), SLICE("chunked")}},
     "more than one Transfer-Encoding"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")},
      {SLICE("Authorization"), SLICE("a")},
      {SLICE("Authorization"), SLICE("b")}},
     "more than one Authorization"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")}, {SLICE("Content-Type"), SLICE("a")}, {SLICE("Content-Type"), SLICE("b")}},
     "more than one Content-Type"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")},
      {SLICE("Idempotency-Key"), SLICE("a")},
      {SLICE("Idempotency-Key"), SLICE("b")}},
     "more than one Idempotency-Key"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")},
      {SLICE("Content-Length"), SLICE("5")},
      {SLICE("Transfer-Encoding"), SLICE("chunked")}},
     "both"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")}, {SLICE("Transfer-Encoding"), SLICE("gzip, chunked")}},
     "not chunked"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")}, {SLICE("Transfer-Encoding"), SLICE("chunked ")}},
     "not chunked"},
    {"POST", "/", "HTTP/1.0", {{SLICE("Transfer-Encoding"), SLICE("chunked")}}, "HTTP/1.0"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")}, {SLICE("Content-Length"), SLICE("+5")}},
     "not a number"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")}, {SLICE("Content-Length"), SLICE("5, 5")}},
     "not a number"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")}, {SLICE("Content-Length"), SLICE("")}},
     "not a number"},
    {"POST",
     "/",
     "HTTP/1.1",
     {{SLICE("Host"), SLICE("x")}, {SLICE("Content-Length"), SLICE("18446744073709551616")}},
     "not a number"},
};

START_TEST(gate_passes_what_is_sound_and_says_why_it_refuses)
{
    const struct gate_case *c = &cases[_i];
    struct http_head head = {slice_of(c->method), slice_of(c->target), slice_of(c->version), c->headers, 0};
    struct http_framing framing;
    while (head.header_count < HEADERS_MAX && c->headers[head.header_count].name.data)
        head.header_count++;
    const char *why = http_gate_check(&head, &framing);
    if (c->why) {
        ck_assert_ptr_nonnull(why);
        ck_assert_msg(strstr(why, c->why), "%s", why);
    } else {
        ck_assert_msg(!why, "%s", why);
    }
}
END_TEST

START_TEST(gate_tells_the_framing_of_the_body)
{
    const struct http_header length[] = {{SLICE("Host"), SLICE("x")},
                                         {SLICE("content-length"), SLICE("0017")}};
    const struct http_header coding[] = {{SLICE("Host"), SLICE("x")},
                                         {SLICE("transfer-encoding"), SLICE("chunked")}};
    struct http_head head = {SLICE("POST"), SLICE("/"), SLICE("HTTP/1.1"), length, 2};
    struct http_framing framing;
    ck_assert_ptr_null(http_gate_check(&head, &framing));
    ck_assert_uint_eq(framing.content_length, 17);
    ck_assert(!framing.is_chunked);
    head.headers = coding;
    ck_assert_ptr_null(http_gate_check(&head, &framing));
    ck_assert_uint_eq(framing.content_length, 0);
    ck_assert(framing.is_chunked);
    head.header_count = 1;
    ck_assert_ptr_null(http_gate_check(&head, &framing));
    ck_assert(!framing.is_chunked);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("http_gate");
    TCase *tc = tcase_create("gate");
    tcase_add_loop_test(tc, gate_passes_what_is_sound_and_says_why_it_refuses, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tc, gate_tells_the_framing_of_the_body);
    suite_add_tcase(s, tc);
    return s;
}
