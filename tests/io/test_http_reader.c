#include "io/http/reader.h"

#include "support/suite.h"

/* The result of reading an answer: the body, and how the answer ended. */
struct found {
    struct buffer body;
    enum http_read end; /* MORE: the reader has read all bytes and expects more */
    bool is_last, may_close;
    int status;
    size_t left;
};

static void read_all(const char *answer, size_t piece_size, bool is_answer_to_head, struct found *found)
{
    struct http_reader reader;
    struct slice rest = slice_of(answer), part;
    *found = (struct found){.end = HTTP_READ_MORE};
    buffer_init(&found->body, 1024 * 1024);
    http_reader_begin(&reader, is_answer_to_head);
    do {
        struct slice piece = slice_from(rest.data, rest.size < piece_size ? rest.size : piece_size);
        size_t size = piece.size;
        do {
            found->end = http_reader_next(&reader, &piece, &part);
            if (found->end == HTTP_READ_BODY)
                buffer_append(&found->body, part);
        } while (found->end == HTTP_READ_STATUS || found->end == HTTP_READ_LINE ||
                 found->end == HTTP_READ_BODY);
        rest = slice_skip(rest, size - piece.size);
    } while (rest.size && found->end == HTTP_READ_MORE);
    found->is_last = reader.is_last;
    found->may_close = http_reader_may_close(&reader);
    found->status = reader.status;
    found->left = rest.size;
    http_reader_fini(&reader);
}

#define OK      "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

enum how { WHOLE, LAST, OPEN, CUT, BAD };

/* WHOLE: the answer is complete, and the connection may be used again. LAST: the answer is complete, and the
 * connection may not be used again. OPEN: the body ends with the connection. CUT: more bytes are expected. */
static const struct {
    const char *answer, *body;
    int status;
    enum how how;
} cases[] = {
    {OK "Content-Length: 2\r\n\r\nok", "ok", 200, WHOLE},
    {OK "content-length:2 \r\n\r\nok", "ok", 200, WHOLE},
    {OK "Content-Length: 0\r\n\r\n", "", 200, WHOLE},
    {OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", "ok", 200, LAST},
    {OK "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok", "", 200, BAD},
    {OK "Content-Length: +2\r\n\r\nok", "", 200, BAD},
    {OK "Content-Length: \r\n\r\nok", "", 200, BAD},
    {OK "Content-Length: 2, 2\r\n\r\nok", "ok", 200, LAST},
    {OK "Content-Length: 2,2 ,\t2\r\n\r\nok", "ok", 200, LAST},
    {OK "Content-Length: 2, 3\r\n\r\nok", "", 200, BAD},
    {OK "Content-Length: 2,\r\n\r\nok", "", 200, BAD},
    {OK "Content-Length: ,2\r\n\r\nok", "", 200, BAD},
    {OK "Content-Length: 18446744073709551616\r\n\r\nok", "ok", 200, CUT},
    {OK "Content-Length: 3\r\n\r\nok", "ok", 200, CUT},
    {OK "Content-Length : 3\r\n\r\nok", "ok", 200, OPEN},
    {OK "Connection: close\r\nContent-Length: 2\r\n\r\nok", "ok", 200, LAST},
    {OK "Connection: x, Close\r\nContent-Length: 2\r\n\r\nok", "ok", 200, LAST},
    {OK "Connection: keep-alive, closed\r\nContent-Length: 2\r\n\r\nok", "ok", 200, WHOLE},
    {OK "X: a\r\n b\r\nContent-Length: 2\r\n\r\nok", "ok", 200, LAST},
    {OK "no colon\r\nContent-Length: 2\r\n\r\nok", "ok", 200, LAST},
    {OK "\r\nok", "ok", 200, OPEN},
    {"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "ok", 200, WHOLE},
    {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", 200, LAST},
    {"HTTP/1.0 200 OK\r\n\r\nok", "ok", 200, OPEN},
    {"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", "ok", 200, WHOLE},
    {"HTTP/1.1 204 No\r\n\r\n", "", 204, WHOLE},
    {"HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n", "", 204, WHOLE},
    {"HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\n", "", 204, LAST},
    {"HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", "", 204, LAST},
    {"HTTP/1.1 304 No\r\n\r\n", "", 304, WHOLE},
    {"HTTP/1.1 304 No\r\nContent-Length: 2\r\n\r\n", "", 304, LAST},
    {"HTTP/1.1 304 No\r\nTransfer-Encoding: gzip\r\n\r\n", "", 304, LAST},
    {"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", "", 999, WHOLE},
    {"HTTP/1.1 100 Go\r\nContent-Length: 5\r\n\r\n" OK "Content-Length: 2\r\n\r\nok", "ok", 200, WHOLE},
    {"HTTP/1.1 103 Hints\r\n\r\n", "", 103, CUT},
    {"HTTP/1.1 101 Switch\r\n\r\n", "", 0, BAD},
    {"HTTP/1.1 99 No\r\n\r\n", "", 0, BAD},
    {"HTTP/1.1 2000 No\r\n\r\n", "", 0, BAD},
    {"HTTP/1.1 \t 200 Odd\r\nContent-Length: 0\r\n\r\n", "", 200, LAST},
    {"HTTP/1.1 200Odd\r\nContent-Length: 0\r\n\r\n", "", 200, LAST},
    {"HTTP/1.1 200\tOdd\r\nContent-Length: 0\r\n\r\n", "", 200, LAST},
    {"HTTP/2 200\r\nContent-Length: 0\r\n\r\n", "", 200, LAST},
    {"HTTP/2.0 200 Odd\r\nContent-Length: 0\r\n\r\n", "", 200, LAST},
    {"HTTP/1.1\t200 No\r\n\r\n", "", 0, BAD},
    {"HTTP/1.1 \r\n\r\n", "", 0, BAD},
    {"HTTP/1.1 +20 No\r\n\r\n", "", 0, BAD},
    {"HTTP/1.2 200 No\r\n\r\n", "", 0, BAD},
    {"HTTP/3 200\r\n\r\n", "", 0, BAD},
    {"http/1.1 200 No\r\n\r\n", "", 0, BAD},
    {"\r\n" OK "\r\n", "", 0, BAD},
    {"SSH-2.0", "", 0, BAD},
    {"HTTP/", "", 0, CUT},
    {CHUNKED "2\r\nok\r\n0\r\n\r\n", "ok", 200, WHOLE},
    {CHUNKED "2\r\nok\r\n1;a=\"b\"\r\n!\r\n000\r\nTrailer: x\r\n\r\n", "ok!", 200, WHOLE},
    {CHUNKED "A\r\n0123456789\r\n0\r\n\r\n", "0123456789", 200, WHOLE},
    {CHUNKED "2 \r\nok\r\n0\r\n\r\n", "ok", 200, WHOLE},
    {CHUNKED "2\r\nok\r\n0\r\n", "ok", 200, CUT},
    {CHUNKED "2\r\nok", "ok", 200, CUT},
    {CHUNKED "2\r\nok!\r\n", "ok", 200, BAD},
    {CHUNKED "2x\r\nok\r\n", "", 200, BAD},
    {CHUNKED "\r\n", "", 200, BAD},
    {CHUNKED "-1\r\n", "", 200, BAD},
    {CHUNKED "0x2\r\nok\r\n", "", 200, BAD},
    {CHUNKED "1000000000000000\r\n", "", 200, BAD},
    {OK "Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok", 200, LAST},
    {OK "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok", 200, WHOLE},
    {OK "Transfer-Encoding: chunked, gzip\r\n\r\nok", "ok", 200, OPEN},
    {OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\nok", "ok", 200, OPEN},
    {OK "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok", "ok", 200, WHOLE},
    {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok", 200, LAST},
};

static void ck_found(const struct found *found, const char *body, int status, enum how how)
{
    static const enum http_read ends[] = {
        [WHOLE] = HTTP_READ_END, [LAST] = HTTP_READ_END, [OPEN] = HTTP_READ_MORE,
        [CUT] = HTTP_READ_MORE,  [BAD] = HTTP_READ_BAD,
    };
    ck_assert_int_eq(found->end, ends[how]);
    ck_assert_int_eq(found->status, status);
    ck_assert_msg(slice_equal(buffer_slice(&found->body), slice_of(body)), "%.*s",
                  SLICE_ARG(buffer_slice(&found->body)));
    ck_assert_int_eq(found->may_close, how == OPEN);
    if (found->end == HTTP_READ_END)
        ck_assert_int_eq(found->is_last, how == LAST);
}

START_TEST(reads_an_answer_in_pieces_of_any_size)
{
    for (size_t size = 1; size <= strlen(cases[_i].answer); size++) {
        struct found found;
        read_all(cases[_i].answer, size, false, &found);
        ck_found(&found, cases[_i].body, cases[_i].status, cases[_i].how);
        buffer_fini(&found.body);
    }
}
END_TEST

START_TEST(an_answer_to_head_has_no_body)
{
    struct found found;
    read_all(OK "Content-Length: 2\r\n\r\n", 7, true, &found);
    ck_found(&found, "", 200, LAST);
    buffer_fini(&found.body);
    read_all(OK "\r\n", 7, true, &found);
    ck_found(&found, "", 200, WHOLE);
    buffer_fini(&found.body);
}
END_TEST

START_TEST(bytes_behind_an_answer_are_left)
{
    struct found found;
    read_all(OK "Content-Length: 2\r\n\r\nok" OK, SIZE_MAX, false, &found);
    ck_found(&found, "ok", 200, WHOLE);
    ck_assert_uint_eq(found.left, strlen(OK));
    buffer_fini(&found.body);
}
END_TEST

/* Passes begin to the reader, and then text again and again, until the reader refuses the answer. Returns the
 * number of bytes that the reader took. */
static size_t bytes_until_long(const char *begin, const char *text)
{
    struct http_reader reader;
    struct slice bytes = slice_of(begin), part;
    size_t total = 0;
    http_reader_begin(&reader, false);
    for (;;) {
        total += bytes.size;
        ck_assert_uint_lt(total, 16 * 1024 * 1024);
        enum http_read read;
        do
            read = http_reader_next(&reader, &bytes, &part);
        while (read == HTTP_READ_STATUS || read == HTTP_READ_LINE || read == HTTP_READ_BODY);
        if (read != HTTP_READ_MORE) {
            ck_assert_int_eq(read, HTTP_READ_LONG);
            break;
        }
        bytes = slice_of(text);
    }
    http_reader_fini(&reader);
    return total;
}

START_TEST(nothing_is_endless)
{
    ck_assert_uint_le(bytes_until_long(OK "X: ", "0123456789abcdef"), HTTP_READER_LINE_MAX + 64);
    ck_assert_uint_le(bytes_until_long("HTTP/1.1 200 ", "0123456789abcdef"), HTTP_READER_LINE_MAX + 64);
    ck_assert_uint_le(bytes_until_long(CHUNKED "1;", "0123456789abcdef"), HTTP_READER_LINE_MAX + 128);
    ck_assert_uint_le(bytes_until_long(CHUNKED, "1;extension\r\nx\r\n"), 2 * HTTP_READER_OVERHEAD_MAX);
    ck_assert_uint_le(bytes_until_long(CHUNKED "0\r\nX: ", "0123456789abcdef"), HTTP_READER_LINE_MAX + 128);
}
END_TEST

START_TEST(a_nul_is_no_part_of_a_head)
{
    struct http_reader reader;
    struct slice bytes = slice_from(OK "X: \0\r\n", strlen(OK) + 6), part;
    http_reader_begin(&reader, false);
    ck_assert_int_eq(http_reader_next(&reader, &bytes, &part), HTTP_READ_STATUS);
    ck_assert_int_eq(http_reader_next(&reader, &bytes, &part), HTTP_READ_BAD);
    http_reader_fini(&reader);
}
END_TEST

/* The maximum of the buffer stands for the end of the memory. */
START_TEST(a_lack_of_memory_is_not_a_long_line)
{
    struct http_reader reader;
    struct slice bytes = SLICE(OK "X: the beginning of a line"), part;
    http_reader_begin(&reader, false);
    reader.line.max = 10;
    ck_assert_int_eq(http_reader_next(&reader, &bytes, &part), HTTP_READ_STATUS);
    ck_assert_int_eq(http_reader_next(&reader, &bytes, &part), HTTP_READ_NO_MEMORY);
    http_reader_fini(&reader);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("http_reader");
    TCase *tests = tcase_create("http_reader");
    tcase_add_loop_test(tests, reads_an_answer_in_pieces_of_any_size, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, an_answer_to_head_has_no_body);
    tcase_add_test(tests, bytes_behind_an_answer_are_left);
    tcase_add_test(tests, nothing_is_endless);
    tcase_add_test(tests, a_nul_is_no_part_of_a_head);
    tcase_add_test(tests, a_lack_of_memory_is_not_a_long_line);
    suite_add_tcase(suite, tests);
    return suite;
}
