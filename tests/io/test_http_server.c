/* The server runs in its own thread. Each test is a client that writes HTTP itself. */
#include "io/http/server.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "io/http/limits.h"
#include "io/http/peer.h"
#include "support/suite.h"
#include "support/wire.h"

enum {
    MAX_BODY_BYTES = 1000,
    LARGE_BYTES = 40000,
    BODIES_BYTES = 100000,
    CONNECTIONS_MAX = 64,
    WAITING_MAX = CONNECTIONS_MAX - 8,
    HELD_MAX = WAITING_MAX,
    MUCH_BYTES = 16 << 20, /* more bytes than the kernel buffers for a client that does not read */
};

static struct fixture {
    struct loop *loop;
    struct http_server *server;
    struct http_limits *limits;
    struct timer *timer;
    pthread_t thread;
    uint16_t port;
    struct http_request *held[HELD_MAX]; /* unanswered requests; only the loop's thread uses them */
    size_t held_count;
    atomic_int heads, requests, large, too_large, surplus, malformed, gone, pending;
    atomic_bool has_run; /* the function that was passed to in_loop has run */
} fx;

static struct wire_text text;

/* --- The handler --- */

static void answer(struct http_request *request, unsigned status, struct slice body)
{
    const struct http_header headers[] = {{SLICE("X-Extra"), SLICE("yes")}};
    http_answer(request, &(struct http_answer){.status = status,
                                               .content_type = SLICE("text/plain"),
                                               .headers = headers,
                                               .header_count = 1,
                                               .body = body});
}

static bool target_is(const struct http_request *request, const char *target)
{
    return slice_equal(http_request_target(request), slice_of(target));
}

static void on_over_limit(void *arg, struct http_request *request)
{
    (void)arg;
    fx.surplus++;
    answer(request, 503, SLICE("no room"));
}

static void on_head(void *arg, struct http_request *request)
{
    (void)arg;
    fx.heads++;
    http_request_set_context(request, &fx);
    if (http_request_is_over_limit(request) && !target_is(request, "/health"))
        on_over_limit(NULL, request);
    else if (target_is(request, "/refused"))
        answer(request, 404, SLICE("refused"));
    if (target_is(request, "/large"))
        http_request_allow(request, LARGE_BYTES);
}

/* Answers with the parts of the request: "POST /target <header X> <body>". */
static void answer_echo(struct http_request *request)
{
    struct slice method = http_request_method(request), target = http_request_target(request);
    struct slice header = http_request_header(request, "x-test"), body = http_request_body(request);
    char line[LARGE_BYTES + MAX_BODY_BYTES];
    ck_assert_ptr_eq(http_request_context(request), &fx);
    int size = snprintf(line, sizeof line, "[%.*s %.*s (%.*s) %.*s]", SLICE_ARG(method), SLICE_ARG(target),
                        SLICE_ARG(header), SLICE_ARG(body));
    answer(request, 200, slice_from(line, (size_t)size));
}

static void on_request(void *arg, struct http_request *request)
{
    (void)arg;
    fx.requests++;
    if (target_is(request, "/hold") || target_is(request, "/later")) {
        ck_assert_uint_lt(fx.held_count, HELD_MAX);
        fx.held[fx.held_count++] = request;
        if (target_is(request, "/later"))
            timer_start(fx.timer, 100);
        return;
    }
    if (target_is(request, "/much")) {
        char *much = memory_new(MUCH_BYTES);
        answer(request, 200, slice_from(much, MUCH_BYTES));
        free(much);
        return;
    }
    answer_echo(request);
}

static void answer_held(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < fx.held_count; i++)
        answer_echo(fx.held[i]);
    fx.held_count = 0;
}

/* Only a body that begins with '[' may be large. */
static bool on_large(void *arg, struct http_request *request)
{
    struct slice body = http_request_body(request);
    (void)arg;
    fx.large++;
    ck_assert_uint_eq(body.size, MAX_BODY_BYTES);
    return body.data[0] == '[';
}

static void on_too_large(void *arg, struct http_request *request)
{
    (void)arg;
    fx.too_large++;
    answer(request, 413, SLICE("too large"));
}

static void on_malformed(void *arg, struct http_request *request, const char *detail)
{
    (void)arg;
    fx.malformed++;
    answer(request, 400, slice_of(detail));
}

static void on_gone(void *arg, struct http_request *request)
{
    (void)arg, (void)request;
    fx.gone++;
}

/* --- The fixture --- */

static void *run_loop(void *loop)
{
    loop_run(loop);
    return NULL;
}

static void start_with(const struct http_limits_options *limits, int64_t head_timeout_ms,
                       int64_t body_timeout_ms)
{
    int fd = wire_listen(&fx.port);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fx.loop = loop_new();
    fx.limits = http_limits_new(limits);
    fx.timer = timer_new(fx.loop, answer_held, NULL);
    const struct http_server_options options = {
        .listen_fd = fd,
        .handler = {.max_body_bytes = MAX_BODY_BYTES,
                    .limits = fx.limits,
                    .max_waiting = WAITING_MAX,
                    .on_head = on_head,
                    .on_request = on_request,
                    .on_large = on_large,
                    .on_too_large = on_too_large,
                    .on_over_limit = on_over_limit,
                    .on_malformed = on_malformed,
                    .on_gone = on_gone},
        .head_timeout_ms = head_timeout_ms,
        .body_timeout_ms = body_timeout_ms,
        .send_timeout_ms = body_timeout_ms,
    };
    fx.server = http_server_new(fx.loop, &options);
    ck_assert_int_eq(pthread_create(&fx.thread, NULL, run_loop, fx.loop), 0);
}

static void start(int64_t head_timeout_ms, int64_t body_timeout_ms)
{
    const struct http_limits_options limits = {.connections = CONNECTIONS_MAX, .body_bytes = BODIES_BYTES};
    start_with(&limits, head_timeout_ms, body_timeout_ms);
}

static void start_default(void)
{
    start(0, 0);
}

static void do_stop(void *arg)
{
    (void)arg;
    loop_stop(fx.loop);
}

static void stop(void)
{
    loop_post(fx.loop, do_stop, NULL);
    pthread_join(fx.thread, NULL);
    http_server_free(fx.server);
    http_limits_free(fx.limits);
    timer_free(fx.timer);
    loop_free(fx.loop);
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

static void await(atomic_int *counter, int value)
{
    for (int left_ms = WIRE_DEADLINE_MS; *counter != value; left_ms--) {
        ck_assert_msg(left_ms > 0, "%d never became %d", *counter, value);
        pause_ms(1);
    }
}

static void ask_pending(void *arg)
{
    (void)arg;
    fx.pending = (int)http_server_pending(fx.server);
    fx.has_run = true;
}

static void quiesce(void *arg)
{
    (void)arg;
    http_server_quiesce(fx.server);
    fx.has_run = true;
}

static void in_loop(loop_fn *fn)
{
    fx.has_run = false;
    loop_post(fx.loop, fn, NULL);
    for (int left_ms = WIRE_DEADLINE_MS; !fx.has_run; left_ms--) {
        ck_assert_int_gt(left_ms, 0);
        pause_ms(1);
    }
}

static void await_nothing_pending(void)
{
    fx.pending = 1;
    for (int left_ms = WIRE_DEADLINE_MS; fx.pending != 0; left_ms--) {
        ck_assert_int_gt(left_ms, 0);
        in_loop(ask_pending);
    }
}

/* Sends all bytes at once, and reads until the server closes the connection. */
static void exchange(struct slice bytes)
{
    int fd = wire_connect(fx.port);
    wire_send(fd, bytes);
    wire_read_to_end(fd, &text);
    close(fd);
}

static void ck_has(const char *wanted)
{
    ck_assert_msg(wire_count(&text, wanted) > 0, "no \"%s\" in: %s", wanted, text.data);
}

static void ck_has_not(const char *unwanted)
{
    ck_assert_msg(wire_count(&text, unwanted) == 0, "\"%s\" in: %s", unwanted, text.data);
}

/* --- Requests and answers --- */

START_TEST(request_arrives_as_it_was_sent)
{
    exchange(SLICE("POST /a%2Fb//../c?q=%41 HTTP/1.1\r\nHost: x\r\nX-Test:  some value \r\n"
                   "Connection: close\r\nContent-Length: 5\r\n\r\nhello"));
    ck_has("HTTP/1.1 200 OK\r\n");
    ck_has("[POST /a%2Fb//../c?q=%41 (some value) hello]");
    ck_has("Content-Type: text/plain\r\n");
    ck_has("X-Extra: yes\r\n");
    ck_has("Date: ");
    ck_assert_int_eq(fx.heads, 1);
    ck_assert_int_eq(fx.requests, 1);
}
END_TEST

START_TEST(chunked_body_is_joined)
{
    exchange(SLICE("POST /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                   "3\r\nabc\r\n4\r\ndefg\r\n0\r\nTrailer: t\r\n\r\n"));
    ck_has("[POST /c () abcdefg]");
}
END_TEST

START_TEST(head_answer_has_the_length_and_no_body)
{
    exchange(SLICE("HEAD /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    ck_has("Content-Length: 13\r\n");
    ck_has_not("[HEAD");
}
END_TEST

START_TEST(body_that_comes_in_pieces_is_whole)
{
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\nConnection: close\r\n\r\nab"));
    await(&fx.heads, 1);
    wire_send(fd, SLICE("cd"));
    pause_ms(2);
    wire_send(fd, SLICE("ef"));
    wire_read_to_end(fd, &text);
    ck_has("[POST /p () abcdef]");
    close(fd);
}
END_TEST

START_TEST(pipelined_requests_are_answered_in_order)
{
    exchange(SLICE(
        "GET /later HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nxy"
        "GET /refused HTTP/1.1\r\nHost: x\r\n\r\n"
        "GET /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /5 HTTP/1.1\r\nHost: x\r\n\r\n"));
    ck_assert_uint_eq(wire_count(&text, "HTTP/1.1 "), 4);
    const char *second = strstr(text.data, "[POST /2 () xy]");
    ck_has("[GET /later () ]");
    ck_assert_ptr_nonnull(second);
    ck_assert(strstr(text.data, "[GET /later") < second);
    ck_assert(second < strstr(text.data, "refused"));
    ck_assert_int_eq(fx.requests, 3);
}
END_TEST

START_TEST(two_thousand_later_answers_on_one_connection)
{
    int fd = wire_connect(fx.port);
    for (int i = 1; i <= 2000; i++) {
        wire_send(fd, SLICE("POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"));
        ck_assert(wire_read_message(fd, &text));
        ck_has("[POST /later () hi]");
        ck_assert_int_eq(fx.requests, i);
    }
    close(fd);
}
END_TEST

START_TEST(many_suspended_requests_are_answered_together)
{
    int fds[WAITING_MAX];
    for (int i = 0; i < WAITING_MAX; i++) {
        fds[i] = wire_connect(fx.port);
        wire_send(fds[i], SLICE("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    }
    await(&fx.requests, WAITING_MAX);
    in_loop(ask_pending);
    ck_assert_int_eq(fx.pending, WAITING_MAX);
    loop_post(fx.loop, answer_held, NULL);
    for (int i = 0; i < WAITING_MAX; i++) {
        ck_assert(wire_read_message(fds[i], &text));
        ck_has("[GET /hold () ]");
        close(fds[i]);
    }
    await_nothing_pending();
}
END_TEST

START_TEST(refused_head_without_body_keeps_the_connection)
{
    int fd = wire_connect(fx.port);
    for (int i = 0; i < 3; i++) {
        wire_send(fd, SLICE("GET /refused HTTP/1.1\r\nHost: x\r\n\r\n"));
        ck_assert(wire_read_message(fd, &text));
        ck_has("HTTP/1.1 404 ");
    }
    ck_assert_int_eq(fx.requests, 0);
    close(fd);
}
END_TEST

START_TEST(refused_head_with_body_closes_and_leaves_it_unread)
{
    exchange(SLICE("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 38\r\n\r\n"
                   "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n  "));
    ck_assert_uint_eq(wire_count(&text, "HTTP/1.1 "), 1);
    ck_has("HTTP/1.1 404 ");
    ck_has("Connection: close");
    ck_assert_int_eq(fx.requests, 0);
}
END_TEST

/* A client that is still sending must get the answer, and not a reset that arrives before the answer. */
START_TEST(refusal_of_a_long_body_reaches_a_client_that_sends_it_all)
{
    enum { BODY_BYTES = 4 * 1024 * 1024 };
    char *body = memory_new(BODY_BYTES);
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 4194304\r\n\r\n"));
    wire_send(fd, slice_from(body, BODY_BYTES));
    wire_read_to_end(fd, &text);
    ck_has("HTTP/1.1 404 ");
    close(fd);
    free(body);
}
END_TEST

START_TEST(expect_is_answered_only_when_the_body_is_wanted)
{
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"));
    ck_assert(wire_read_for(fd, &text, "HTTP/1.1 100 Continue\r\n\r\n"));
    wire_send(fd, SLICE("ok"));
    ck_assert(wire_read_message(fd, &text));
    ck_has("[POST /e () ok]");
    close(fd);

    exchange(SLICE("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"));
    ck_has("HTTP/1.1 404 ");
    ck_has_not("100 Continue");
    exchange(SLICE("POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\nExpect: 100-continue\r\n\r\n"));
    ck_has("HTTP/1.1 413 ");
    ck_has_not("100 Continue");
}
END_TEST

/* --- Bounds --- */

START_TEST(announced_length_over_the_maximum_is_refused_at_once)
{
    exchange(SLICE("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"));
    ck_assert_uint_eq(wire_count(&text, "HTTP/1.1 "), 1);
    ck_has("HTTP/1.1 413 ");
    ck_has("Connection: close");
    ck_assert_int_eq(fx.requests, 0);
}
END_TEST

START_TEST(not_found_comes_before_too_large)
{
    exchange(SLICE("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"));
    ck_has("HTTP/1.1 404 ");
    ck_assert_int_eq(fx.too_large, 0);
}
END_TEST

/* Sends a body of this size to /large. The body's first byte is the argument first. */
static void send_large(char first, size_t bytes)
{
    static char body[LARGE_BYTES + 1];
    char head[128];
    int fd = wire_connect(fx.port);
    int size = snprintf(head, sizeof head,
                        "POST /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        bytes);
    memset(body, 'x', sizeof body);
    body[0] = first;
    wire_send(fd, slice_from(head, (size_t)size));
    wire_send(fd, slice_from(body, bytes));
    wire_read_to_end(fd, &text);
    close(fd);
}

START_TEST(large_body_is_taken_where_it_is_allowed_and_agreed_to)
{
    send_large('x', MAX_BODY_BYTES);
    ck_has("HTTP/1.1 200 ");
    ck_assert_int_eq(fx.large, 0);
    send_large('[', LARGE_BYTES);
    ck_has("[POST /large () [xxx");
    ck_assert_uint_gt(text.size, LARGE_BYTES);
    ck_assert_int_eq(fx.large, 1);
    send_large('x', MAX_BODY_BYTES + 1);
    ck_has("HTTP/1.1 413 ");
    ck_assert_int_eq(fx.large, 2);
    send_large('[', LARGE_BYTES + 1);
    ck_has("HTTP/1.1 413 ");
    ck_assert_int_eq(fx.large, 2);
    ck_assert_int_eq(fx.requests, 2);
}
END_TEST

START_TEST(chunks_over_the_maximum_are_refused_at_the_end)
{
    char body[MAX_BODY_BYTES + 1];
    memset(body, 'x', sizeof body);
    for (int excess = 0; excess < 2; excess++) {
        int fd = wire_connect(fx.port);
        wire_send(fd, SLICE("POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
        wire_send(fd, excess ? SLICE("3e9\r\n") : SLICE("3e8\r\n"));
        wire_send(fd, slice_from(body, MAX_BODY_BYTES + (size_t)excess));
        wire_send(fd, SLICE("\r\n0\r\n\r\nGET /n HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
        wire_read_to_end(fd, &text);
        ck_has(excess ? "HTTP/1.1 413 " : "HTTP/1.1 200 ");
        ck_assert_uint_eq(wire_count(&text, "HTTP/1.1 "), 1);
        close(fd);
    }
    ck_assert_int_eq(fx.too_large, 1);
    ck_assert_int_eq(fx.requests, 1);
}
END_TEST

START_TEST(endless_chunks_are_cut)
{
    static char chunk[64 * 1024 + 9];
    memcpy(chunk, "10000\r\n", 7);
    memset(chunk + 7, 'x', 64 * 1024);
    memcpy(chunk + sizeof chunk - 2, "\r\n", 2);
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
    for (int i = 0; i < 64 * 16; i++)
        wire_send(fd, slice_from(chunk, sizeof chunk));
    wire_read_to_end(fd, &text);
    ck_assert_uint_eq(text.size, 0);
    await(&fx.gone, 1);
    close(fd);
}
END_TEST

START_TEST(head_over_its_memory_is_refused)
{
    static char value[40 * 1024];
    memset(value, 'x', sizeof value);
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("GET / HTTP/1.1\r\nHost: x\r\nX-Long: "));
    wire_send(fd, slice_from(value, sizeof value));
    wire_send(fd, SLICE("\r\n\r\n"));
    wire_read_to_end(fd, &text);
    ck_assert_int_eq(fx.heads, 0);
    close(fd);
}
END_TEST

START_TEST(too_many_headers_are_refused)
{
    char head[8192] = "GET / HTTP/1.1\r\nHost: x\r\n";
    for (int i = 0; i < 128; i++)
        strcat(head, "X-Some: thing\r\n");
    strcat(head, "\r\n");
    exchange(slice_of(head));
    ck_has("HTTP/1.1 400 ");
    ck_assert_int_eq(fx.malformed, 1);
}
END_TEST

static void dribble(int fd)
{
    /* A byte now and then keeps an idle timer from firing. The absolute deadline must end the connection. */
    for (int left_ms = WIRE_DEADLINE_MS; left_ms > 0; left_ms -= 20) {
        char byte;
        wire_send(fd, SLICE("a"));
        if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0)
            return;
        pause_ms(20);
    }
    ck_abort_msg("the connection was never closed");
}

START_TEST(slow_head_is_cut)
{
    start(100, 10000);
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("GET / HTTP/1.1\r\nX: "));
    dribble(fd);
    close(fd);
    ck_assert_int_eq(fx.heads, 0);
    stop();
}
END_TEST

START_TEST(slow_body_is_cut)
{
    start(10000, 100);
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"));
    dribble(fd);
    close(fd);
    await(&fx.gone, 1);
    ck_assert_int_eq(fx.requests, 0);
    stop();
}
END_TEST

START_TEST(slow_line_on_a_kept_connection_is_cut)
{
    start(300, 10000);
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
    ck_assert(wire_read_message(fd, &text));
    wire_send(fd, SLICE("GET /"));
    dribble(fd);
    close(fd);
    ck_assert_int_eq(fx.heads, 1);
    stop();
}
END_TEST

START_TEST(idle_connection_is_not_cut)
{
    start(400, 400);
    int fd = wire_connect(fx.port);
    for (int i = 0; i < 2; i++) {
        wire_send(fd, SLICE("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
        ck_assert(wire_read_message(fd, &text));
        ck_has("[GET /1 () ]");
        pause_ms(990);
    }
    close(fd);
    stop();
}
END_TEST

/* Waits for the answer to another client: until then, the server goes on with what it has begun. */
static void await_turn(void)
{
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
    ck_assert(wire_read_message(fd, &text));
    close(fd);
}

START_TEST(answer_that_is_not_read_is_cut)
{
    start(10000, 100);
    size_t received = 0;
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("GET /much HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"));
    await(&fx.requests, 1);
    await_turn();
    pause_ms(400);
    await_turn();
    for (ssize_t size; (size = recv(fd, text.data, sizeof text.data, 0)) > 0;)
        received += (size_t)size;
    ck_assert_uint_lt(received, MUCH_BYTES);
    ck_assert_int_eq(fx.requests, 3); /* not the one for /2 */
    close(fd);
    stop();
}
END_TEST

/* The client's deadlines do not apply while the handler has not answered. */
START_TEST(held_request_outlives_the_deadlines)
{
    start(50, 50);
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"));
    await(&fx.requests, 1);
    pause_ms(200);
    loop_post(fx.loop, answer_held, NULL);
    ck_assert(wire_read_message(fd, &text));
    ck_has("[POST /hold () x]");
    close(fd);
    stop();
}
END_TEST

/* --- The header gate, with real connections --- */

#define SMUGGLED "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
#define POST     "POST /victim HTTP/1.1\r\nHost: x\r\n"

static const struct attack {
    const char *name;
    struct slice bytes;
} attacks[] = {
    {"length and coding",
     SLICE(POST "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" SMUGGLED)},
    {"coding and length",
     SLICE(POST "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" SMUGGLED)},
    {"two lengths", SLICE(POST "Content-Length: 0\r\nContent-Length: 36\r\n\r\n" SMUGGLED)},
    {"two equal lengths", SLICE(POST "Content-Length: 1\r\nContent-Length: 1\r\n\r\na" SMUGGLED)},
    {"length list", SLICE(POST "Content-Length: 0, 36\r\n\r\n" SMUGGLED)},
    {"length with sign", SLICE(POST "Content-Length: +0\r\n\r\n" SMUGGLED)},
    {"length with space before its colon", SLICE(POST "Content-Length : 36\r\n\r\n" SMUGGLED)},
    {"length with tab before its colon", SLICE(POST "Content-Length\t: 36\r\n\r\n" SMUGGLED)},
    {"length too long for a number", SLICE(POST "Content-Length: 18446744073709551616\r\n\r\n" SMUGGLED)},
    {"unknown coding", SLICE(POST "Transfer-Encoding: gzip\r\n\r\n" SMUGGLED)},
    {"coding list", SLICE(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" SMUGGLED)},
    {"coding twice",
     SLICE(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n" SMUGGLED)},
    {"coding with a byte behind", SLICE(POST "Transfer-Encoding: chunked\x0b\r\n\r\n0\r\n\r\n" SMUGGLED)},
    {"coding with a NUL behind", SLICE(POST "Transfer-Encoding: chunked\0x\r\n\r\n0\r\n\r\n" SMUGGLED)},
    {"coding on 1.0", SLICE("POST /v HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" SMUGGLED)},
    {"length with a NUL behind", SLICE(POST "Content-Length: 0\0 36\r\n\r\n" SMUGGLED)},
    {"NUL at the end of a value", SLICE(POST "X: y\0\r\n\r\n" SMUGGLED)},
    {"NUL in a name", SLICE(POST "X\0Y: y\r\n\r\n" SMUGGLED)},
    {"NUL in the target", SLICE("GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n" SMUGGLED)},
    {"folded value", SLICE(POST "X: a\r\n b\r\n\r\n" SMUGGLED)},
    {"folded name", SLICE(POST "Content-:36\r\n Length\r\n\r\n" SMUGGLED)},
    {"fold before the first header",
     SLICE("POST / HTTP/1.1\r\n Content-Length: 36\r\nHost: x\r\n\r\n" SMUGGLED)},
    {"CR in a value", SLICE(POST "X: a\rContent-Length: 36\r\n\r\n" SMUGGLED)},
    {"lone LF", SLICE(POST "X: a\nContent-Length: 36\r\n\r\n" SMUGGLED)},
    {"control byte in a value", SLICE(POST "X: a\x01\r\n\r\n" SMUGGLED)},
    {"no colon", SLICE(POST "Content-Length 36\r\n\r\n" SMUGGLED)},
    {"empty name", SLICE(POST ": 36\r\n\r\n" SMUGGLED)},
    {"no Host", SLICE("POST /v HTTP/1.1\r\n\r\n" SMUGGLED)},
    {"two Hosts", SLICE(POST "Host: y\r\n\r\n" SMUGGLED)},
    {"two Authorizations", SLICE(POST "Authorization: a\r\nAuthorization: b\r\n\r\n" SMUGGLED)},
    {"unknown method", SLICE("BREW /v HTTP/1.1\r\nHost: x\r\n\r\n" SMUGGLED)},
    {"unknown version", SLICE("GET /v HTTP/1.7\r\nHost: x\r\n\r\n" SMUGGLED)},
    {"another protocol", SLICE("GET /v HTTP/2.0\r\nHost: x\r\n\r\n" SMUGGLED)},
    {"no version", SLICE("GET /v\r\nHost: x\r\n\r\n" SMUGGLED)},
    {"space in the target", SLICE("GET /v HTTP/1.1 /w HTTP/1.1\r\nHost: x\r\n\r\n" SMUGGLED)},
    {"two spaces", SLICE("GET  /v HTTP/1.1\r\nHost: x\r\n\r\n" SMUGGLED)},
    {"chunk size with junk", SLICE(POST "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" SMUGGLED)},
    {"chunk size with sign", SLICE(POST "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" SMUGGLED)},
    {"chunk size too long",
     SLICE(POST "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n" SMUGGLED)},
    {"chunk longer than its size",
     SLICE(POST "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n" SMUGGLED)},
};

/* libmicrohttpd itself refuses some requests before any handler is called. Its answer to such a request may
 * have two heads and one body. It then closes the connection. */
START_TEST(doubtful_framing_is_refused_and_nothing_behind_it_runs)
{
    const struct attack *attack = &attacks[_i];
    exchange(attack->bytes);
    size_t answers = wire_count(&text, "HTTP/1.1 ") - wire_count(&text, "HTTP/1.1 request without");
    size_t refusals = wire_count(&text, "HTTP/1.1 400 ") + wire_count(&text, "HTTP/1.1 413 ") +
                      wire_count(&text, "HTTP/1.1 505 ");
    ck_assert_msg(answers == refusals && answers <= 2, "%s: %s", attack->name, text.data);
    ck_assert_msg(fx.malformed == 0 || answers == 1, "%s: %s", attack->name, text.data);
    ck_assert_msg(fx.requests == 0, "%s ran: %s", attack->name, text.data);
}
END_TEST

/* libmicrohttpd 0.9 accepts all of these bodies, 1.0.1 only those without an extension or a bare LF. The
 * bytes after them must not be read as a request. */
static const struct slice chunks[] = {
    SLICE("1\r\na\r\n0\r\n\r\n"),
    SLICE("1\na\n0\n\n"),
    SLICE("1;x\r\na\r\n0\r\n\r\n"),
    SLICE("1;x\na\r\n0\r\n\r\n"),
    SLICE("1\r\na\r\n0\r\nHost: y\r\n\r\n"),
    SLICE("1\r\na\r\n0;\nContent-Length: 36\r\n\r\n"),
};

START_TEST(nothing_behind_chunks_is_a_request)
{
    struct slice body = chunks[_i];
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE(POST "Transfer-Encoding: chunked\r\n\r\n"));
    wire_send(fd, body);
    wire_send(fd, SLICE(SMUGGLED));
    wire_read_to_end(fd, &text);
    close(fd);
    ck_has(fx.requests ? "[POST /victim () a]" : "HTTP/1.1 400 ");
    ck_has("Connection: close");
    ck_has_not("smuggled");
    ck_assert_int_le(fx.requests, 1);
}
END_TEST

/* --- Clients that leave --- */

START_TEST(answer_for_a_client_that_left_is_dropped)
{
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    await(&fx.requests, 1);
    const struct linger reset = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd);
    pause_ms(10);
    loop_post(fx.loop, answer_held, NULL);
    exchange(SLICE("GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    ck_has("[GET /next () ]");
    await_nothing_pending();
}
END_TEST

START_TEST(client_that_leaves_before_its_body_is_told)
{
    int fd = wire_connect(fx.port);
    wire_send(fd, SLICE("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"));
    await(&fx.heads, 1);
    close(fd);
    await(&fx.gone, 1);
    ck_assert_int_eq(fx.requests, 0);
}
END_TEST

/* --- Ends --- */

START_TEST(quiesced_server_finishes_what_it_has)
{
    int held = wire_connect(fx.port), idle = wire_connect(fx.port);
    wire_send(held, SLICE("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    wire_send(idle, SLICE("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
    ck_assert(wire_read_message(idle, &text));
    await(&fx.requests, 2);
    in_loop(quiesce);

    int late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(fx.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(connect(late, (struct sockaddr *)&address, sizeof address), -1);
    close(late);

    loop_post(fx.loop, answer_held, NULL);
    wire_read_to_end(held, &text);
    ck_has("[GET /hold () ]");
    ck_has("Connection: close");
    wire_send(idle, SLICE("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n"));
    wire_read_to_end(idle, &text);
    ck_has("[GET /2 () ]");
    close(held);
    close(idle);
}
END_TEST

START_TEST(server_is_freed_with_requests_unanswered)
{
    start_default();
    int fd = wire_connect(fx.port), other = wire_connect(fx.port);
    wire_send(fd, SLICE("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    wire_send(other, SLICE("POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"));
    await(&fx.heads, 2);
    stop();
    ck_assert_int_eq(fx.gone, 2);
    wire_read_to_end(fd, &text);
    ck_assert_uint_eq(text.size, 0);
    close(fd);
    close(other);
}
END_TEST

/* --- Limits of connections and memory --- */

/* Opens connections. Each gets an answer, so all are open and idle afterwards. */
static void connect_all(int fds[], int count)
{
    for (int i = 0; i < count; i++) {
        fds[i] = wire_connect(fx.port);
        wire_send(fds[i], SLICE("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
        ck_assert(wire_read_message(fds[i], &text));
        ck_has("HTTP/1.1 200 ");
    }
}

static void close_all(int fds[], int count)
{
    for (int i = 0; i < count; i++)
        close(fds[i]);
}

START_TEST(connection_that_was_idle_longest_makes_room)
{
    int fds[CONNECTIONS_MAX], last;
    connect_all(fds, CONNECTIONS_MAX);
    connect_all(&last, 1);
    wire_read_to_end(fds[0], &text);
    ck_assert_uint_eq(text.size, 0);
    connect_all(&fds[0], 1); /* the server closes fds[1] to make room for this connection */
    wire_read_to_end(fds[1], &text);
    wire_send(last, SLICE("GET /2 HTTP/1.1\r\nHost: x\r\n\r\n"));
    ck_assert(wire_read_message(last, &text));
    ck_has("[GET /2 () ]");
    ck_assert_int_eq(fx.surplus, 0);
    close_all(fds, CONNECTIONS_MAX);
    close(last);
}
END_TEST

/* Opens connections on which a head has begun, so that they are not idle. */
static void occupy(int fds[], int count)
{
    for (int i = 0; i < count; i++) {
        fds[i] = wire_connect(fx.port);
        wire_send(fds[i], SLICE("GET /"));
    }
    pause_ms(50);
}

START_TEST(without_room_only_health_is_answered)
{
    int fds[CONNECTIONS_MAX];
    occupy(fds, CONNECTIONS_MAX);
    exchange(SLICE("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n"));
    ck_has("HTTP/1.1 503 ");
    ck_has("Connection: close");
    ck_assert_uint_eq(wire_count(&text, "HTTP/1.1 "), 1);
    for (int i = 0; i < 2 * HTTP_EXTRAS_MAX; i++) {
        exchange(SLICE("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"));
        ck_has("[GET /health () ]");
        ck_has("Connection: close");
    }
    close(fds[7]);
    pause_ms(50);
    connect_all(&fds[7], 1);
    close_all(fds, CONNECTIONS_MAX);
}
END_TEST

START_TEST(newest_extra_connection_takes_the_place_of_the_oldest)
{
    int fds[CONNECTIONS_MAX + HTTP_EXTRAS_MAX];
    occupy(fds, CONNECTIONS_MAX + HTTP_EXTRAS_MAX);
    exchange(SLICE("GET /health HTTP/1.1\r\nHost: x\r\n\r\n"));
    ck_has("[GET /health () ]");
    wire_read_to_end(fds[CONNECTIONS_MAX], &text);
    ck_assert_uint_eq(text.size, 0);
    for (int i = 0; i < CONNECTIONS_MAX + HTTP_EXTRAS_MAX; i++) {
        char byte;
        if (i != CONNECTIONS_MAX)
            ck_assert_int_eq(recv(fds[i], &byte, 1, MSG_DONTWAIT), -1);
    }
    close_all(fds, CONNECTIONS_MAX + HTTP_EXTRAS_MAX);
}
END_TEST

START_TEST(address_has_its_own_limit)
{
    const struct http_limits_options limits = {.connections = CONNECTIONS_MAX, .per_address = 2};
    int fds[2];
    start_with(&limits, 0, 0);
    connect_all(fds, 2);
    exchange(SLICE("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"));
    ck_has("HTTP/1.1 503 ");
    close(fds[0]);
    pause_ms(50);
    connect_all(fds, 1);
    close_all(fds, 2);
    stop();
}
END_TEST

START_TEST(requests_that_wait_are_bounded)
{
    int fds[WAITING_MAX];
    for (int i = 0; i < WAITING_MAX; i++) {
        fds[i] = wire_connect(fx.port);
        wire_send(fds[i], SLICE("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    }
    await(&fx.requests, WAITING_MAX);
    exchange(SLICE("GET /1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    ck_has("HTTP/1.1 503 ");
    exchange(SLICE("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    ck_has("HTTP/1.1 200 ");
    loop_post(fx.loop, answer_held, NULL);
    ck_assert(wire_read_message(fds[0], &text));
    exchange(SLICE("GET /1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    ck_has("HTTP/1.1 200 ");
    close_all(fds, WAITING_MAX);
}
END_TEST

/* Sends the head of a request to /large, and this number of bytes of its body. Returns the connection. */
static int send_most(size_t bytes)
{
    static char body[LARGE_BYTES];
    int fd = wire_connect(fx.port);
    memset(body, '[', sizeof body);
    wire_send(fd,
              SLICE("POST /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 40000\r\n\r\n"));
    wire_send(fd, slice_from(body, bytes));
    return fd;
}

START_TEST(bodies_have_so_much_memory_together)
{
    int fds[4];
    for (int i = 0; i < 4; i++)
        fds[i] = send_most(LARGE_BYTES - 1);
    await(&fx.large, 4);
    pause_ms(50);
    exchange(SLICE("POST /s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nsmall"));
    ck_has("[POST /s () small]");
    int refused = 0;
    for (int i = 0; i < 4; i++) {
        wire_send(fds[i], SLICE("["));
        wire_read_to_end(fds[i], &text);
        refused += wire_count(&text, "HTTP/1.1 503 ") > 0;
        close(fds[i]);
    }
    ck_assert_int_ge(refused, 1);
    ck_assert_int_le(refused, 3);
    ck_assert_int_eq(fx.surplus, refused);
    await_nothing_pending();
    int fd = send_most(LARGE_BYTES); /* the memory of these requests is free again */
    wire_read_to_end(fd, &text);
    ck_has("HTTP/1.1 200 ");
    close(fd);
}
END_TEST

static TCase *add_case(Suite *s, const char *name, bool is_started)
{
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 60);
    if (is_started)
        tcase_add_checked_fixture(tc, start_default, stop);
    suite_add_tcase(s, tc);
    return tc;
}

static void add_exchanges(TCase *tc)
{
    tcase_add_test(tc, request_arrives_as_it_was_sent);
    tcase_add_test(tc, chunked_body_is_joined);
    tcase_add_test(tc, head_answer_has_the_length_and_no_body);
    tcase_add_test(tc, body_that_comes_in_pieces_is_whole);
    tcase_add_test(tc, pipelined_requests_are_answered_in_order);
    tcase_add_test(tc, two_thousand_later_answers_on_one_connection);
    tcase_add_test(tc, many_suspended_requests_are_answered_together);
    tcase_add_test(tc, refused_head_without_body_keeps_the_connection);
    tcase_add_test(tc, refused_head_with_body_closes_and_leaves_it_unread);
    tcase_add_test(tc, refusal_of_a_long_body_reaches_a_client_that_sends_it_all);
    tcase_add_test(tc, expect_is_answered_only_when_the_body_is_wanted);
}

static void add_bounds(TCase *tc)
{
    tcase_add_test(tc, announced_length_over_the_maximum_is_refused_at_once);
    tcase_add_test(tc, not_found_comes_before_too_large);
    tcase_add_test(tc, large_body_is_taken_where_it_is_allowed_and_agreed_to);
    tcase_add_test(tc, chunks_over_the_maximum_are_refused_at_the_end);
    tcase_add_test(tc, endless_chunks_are_cut);
    tcase_add_test(tc, head_over_its_memory_is_refused);
    tcase_add_test(tc, too_many_headers_are_refused);
    tcase_add_test(tc, connection_that_was_idle_longest_makes_room);
    tcase_add_test(tc, without_room_only_health_is_answered);
    tcase_add_test(tc, newest_extra_connection_takes_the_place_of_the_oldest);
    tcase_add_test(tc, requests_that_wait_are_bounded);
    tcase_add_test(tc, bodies_have_so_much_memory_together);
    tcase_add_loop_test(tc, doubtful_framing_is_refused_and_nothing_behind_it_runs, 0,
                        (int)(sizeof attacks / sizeof *attacks));
    tcase_add_loop_test(tc, nothing_behind_chunks_is_a_request, 0, (int)(sizeof chunks / sizeof *chunks));
}

Suite *suite(void)
{
    Suite *s = suite_create("http_server");
    add_exchanges(add_case(s, "exchanges", true));
    add_bounds(add_case(s, "bounds", true));
    TCase *ends = add_case(s, "ends", true);
    tcase_add_test(ends, answer_for_a_client_that_left_is_dropped);
    tcase_add_test(ends, client_that_leaves_before_its_body_is_told);
    tcase_add_test(ends, quiesced_server_finishes_what_it_has);
    TCase *own = add_case(s, "own server", false);
    tcase_add_test(own, slow_head_is_cut);
    tcase_add_test(own, slow_body_is_cut);
    tcase_add_test(own, held_request_outlives_the_deadlines);
    tcase_add_test(own, slow_line_on_a_kept_connection_is_cut);
    tcase_add_test(own, idle_connection_is_not_cut);
    tcase_add_test(own, answer_that_is_not_read_is_cut);
    tcase_add_test(own, address_has_its_own_limit);
    tcase_add_test(own, server_is_freed_with_requests_unanswered);
    return s;
}
