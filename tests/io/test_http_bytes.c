#include "io/http/bytes.h"

#include <string.h>

#include "io/http/limits.h"
#include "support/suite.h"

enum { FD = 7 };

#define HEAD "POST / HTTP/1.1\r\nHost: x\r\n\r\n"

static struct http_bytes bytes;
static struct http_limits *limits;
static bool is_long;
static unsigned long_status;

static void on_long_head(void *arg, int fd, void *session, unsigned status)
{
    ck_assert_ptr_null(arg);
    ck_assert_int_eq(fd, FD);
    ck_assert_ptr_null(session);
    long_status = status;
}

static void begin(void)
{
    http_bytes_init(&bytes, false, limits, on_long_head, NULL);
    http_bytes_begin(&bytes, FD);
    http_bytes_watch(&bytes);
    is_long = false;
    long_status = 0;
}

static void end(void)
{
    http_bytes_watch(NULL);
    http_bytes_end(&bytes, FD);
    http_bytes_fini(&bytes);
}

static size_t seen_bytes; /* bytes that are left to libmicrohttpd */

static void note(struct slice text)
{
    static char copy[128 * 1024];
    size_t size = text.size;
    memcpy(copy, text.data, size);
    is_long |= !http_bytes_note(FD, NULL, copy, &size);
    seen_bytes += size;
}

static bool take(size_t size, uint64_t body_bytes)
{
    const struct http_framing framing = {.content_length = body_bytes};
    return http_bytes_take_head(&bytes, FD, size, &framing);
}

/* Passes the text in two pieces, cut at this byte. */
static void note_cut(struct slice text, size_t at)
{
    note(slice_from(text.data, at));
    note(slice_skip(text, at));
}

static const struct head_case {
    struct slice text;
    size_t size; /* size of the head in the text; 0: the text does not begin with a valid head */
} heads[] = {
    {SLICE(HEAD), sizeof HEAD - 1},
    {SLICE("\r\n" HEAD), sizeof HEAD - 1},
    {SLICE("G\r\n\r\n"), 5},
    {SLICE("A: b\nC: d\r\n\r\n"), 0},
    {SLICE("\n" HEAD), 0},
    {SLICE("A: b\r\n\n"), 0},
    {SLICE("A: b\r\n:\nC: d\r\n\r\n"), 0},
    {SLICE("A: b\0\nC: d\r\n\r\n"), 0},
    {SLICE("A: b\r\n\0\nC: d\r\n\r\n"), 0},
    {SLICE("A: b\0\r\n\r\n"), 0},
    {SLICE("A: b\rC\r\n\r\n"), 0},
    {SLICE("A: b\r\n\r\r\n"), 0},
    {SLICE("A: b\r\r\n\r\n"), 0},
    {SLICE("A: b\r\n c\r\n\r\n"), 0},
    {SLICE("A: b\r\n\tc\r\n\r\n"), 0},
    {SLICE(" A: b\r\n\r\n"), 0},
    {SLICE("A: b\r\n"), 0},
};

START_TEST(head_ends_with_an_empty_line)
{
    struct slice text = heads[_i].text;
    for (size_t at = 0; at <= text.size; at++) {
        begin();
        note_cut(text, at);
        ck_assert_msg(take(heads[_i].size ? heads[_i].size : text.size, 0) == (heads[_i].size > 0),
                      "%.*s cut at %zu", SLICE_ARG(text), at);
        end();
    }
}
END_TEST

START_TEST(heads_follow_each_other_and_their_bodies)
{
    static const char all[] = HEAD "\n\0 \r" HEAD HEAD "\r\n\r\n!\r\n" HEAD;
    for (size_t at = 0; at < sizeof all; at++) {
        begin();
        note_cut(slice_from(all, sizeof all - 1), at);
        ck_assert(take(sizeof HEAD - 1, 4));
        ck_assert(take(sizeof HEAD - 1, 0));
        ck_assert(take(sizeof HEAD - 1, 7));
        ck_assert(take(sizeof HEAD - 1, 0));
        ck_assert(!take(sizeof HEAD - 1, 0));
        end();
    }
}
END_TEST

START_TEST(head_of_another_size_is_not_taken_and_none_behind_it)
{
    begin();
    note(SLICE(HEAD HEAD));
    ck_assert(!take(sizeof HEAD, 0));
    ck_assert(!take(sizeof HEAD - 1, 0));
    end();
}
END_TEST

START_TEST(nothing_is_taken_behind_chunks)
{
    const struct http_framing chunked = {.is_chunked = true};
    begin();
    note(SLICE(HEAD "0\r\n\r\n" HEAD));
    ck_assert(http_bytes_take_head(&bytes, FD, sizeof HEAD - 1, &chunked));
    ck_assert(!take(sizeof HEAD - 1, 0));
    end();
}
END_TEST

START_TEST(what_is_read_ahead_is_bounded)
{
    static char zeros[64 * 1024];
    begin();
    note(SLICE(HEAD));
    note(slice_from(zeros, sizeof zeros));
    note(SLICE("x"));
    ck_assert(!take(sizeof HEAD - 1, sizeof zeros + 1));
    end();
}
END_TEST

START_TEST(other_descriptors_and_encrypted_bytes_are_not_looked_at)
{
    begin();
    size_t one = 1;
    ck_assert(http_bytes_note(FD, &bytes, (char[]){'\0'}, &one));
    ck_assert(http_bytes_note(FD + 1, NULL, (char[]){'\0'}, &one));
    ck_assert(http_bytes_note(FD + 1000, NULL, (char[]){'\0'}, &one));
    note(SLICE(HEAD));
    ck_assert(take(sizeof HEAD - 1, 0));
    http_bytes_watch(NULL);
    note(SLICE("\n"));
    http_bytes_watch(&bytes);
    note(SLICE(HEAD));
    ck_assert(take(sizeof HEAD - 1, 0));
    end();
}
END_TEST

/* Passes text again and again, until the head is too long or the bytes are used up. */
static size_t note_again(const char *text, size_t bytes_max)
{
    size_t size = strlen(text), noted = 0;
    while (!is_long && noted + size <= bytes_max) {
        note(slice_from(text, size));
        noted += size;
    }
    return noted;
}

#define LINE "GET / HTTP/1.1\r\n"

START_TEST(head_with_too_many_bytes_is_answered_here)
{
    begin();
    note(SLICE(LINE));
    size_t noted =
        note_again("X-Header: this line is so long that the limit of bytes is reached before the limit "
                   "of lines, as in heads with large cookies or tokens\r\n",
                   1 << 20);
    ck_assert(is_long && long_status == 431 && http_bytes_has_long_head(&bytes, FD));
    ck_assert_int_gt(noted + sizeof LINE - 1, HTTP_HEAD_MAX);
    ck_assert_int_lt(noted, HTTP_HEAD_MAX + 200);
    is_long = false;
    note(SLICE("\r\n"));
    ck_assert(is_long); /* the end of the head does not matter any more */
    end();
}
END_TEST

START_TEST(head_with_too_many_lines_is_answered_here)
{
    begin();
    note(SLICE(LINE));
    ck_assert_int_eq(note_again("X: y\r\n", 1 << 20), 6 * HTTP_HEAD_LINES_MAX);
    ck_assert(is_long && long_status == 431);
    end();
}
END_TEST

START_TEST(request_line_that_is_too_long_is_answered_here)
{
    begin();
    note(SLICE("GET /"));
    ck_assert_int_eq(note_again("x", 1 << 20), HTTP_TARGET_SEEN_MAX - 5 + HTTP_TARGET_TAIL_MAX + 1);
    ck_assert(is_long && long_status == 414);
    end();
}
END_TEST

/* A head whose target is so long that libmicrohttpd gets only its beginning. */
static struct slice long_head(char *text, size_t target_bytes)
{
    struct slice end = SLICE(" HTTP/1.1\r\nHost: x\r\n\r\n");
    memcpy(text, "GET /", 5);
    for (size_t i = 1; i < target_bytes; i++)
        text[4 + i] = (char)('a' + i % 26);
    memcpy(text + 4 + target_bytes, end.data, end.size);
    return slice_from(text, 4 + target_bytes + end.size);
}

static void check_tail(const char *text, size_t target_bytes)
{
    struct http_tail tail;
    size_t seen = target_bytes + 4 < HTTP_TARGET_SEEN_MAX ? target_bytes + 4 : HTTP_TARGET_SEEN_MAX;
    http_bytes_take_tail(&bytes, FD, &tail);
    ck_assert_int_eq(tail.bytes.size, target_bytes + 4 - seen);
    if (tail.bytes.size)
        ck_assert_mem_eq(tail.bytes.data, text + seen, tail.bytes.size);
    http_bytes_free_tail(&bytes, &tail);
}

START_TEST(tail_of_a_target_is_kept_here)
{
    static char text[128 * 1024];
    static const size_t sizes[] = {HTTP_TARGET_SEEN_MAX - 5, HTTP_TARGET_SEEN_MAX - 4,
                                   HTTP_TARGET_SEEN_MAX - 3, 10000, 60000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t piece = 1; piece < 200000; piece = piece * 3 + 1) {
            struct slice all = long_head(text, sizes[i]);
            begin();
            for (int turn = 0; turn < 2; turn++) {
                seen_bytes = 0;
                for (size_t at = 0; at < all.size; at += piece)
                    note(slice_from(all.data + at, piece < all.size - at ? piece : all.size - at));
                check_tail(text, sizes[i]);
                ck_assert(!is_long && take(seen_bytes, 0));
            }
            end();
        }
}
END_TEST

START_TEST(what_was_read_ahead_has_no_tail)
{
    static char text[16 * 1024];
    struct slice all = long_head(text, 10000);
    begin();
    note(SLICE(HEAD));
    note(all);
    ck_assert(take(sizeof HEAD - 1, 0));
    check_tail(text, 0);
    ck_assert(take(all.size, 0));
    end();
}
END_TEST

START_TEST(only_a_target_has_a_tail)
{
    static const char *const lines[] = {"GET / ", "GET / HTTP/1.1\r\nX: ", "G", "GET\t/\t"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct http_tail tail;
        begin();
        note(slice_of(lines[i]));
        note_again("x", 10000);
        http_bytes_take_tail(&bytes, FD, &tail);
        ck_assert_int_eq(tail.bytes.size, 0);
        end();
    }
}
END_TEST

START_TEST(long_tails_take_memory_from_the_limits)
{
    for (size_t room = 0; room < 2; room++) {
        limits = http_limits_new(&(struct http_limits_options){
            .connections = 1, .body_bytes = HTTP_GUEST_PART * HTTP_TARGET_TAIL_MAX - 1 + room});
        begin();
        note(SLICE("GET /"));
        note_again("x", 10000);
        ck_assert(!is_long && http_limits_take_bytes(limits, HTTP_TARGET_TAIL_MAX, true) == (room == 1));
        if (room)
            http_limits_give_bytes(limits, HTTP_TARGET_TAIL_MAX, true);
        note_again("x", 20000);
        ck_assert_int_eq(long_status, room ? 0 : 503);
        ck_assert(!http_limits_take_bytes(limits, HTTP_TARGET_TAIL_MAX, true));
        end();
        ck_assert(http_limits_take_bytes(limits, HTTP_TARGET_TAIL_MAX, true) == (room == 1));
        http_limits_free(limits);
    }
    limits = NULL;
}
END_TEST

START_TEST(only_the_bytes_of_one_head_count)
{
    begin();
    note(SLICE(LINE "X: "));
    note_again("y", HTTP_HEAD_MAX - sizeof LINE - 7);
    note(SLICE("\r\n\r\n"));
    ck_assert(!is_long);
    note_again("the bytes behind the head", 1 << 15);
    ck_assert(!is_long);
    end();
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("http_bytes");
    TCase *tc = tcase_create("bytes");
    tcase_add_loop_test(tc, head_ends_with_an_empty_line, 0, (int)(sizeof heads / sizeof *heads));
    tcase_add_test(tc, heads_follow_each_other_and_their_bodies);
    tcase_add_test(tc, head_of_another_size_is_not_taken_and_none_behind_it);
    tcase_add_test(tc, nothing_is_taken_behind_chunks);
    tcase_add_test(tc, what_is_read_ahead_is_bounded);
    tcase_add_test(tc, other_descriptors_and_encrypted_bytes_are_not_looked_at);
    tcase_add_test(tc, head_with_too_many_bytes_is_answered_here);
    tcase_add_test(tc, head_with_too_many_lines_is_answered_here);
    tcase_add_test(tc, request_line_that_is_too_long_is_answered_here);
    tcase_add_test(tc, tail_of_a_target_is_kept_here);
    tcase_add_test(tc, what_was_read_ahead_has_no_tail);
    tcase_add_test(tc, only_a_target_has_a_tail);
    tcase_add_test(tc, long_tails_take_memory_from_the_limits);
    tcase_add_test(tc, only_the_bytes_of_one_head_count);
    suite_add_tcase(s, tc);
    return s;
}
