/* The client runs in the test's thread. The receivers are threads that write HTTP themselves: one accepts
 * connections, and one serves each connection. */
#include <arpa/inet.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "io/freeze_guard.h"
#include "io/http/client.h"
#include "io/http/client_private.h"
#include "support/suite.h"
#include "support/tls_relay.h"
#include "support/wire.h"

enum { TIMEOUT_MS = 30 * 1000, POSTS_MAX = 512 };

/* Serves one connection. number counts connections from 1. The connection is closed when the function
 * returns. */
typedef void serve_fn(int fd, int number);

struct receiver {
    int listen_fd;
    uint16_t port;
    serve_fn *serve;
    pthread_t thread;
};

/* The outcome of one call. */
struct result {
    bool is_done;
    struct http_outcome outcome;
    char answer[HTTP_ANSWER_MAX]; /* copy of outcome.answer */
    char again[HTTP_REPLY_MAX];   /* copy of outcome.again */
    char detail[HTTP_DETAIL_MAX]; /* copy of outcome.detail */
};

static struct fixture {
    struct loop *loop;
    struct http_client *client;
    struct timer *deadline;
    struct receiver receiver;
    char url[64];
    struct result results[POSTS_MAX];
    size_t wanted; /* number of results after which run() ends */
    atomic_size_t done;
    atomic_int connections, requests, ended; /* counted by the receiver */
    atomic_int half_closed;
    bool uses_libcurl_only, uses_tls;
    bool may_connect, may_send, needs_fresh, wants_large_answer;
    char large_answer[HTTP_LARGE_ANSWER_MAX]; /* the last large answer */
    int64_t freeze_us;                        /* may_send blocks for this time */
    int connect_questions, send_questions;
    bool loses_memory;         /* the next may_send makes the next allocation of libcurl fail */
    atomic_bool has_no_memory; /* the next allocation of libcurl fails */
    int closings;    /* number of new connections that libcurl will close before the client takes them */
    int epoll_sets;  /* number of epoll sets that libev has created */
    char last[4096]; /* text of the last request */
} fx;

/* Several connections may write fx.last at the same time. Only tests with one connection read it. */
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- The receiver --- */

struct connection {
    int fd, number;
};

static void *serve_connection(void *arg)
{
    struct connection *connection = arg;
    int fd = connection->fd;
    struct tls_relay *relay = fx.uses_tls ? tls_relay_begin(connection->fd, &fd) : NULL;
    fx.receiver.serve(fd, connection->number);
    close(fd);
    if (relay)
        tls_relay_end(relay);
    free(connection);
    fx.ended++;
    return NULL;
}

static void *accept_connections(void *arg)
{
    struct receiver *receiver = arg;
    for (int fd; (fd = wire_accept(receiver->listen_fd)) >= 0;) {
        struct connection *connection = NEW(struct connection);
        connection->fd = fd;
        connection->number = ++fx.connections;
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, serve_connection, connection), 0);
        pthread_detach(thread);
    }
    return NULL;
}

/* Reads the next request. Returns false when the client has closed the connection. */
static bool next_request(int fd)
{
    struct wire_text *text = memory_new(sizeof *text);
    bool has_one = wire_read_message(fd, text);
    if (has_one) {
        pthread_mutex_lock(&last_lock);
        memcpy(fx.last, text->data, sizeof fx.last - 1); /* the last byte stays NUL */
        pthread_mutex_unlock(&last_lock);
        fx.requests++;
    }
    free(text);
    return has_one;
}

static void serve_ok(int fd, int number)
{
    (void)number;
    while (next_request(fd))
        wire_send(fd, SLICE("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
}

/* --- The client --- */

static void on_deadline(void *arg)
{
    (void)arg;
    ck_abort_msg("%zu of %zu posts ended in time", (size_t)fx.done, fx.wanted);
}

static void stop_loop(void *arg)
{
    (void)arg;
    loop_stop(fx.loop);
}

static bool may_connect(void *arg, const struct sockaddr *address)
{
    (void)arg;
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;
    fx.connect_questions++;
    ck_assert_int_eq(address->sa_family, AF_INET);
    ck_assert_uint_eq(ntohl(in->sin_addr.s_addr), INADDR_LOOPBACK);
    return fx.may_connect;
}

static bool may_send(void *arg)
{
    (void)arg;
    fx.send_questions++;
    for (int64_t end_us = clock_boot_us() + fx.freeze_us; clock_boot_us() < end_us;)
        continue;
    fx.has_no_memory = fx.loses_memory;
    fx.loses_memory = false;
    return fx.may_send;
}

static void on_done(void *arg, const struct http_outcome *outcome)
{
    struct result *result = arg;
    ck_assert(!result->is_done);
    result->is_done = true;
    result->outcome = *outcome;
    char *answer = fx.wants_large_answer ? fx.large_answer : result->answer;
    ck_assert_uint_le(outcome->answer.size,
                      fx.wants_large_answer ? sizeof fx.large_answer : sizeof result->answer);
    if (outcome->answer.size)
        memcpy(answer, outcome->answer.data, outcome->answer.size);
    result->outcome.answer.data = answer;
    if (outcome->replies[HTTP_REPLY_AGAIN].value.size)
        memcpy(result->again, outcome->replies[HTTP_REPLY_AGAIN].value.data,
               outcome->replies[HTTP_REPLY_AGAIN].value.size);
    result->outcome.replies[HTTP_REPLY_AGAIN].value.data = result->again;
    if (outcome->detail.size)
        memcpy(result->detail, outcome->detail.data, outcome->detail.size);
    result->outcome.detail.data = result->detail;
    if (++fx.done == fx.wanted)
        loop_stop(fx.loop);
}

/* ---- libcurl's memory ---- */

/* libcurl's threads for name lookups allocate, too. */
static bool has_memory(void)
{
    return !atomic_exchange(&fx.has_no_memory, false);
}

static void *allocate(size_t size)
{
    return has_memory() ? malloc(size) : NULL;
}

static void *allocate_again(void *memory, size_t size)
{
    return has_memory() ? realloc(memory, size) : NULL;
}

static void *allocate_zeroed(size_t count, size_t size)
{
    return has_memory() ? calloc(count, size) : NULL;
}

static char *allocate_copy(const char *text)
{
    return has_memory() ? strdup(text) : NULL;
}

static void start(void)
{
    ck_assert_int_eq(curl_global_init_mem(CURL_GLOBAL_DEFAULT, allocate, free, allocate_again, allocate_copy,
                                          allocate_zeroed),
                     CURLE_OK);
    fx.may_connect = true;
    fx.may_send = true;
    fx.loop = loop_new();
    fx.deadline = timer_new(fx.loop, on_deadline, NULL);
    fx.client = http_client_new(fx.loop, &(struct http_client_options){
                                             .max_idle = 400,
                                             .uses_libcurl_only = fx.uses_libcurl_only,
                                             .ca_file = fx.uses_tls ? tls_relay_certificate() : NULL,
                                         });
    fx.receiver.listen_fd = wire_listen(&fx.receiver.port);
    snprintf(fx.url, sizeof fx.url, "%s://127.0.0.1:%d/hook/../a?q=1", fx.uses_tls ? "https" : "http",
             fx.receiver.port);
}

static void start_libcurl(void)
{
    fx.uses_libcurl_only = true;
    start();
}

static void start_tls(void)
{
    fx.uses_tls = true;
    start();
}

static void start_libcurl_tls(void)
{
    fx.uses_tls = true;
    start_libcurl();
}

static void stop(void)
{
    http_client_free(fx.client);
    timer_free(fx.deadline);
    loop_free(fx.loop);
    shutdown(fx.receiver.listen_fd, SHUT_RDWR);
    if (fx.receiver.serve)
        pthread_join(fx.receiver.thread, NULL);
    close(fx.receiver.listen_fd);
    /* Waits until the threads of the connections have ended, for the leak checker. */
    for (int left_ms = WIRE_DEADLINE_MS; fx.ended != fx.connections; left_ms--) {
        ck_assert_int_gt(left_ms, 0);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void receive_with(serve_fn *serve)
{
    fx.receiver.serve = serve;
    ck_assert_int_eq(pthread_create(&fx.receiver.thread, NULL, accept_connections, &fx.receiver), 0);
}

static struct http_call *post_to(size_t index, const char *url, struct slice body, int64_t timeout_ms)
{
    struct slice headers[] = {SLICE("Content-Type: application/json"), SLICE("X-MiXed: a  b"),
                              SLICE("X-Empty: ")};
    const struct http_call_request request = {
        .url = slice_of(url),
        .headers = headers,
        .header_count = 3,
        .body = body,
        .timeout_ms = timeout_ms,
        .needs_fresh = fx.needs_fresh,
        .wants_large_answer = fx.wants_large_answer,
        .may_connect = may_connect,
        .may_send = may_send,
        .on_done = on_done,
        .arg = &fx.results[index],
    };
    struct http_call *call = http_call(fx.client, &request);
    for (size_t i = 0; i < 3; i++)
        headers[i] = SLICE(
            "X-Another: of a later call"); /* changed on purpose: the client must have copied the headers */
    return call;
}

static struct http_call *post(size_t index)
{
    return post_to(index, fx.url, SLICE("{\"a\":1}"), TIMEOUT_MS);
}

/* Runs the loop until count more posts have ended. */
static void run(size_t count)
{
    fx.wanted = fx.done + count;
    timer_start(fx.deadline, WIRE_DEADLINE_MS * INT64_C(1000));
    loop_run(fx.loop);
    timer_stop(fx.deadline);
}

/* Sends one post to a receiver that serves its connections with the function serve. Waits for the end of the
 * post. */
static const struct http_outcome *post_against(serve_fn *serve)
{
    receive_with(serve);
    post(0);
    run(1);
    return &fx.results[0].outcome;
}

static void ck_status(const struct http_outcome *outcome, int status)
{
    ck_assert_int_eq(outcome->error, FAILURE_NONE);
    ck_assert_int_eq(outcome->status, status);
    ck_assert(outcome->was_sent);
}

static void ck_error(const struct http_outcome *outcome, enum failure error, bool was_sent)
{
    ck_assert_int_eq(outcome->error, error);
    ck_assert_int_eq(outcome->was_sent, was_sent);
    ck_assert_int_eq(outcome->retry_after_ms, -1);
}

/* --- Requests --- */

START_TEST(request_is_exactly_what_the_caller_gave)
{
    ck_status(post_against(serve_ok), 200);
    char wanted[512];
    snprintf(wanted, sizeof wanted,
             "POST /hook/../a?q=1 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
             "X-MiXed: a  b\r\nX-Empty:\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
             fx.receiver.port);
    ck_assert_str_eq(fx.last, wanted);
    ck_assert_int_eq(fx.results[0].outcome.retry_after_ms, -1);
}
END_TEST

START_TEST(empty_body_says_so)
{
    receive_with(serve_ok);
    post_to(0, fx.url, SLICE(""), TIMEOUT_MS);
    run(1);
    ck_status(&fx.results[0].outcome, 200);
    ck_assert_msg(strstr(fx.last, "\r\nContent-Length: 0\r\n"), "%s", fx.last);
}
END_TEST

START_TEST(headers_without_content_type_have_none)
{
    const struct http_call_request request = {.url = slice_of(fx.url),
                                              .timeout_ms = TIMEOUT_MS,
                                              .may_connect = may_connect,
                                              .may_send = may_send,
                                              .on_done = on_done,
                                              .arg = &fx.results[0]};
    receive_with(serve_ok);
    http_call(fx.client, &request);
    run(1);
    ck_assert_ptr_null(strcasestr(fx.last, "content-type"));
    ck_assert_ptr_null(strcasestr(fx.last, "accept"));
}
END_TEST

/* ---- methods ---- */

/* Answers requests of all methods. */
static void serve_methods(int fd, int number)
{
    (void)number;
    while (next_request(fd)) {
        bool is_head = strncmp(fx.last, "HEAD ", 5) == 0;
        wire_send(fd, is_head ? SLICE("HTTP/1.1 200 OK\r\n\r\n")
                              : SLICE("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    }
}

static void call_with(enum http_method method, const char *body)
{
    const struct http_call_request request = {.method = method,
                                              .url = slice_of(fx.url),
                                              .body = slice_of(body),
                                              .timeout_ms = TIMEOUT_MS,
                                              .may_connect = may_connect,
                                              .may_send = may_send,
                                              .on_done = on_done,
                                              .arg = &fx.results[0]};
    fx.results[0].is_done = false;
    http_call(fx.client, &request);
    run(1);
}

static const struct method_case {
    enum http_method method;
    const char *name, *body, *framing; /* text at the end of the request's head */
} methods[] = {
    {HTTP_METHOD_POST, "POST", "{}", "Content-Length: 2\r\n"},
    {HTTP_METHOD_POST, "POST", "", "Content-Length: 0\r\n"},
    {HTTP_METHOD_PUT, "PUT", "{}", "Content-Length: 2\r\n"},
    {HTTP_METHOD_PUT, "PUT", "", "Content-Length: 0\r\n"},
    {HTTP_METHOD_PATCH, "PATCH", "{}", "Content-Length: 2\r\n"},
    {HTTP_METHOD_PATCH, "PATCH", "", "Content-Length: 0\r\n"},
    {HTTP_METHOD_DELETE, "DELETE", "{}", "Content-Length: 2\r\n"},
    {HTTP_METHOD_DELETE, "DELETE", "", ""},
    {HTTP_METHOD_GET, "GET", "{}", "Content-Length: 2\r\n"},
    {HTTP_METHOD_GET, "GET", "", ""},
    {HTTP_METHOD_HEAD, "HEAD", "", ""},
};
enum { METHODS = sizeof methods / sizeof *methods };

static void ck_method(const struct method_case *wanted)
{
    char text[512];
    const struct result *result = &fx.results[0];
    snprintf(text, sizeof text, "%s /hook/../a?q=1 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s\r\n%s", wanted->name,
             fx.receiver.port, wanted->framing, wanted->body);
    call_with(wanted->method, wanted->body);
    ck_assert_str_eq(fx.last, text);
    ck_status(&result->outcome, 200);
    ck_assert_uint_eq(result->outcome.answer.size, wanted->method == HTTP_METHOD_HEAD ? 0 : 2);
    ck_assert(!result->outcome.is_answer_cut);
}

START_TEST(each_method_is_sent_with_its_body_or_without_one)
{
    receive_with(serve_methods);
    ck_method(&methods[_i]);
}
END_TEST

/* The calls use the same handles and the same connections. */
START_TEST(each_method_may_follow_each_other_one)
{
    receive_with(serve_methods);
    for (size_t i = 0; i < METHODS; i++)
        for (size_t j = 0; j < METHODS; j++) {
            ck_method(&methods[i]);
            ck_method(&methods[j]);
        }
    ck_assert_int_eq(fx.connections, 1);
}
END_TEST

static void serve_first_only(int fd, int number)
{
    (void)number;
    if (next_request(fd))
        wire_send(fd, SLICE("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    next_request(fd); /* the receiver does not answer this request */
}

/* libcurl regards these methods as safe to repeat. */
START_TEST(a_get_is_never_repeated_either)
{
    receive_with(serve_first_only);
    call_with(HTTP_METHOD_GET, "");
    ck_status(&fx.results[0].outcome, 200);
    call_with(HTTP_METHOD_GET, "");
    ck_error(&fx.results[0].outcome, FAILURE_IDLE_CLOSED, true);
    ck_assert_int_eq(fx.requests, 2);
}
END_TEST

START_TEST(large_body_with_nul_bytes_arrives_whole_without_expect)
{
    enum { BODY_BYTES = 200 * 1000 };
    char *body = memory_new(BODY_BYTES);
    receive_with(serve_ok);
    post_to(0, fx.url, slice_from(body, BODY_BYTES), TIMEOUT_MS);
    run(1);
    ck_status(&fx.results[0].outcome, 200);
    ck_assert_ptr_null(strcasestr(fx.last, "expect"));
    free(body);
}
END_TEST

START_TEST(connection_is_used_again)
{
    receive_with(serve_ok);
    for (size_t i = 0; i < 50; i++) {
        post(i);
        run(1);
        ck_status(&fx.results[i].outcome, 200);
    }
    ck_assert_int_eq(fx.connections, 1);
    ck_assert_int_eq(fx.requests, 50);
    ck_assert_int_eq(fx.send_questions, 50);
}
END_TEST

static pthread_barrier_t all_there;

static void serve_together(int fd, int number)
{
    (void)number;
    if (!next_request(fd))
        return;
    pthread_barrier_wait(&all_there);
    wire_send(fd, SLICE("HTTP/1.1 204 No Content\r\n\r\n"));
    next_request(fd);
}

START_TEST(three_hundred_posts_are_in_flight_at_once)
{
    enum { COUNT = 300 };
    pthread_barrier_init(&all_there, NULL, COUNT);
    receive_with(serve_together);
    for (size_t i = 0; i < COUNT; i++)
        post(i);
    run(COUNT);
    for (size_t i = 0; i < COUNT; i++)
        ck_status(&fx.results[i].outcome, 204);
    ck_assert_int_eq(fx.connections, COUNT);
}
END_TEST

/* --- Answers --- */

static const struct answer_case {
    const char *answer;
    int status;
    int64_t retry_after_ms;
} answers[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, -1},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nTrailer: x\r\n\r\n", 200, -1},
    {"HTTP/1.1 204 No Content\r\n\r\n", 204, -1},
    {"HTTP/1.0 200 OK\r\n\r\nold", 200, -1},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", 201, -1},
    {"HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", 500,
     -1},
    {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 302, -1},
    {"HTTP/1.1 307 Again\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n", 307, -1},
    {"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n", 401, -1},
    {"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n", 410, -1},
    {"HTTP/1.1 503 No\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n", 503, 120000},
    {"HTTP/1.1 503 No\r\nretry-after: 0\r\nContent-Length: 0\r\n\r\n", 503, 0},
    {"HTTP/1.1 503 No\r\nRetry-After: Thu, 01 Jan 1970 00:00:10 GMT\r\nContent-Length: 0\r\n\r\n", 503, 0},
    {"HTTP/1.1 503 No\r\nRetry-After: Fri, 31 Dec 2100 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n", 503,
     INT64_C(1000) * RETRY_AFTER_MAX_S},
    {"HTTP/1.1 503 No\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", 503, 0},
    {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nxyz", 200, -1},
    /* answers that end before their Content-Length is reached */
    {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", 200, -1},
    {"HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\nhalf", 500, -1},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 200, -1},
    /* unusual status lines and lengths that libcurl understands */
    {"HTTP/1.1 204\r\n\r\n", 204, -1},
    {"HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n", 200, -1},
    {"HTTP/1.1 200OK\r\nContent-Length: 0\r\n\r\n", 200, -1},
    {"HTTP/1.1 503\tNo\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 503, 7000},
    {"HTTP/1.0  200\nContent-Length: 0\n\n", 200, -1},
    {"HTTP/2 200\r\nContent-Length: 0\r\n\r\n", 200, -1},
    {"HTTP/2.0 201 Created\r\nContent-Length: 0\r\n\r\n", 201, -1},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", 200, -1},
    {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", 200, -1},
    {"HTTP/1.1 200 OK\r\nHTTP/1.1 500: a header's name\r\nContent-Length: 0\r\n\r\n", 200, -1},
};

static int answer_index;

static void serve_answer(int fd, int number)
{
    (void)number;
    if (next_request(fd))
        wire_send(fd, slice_of(answers[answer_index].answer));
}

START_TEST(status_is_that_of_the_final_head)
{
    answer_index = _i;
    const struct http_outcome *outcome = post_against(serve_answer);
    ck_status(outcome, answers[_i].status);
    ck_assert_int_eq(outcome->retry_after_ms, answers[_i].retry_after_ms);
    ck_assert_int_eq(fx.requests, 1);
}
END_TEST

static const struct {
    const char *lines;
    bool has_again;
    const char *again;
} agains[] = {
    {"", false, ""},
    {"Duepost-Again: 30\r\n", true, "30"},
    {"duepost-again:\t1h30m \r\n", true, "1h30m"},
    {"Duepost-Again:\r\n", true, ""},
    {"DUEPOST-AGAIN: 1\r\nX: y\r\nDuepost-Again: 2\r\n", true, "1, 2"},
    {"Duepost-Againx: 30\r\nX-Duepost-Again: 30\r\n", false, ""},
    {"Duepost-Again: "
     "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
     "89012345\r\nDuepost-Again: 2\r\n",
     true,
     "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"},
};

static void serve_again(int fd, int number)
{
    (void)number;
    char answer[512];
    snprintf(
        answer, sizeof answer,
        "HTTP/1.1 103 Hints\r\nDuepost-Again: 9\r\n\r\nHTTP/1.1 202 Accepted\r\n%sContent-Length: 0\r\n\r\n",
        agains[answer_index].lines);
    if (next_request(fd))
        wire_send(fd, slice_of(answer));
}

START_TEST(an_answer_may_ask_for_the_job_again)
{
    answer_index = _i;
    const struct http_outcome *outcome = post_against(serve_again);
    ck_status(outcome, 202);
    ck_assert(outcome->replies[HTTP_REPLY_AGAIN].is_there == agains[_i].has_again);
    ck_assert_msg(slice_equal(outcome->replies[HTTP_REPLY_AGAIN].value, slice_of(agains[_i].again)), "%.*s",
                  SLICE_ARG(outcome->replies[HTTP_REPLY_AGAIN].value));
}
END_TEST

static void serve_retry_date(int fd, int number)
{
    (void)number;
    char date[64], answer[256];
    time_t then = time(NULL) + 3600;
    struct tm parts;
    gmtime_r(&then, &parts);
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    snprintf(answer, sizeof answer, "HTTP/1.1 429 Slow\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n",
             date);
    if (next_request(fd))
        wire_send(fd, slice_of(answer));
}

START_TEST(retry_after_may_be_a_date)
{
    const struct http_outcome *outcome = post_against(serve_retry_date);
    ck_status(outcome, 429);
    ck_assert_int_ge(outcome->retry_after_ms, 3500 * 1000);
    ck_assert_int_le(outcome->retry_after_ms, 3600 * 1000);
}
END_TEST

/* Answers while the request's body is still arriving, and does not read the body. */
static void serve_early(int fd, int number)
{
    (void)number;
    struct wire_text *text = memory_new(sizeof *text);
    if (wire_read_for(fd, text, "\r\n\r\n"))
        wire_send(fd, SLICE("HTTP/1.1 413 Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
    wire_read_for(fd, text, "never");
    free(text);
}

START_TEST(answer_before_the_body_was_sent_counts)
{
    ck_status(post_against(serve_early), 413);
}
END_TEST

static void serve_huge_body(int fd, int number)
{
    (void)number;
    static const char zeros[64 * 1024];
    if (!next_request(fd))
        return;
    wire_send(fd, SLICE("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"));
    for (int i = 0; i < 16 * 1024; i++) {
        if (send(fd, zeros, sizeof zeros, MSG_NOSIGNAL) < 0)
            return;
    }
    ck_abort_msg("the client read a gigabyte");
}

START_TEST(huge_body_is_cut_and_the_status_counts)
{
    ck_status(post_against(serve_huge_body), 200);
    ck_assert_uint_eq(fx.results[0].outcome.answer.size, HTTP_ANSWER_MAX);
    ck_assert(fx.results[0].outcome.is_answer_cut);
}
END_TEST

static void serve_slow_body(int fd, int number)
{
    (void)number;
    if (!next_request(fd))
        return;
    wire_send(fd, SLICE("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx"));
    next_request(fd); /* waits until the client closes the connection */
}

START_TEST(slow_body_is_not_waited_for)
{
    int64_t before_us = clock_boot_us();
    ck_status(post_against(serve_slow_body), 200);
    ck_assert_int_lt(clock_boot_us() - before_us, TIMEOUT_MS * INT64_C(1000) / 3);
    ck_assert_uint_eq(fx.results[0].outcome.answer.size, 1);
    ck_assert(fx.results[0].outcome.is_answer_cut);
}
END_TEST

/* ---- the beginning of an answer's body ---- */

static void ck_answer(size_t index, struct slice answer, bool is_cut)
{
    const struct http_outcome *outcome = &fx.results[index].outcome;
    ck_assert_msg(slice_equal(outcome->answer, answer), "%.*s", SLICE_ARG(outcome->answer));
    ck_assert_int_eq(outcome->is_answer_cut, is_cut);
}

static const struct {
    const char *answer, *body;
    bool is_cut;
} bodies[] = {
    {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", false},
    {"HTTP/1.1 204 No Content\r\n\r\n", "", false},
    {"HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nab\r\nc", "ab\r\nc", false},
    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n", "abcde", false},
    {"HTTP/1.0 503 No\r\n\r\nuntil it closes", "until it closes", false},
    {"HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\nhalf", "half", true},
    {"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n", "ab", true},
};

static void serve_body(int fd, int number)
{
    (void)number;
    if (next_request(fd))
        wire_send(fd, slice_of(bodies[answer_index].answer));
}

START_TEST(what_came_of_the_body_is_told)
{
    answer_index = _i;
    post_against(serve_body);
    ck_answer(0, slice_of(bodies[_i].body), bodies[_i].is_cut);
}
END_TEST

/* Answers with three bodies in small pieces: one of the largest size that is kept whole, one that is a byte
 * longer, and an empty one. */
static void serve_long_bodies(int fd, int number)
{
    static const size_t sizes[] = {HTTP_ANSWER_MAX, HTTP_ANSWER_MAX + 1, 0};
    (void)number;
    for (size_t i = 0; i < 3 && next_request(fd); i++) {
        char head[64];
        snprintf(head, sizeof head, "HTTP/1.1 500 No\r\nContent-Length: %zu\r\n\r\n", sizes[i]);
        wire_send(fd, slice_of(head));
        for (size_t sent = 0; sent < sizes[i]; sent++)
            wire_send(fd, slice_from(sent < 1000 ? "x" : "y", 1));
    }
}

START_TEST(a_long_body_is_told_as_far_as_it_goes)
{
    char body[HTTP_ANSWER_MAX];
    memset(body, 'x', 1000);
    memset(body + 1000, 'y', sizeof body - 1000);
    receive_with(serve_long_bodies);
    for (size_t i = 0; i < 3; i++) {
        post(i);
        run(1);
        ck_status(&fx.results[i].outcome, 500);
        ck_answer(i, slice_from(body, i < 2 ? sizeof body : 0), i == 1);
    }
    ck_assert_int_eq(fx.connections, 1);
}
END_TEST

static void serve_very_long_bodies(int fd, int number)
{
    static const size_t sizes[] = {HTTP_LARGE_ANSWER_MAX, HTTP_LARGE_ANSWER_MAX + 1};
    static char body[HTTP_LARGE_ANSWER_MAX + 1];
    (void)number;
    memset(body, 'x', sizeof body - 2);
    body[sizeof body - 2] = 'y';
    for (size_t i = 0; i < 2 && next_request(fd); i++) {
        char head[64];
        snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", sizes[i]);
        wire_send(fd, slice_of(head));
        wire_send(fd, slice_from(body, sizes[i]));
    }
}

START_TEST(a_large_answer_is_told_where_it_is_wanted)
{
    receive_with(serve_very_long_bodies);
    for (size_t i = 0; i < 3; i++) {
        fx.wants_large_answer = i < 2;
        post(i);
        run(1);
        const struct http_outcome *outcome = &fx.results[i].outcome;
        ck_status(outcome, 200);
        ck_assert_uint_eq(outcome->answer.size, i < 2 ? HTTP_LARGE_ANSWER_MAX : HTTP_ANSWER_MAX);
        ck_assert_int_eq(outcome->answer.data[outcome->answer.size - 1], i < 2 ? 'y' : 'x');
        ck_assert_int_eq(outcome->is_answer_cut, i > 0);
    }
}
END_TEST

START_TEST(without_an_answer_nothing_is_told_of_its_body)
{
    receive_with(serve_long_bodies);
    post(0);
    run(1);
    fx.may_send = false;
    post(1); /* the previous post may have left data in the same handle */
    run(1);
    ck_error(&fx.results[1].outcome, FAILURE_UNSENT, false);
    ck_answer(1, SLICE(""), false);
}
END_TEST

static void serve_endless_headers(int fd, int number)
{
    (void)number;
    if (!next_request(fd))
        return;
    wire_send(fd, SLICE("HTTP/1.1 200 OK\r\n"));
    for (int i = 0; i < 1024 * 1024; i++) {
        if (send(fd, "X-Some: thing\r\n", 15, MSG_NOSIGNAL) < 0)
            return;
    }
    ck_abort_msg("the client read endless headers");
}

START_TEST(endless_headers_are_too_large)
{
    ck_error(post_against(serve_endless_headers), FAILURE_ANSWER_TOO_LARGE, true);
}
END_TEST

static void serve_endless_line(int fd, int number)
{
    (void)number;
    static const char line[64 * 1024] = "HTTP/1.1 200 OK\r\nX: ";
    if (!next_request(fd))
        return;
    wire_send(fd, slice_of(line));
    for (int i = 0; i < 1024 * 1024; i++) {
        if (send(fd, "xxxxxxxxxxxxxxxx", 16, MSG_NOSIGNAL) < 0)
            return;
    }
    ck_abort_msg("the client read an endless line");
}

START_TEST(endless_header_line_is_too_large)
{
    ck_error(post_against(serve_endless_line), FAILURE_ANSWER_TOO_LARGE, true);
}
END_TEST

/* libcurl has no memory for the request. */
START_TEST(a_lack_of_memory_is_not_a_large_answer)
{
    receive_with(serve_ok);
    for (size_t i = 0; i < 2; i++) {
        fx.loses_memory = true;
        post(i);
        run(1);
        ck_error(&fx.results[i].outcome, FAILURE_RESET, true);
        ck_assert(slice_equal(fx.results[i].outcome.detail, SLICE("Out of memory")));
        fx.results[i].is_done = false;
        post(i);
        run(1);
        ck_status(&fx.results[i].outcome, 200);
    }
    ck_assert_int_eq(fx.requests, 2);
}
END_TEST

static void serve_endless_interim(int fd, int number)
{
    (void)number;
    if (!next_request(fd))
        return;
    for (int i = 0; i < 1024 * 1024; i++) {
        static const char interim[] = "HTTP/1.1 102 Processing\r\nX: y\r\n\r\n";
        if (send(fd, interim, sizeof interim - 1, MSG_NOSIGNAL) < 0)
            return;
    }
    ck_abort_msg("the client read endless interim answers");
}

START_TEST(endless_interim_answers_are_too_large)
{
    ck_error(post_against(serve_endless_interim), FAILURE_ANSWER_TOO_LARGE, true);
}
END_TEST

static void serve_garbage(int fd, int number)
{
    (void)number;
    if (next_request(fd))
        wire_send(fd, SLICE("SSH-2.0-OpenSSH_9.2\r\n\r\n"));
}

START_TEST(garbage_is_a_protocol_error)
{
    ck_error(post_against(serve_garbage), FAILURE_PROTOCOL, true);
}
END_TEST

static const char *const not_understood[] = {
    "http/1.1 200 OK\r\n",  "HTTP/1.2 200 OK\r\n",
    "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 20 OK\r\n",
    "HTTP/1.1\t200 OK\r\n", "HTTP/1.1 -20 OK\r\n",
    " HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0, 2\r\n",
};

static void serve_not_understood(int fd, int number)
{
    (void)number;
    if (next_request(fd)) {
        wire_send(fd, slice_of(not_understood[answer_index]));
        wire_send(fd, SLICE("Content-Length: 0\r\n\r\n"));
    }
}

START_TEST(a_head_that_no_client_understands_is_a_protocol_error)
{
    answer_index = _i;
    ck_error(post_against(serve_not_understood), FAILURE_PROTOCOL, true);
}
END_TEST

/* libcurl 7.88 keeps a pointer to the last header of a handle's earlier transfer. It continues that header
 * when the first header of the next answer is folded. */
static void serve_folded(int fd, int number)
{
    bool has_header = false;
    while (next_request(fd)) {
        wire_send(fd, SLICE("HTTP/1.1 200 OK\r\n"));
        wire_send(fd, has_header || number % 2 == 0 ? SLICE(" X-A: 1\r\n\tfolded\r\n") : SLICE("X-A: 1\r\n"));
        wire_send(fd, SLICE("Content-Length: 2\r\n\r\nok"));
        has_header = true;
    }
}

START_TEST(a_first_header_that_is_folded_does_no_harm_after_an_earlier_answer)
{
    receive_with(serve_folded);
    for (size_t i = 0; i < 12; i++) {
        post(i);
        run(1);
        enum failure error = fx.results[i].outcome.error;
        ck_assert(error == FAILURE_NONE || (i > 0 && error == FAILURE_PROTOCOL));
    }
    ck_assert_int_eq(fx.requests, 12);
}
END_TEST

/* Answers after which the connection must not carry another request: bytes of a body that is not read, or
 * that is framed in an unusual way, would be taken for the next answer. */
static const struct {
    enum http_method method;
    const char *answer;
    bool is_kept;
} last_answers[] = {
    {HTTP_METHOD_POST, "HTTP/1.1 204 No Content\r\n\r\n", true},
    {HTTP_METHOD_POST, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", true},
    {HTTP_METHOD_POST, "HTTP/1.1 304 Not Modified\r\n\r\n", true},
    {HTTP_METHOD_HEAD, "HTTP/1.1 200 OK\r\n\r\n", true},
    {HTTP_METHOD_POST, "HTTP/1.1 204 No Content\r\nContent-Length: 38\r\n\r\n", false},
    {HTTP_METHOD_POST, "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", false},
    {HTTP_METHOD_POST, "HTTP/1.1 204 No Content\r\nTransfer-Encoding: gzip\r\n\r\n", false},
    {HTTP_METHOD_POST, "HTTP/1.1 304 Not Modified\r\nContent-Length: 38\r\n\r\n", false},
    {HTTP_METHOD_POST, "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", false},
    {HTTP_METHOD_HEAD, "HTTP/1.1 200 OK\r\nContent-Length: 38\r\n\r\n", false},
    {HTTP_METHOD_HEAD, "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n", false},
    {HTTP_METHOD_POST, "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok", false},
    {HTTP_METHOD_POST, "HTTP/1.1 200OK\r\nContent-Length: 2\r\n\r\nok", false},
    {HTTP_METHOD_POST,
     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", false},
};

/* The late body arrives with the next request. */
static void serve_last(int fd, int number)
{
    (void)number;
    if (next_request(fd))
        wire_send(fd, slice_of(last_answers[answer_index].answer));
    if (next_request(fd))
        wire_send(fd, SLICE("HTTP/1.1 299 Late\r\nContent-Length: 0\r\n\r\n"));
}

START_TEST(a_late_body_is_not_the_next_answer)
{
    answer_index = _i;
    receive_with(serve_last);
    call_with(last_answers[_i].method, "");
    int status = fx.results[0].outcome.status;
    ck_assert_int_eq(fx.results[0].outcome.error, FAILURE_NONE);
    call_with(last_answers[_i].method, "");
    ck_status(&fx.results[0].outcome, last_answers[_i].is_kept ? 299 : status);
    ck_assert_int_eq(fx.connections, last_answers[_i].is_kept ? 1 : 2);
}
END_TEST

/* --- Failures --- */

static void serve_nothing(int fd, int number)
{
    (void)number;
    next_request(fd);
}

START_TEST(close_on_receipt_is_a_reset)
{
    ck_error(post_against(serve_nothing), FAILURE_RESET, true);
    ck_assert_int_eq(fx.requests, 1);
}
END_TEST

static void reset_connection(int fd)
{
    const struct linger linger = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

static void serve_reset(int fd, int number)
{
    (void)number;
    next_request(fd);
    reset_connection(fd);
}

START_TEST(reset_on_receipt_is_a_reset)
{
    ck_error(post_against(serve_reset), FAILURE_RESET, true);
}
END_TEST

/* The first connections are kept alive. A second request on one of them is not answered, and the connection
 * is closed. */
static void serve_once(int fd, int number)
{
    (void)number;
    if (next_request(fd)) {
        wire_send(fd, SLICE("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
        if (next_request(fd) && number % 2)
            reset_connection(fd);
    }
}

START_TEST(request_is_never_repeated_when_a_kept_alive_connection_dies)
{
    receive_with(serve_once);
    for (size_t i = 0; i < 3; i++)
        post(i); /* three connections, so libcurl has others on which it could repeat the request */
    run(3);
    ck_assert_int_eq(fx.requests, 3);
    post(3);
    run(1);
    ck_error(&fx.results[3].outcome, FAILURE_IDLE_CLOSED, true);
    ck_assert_int_eq(fx.requests, 4);
    ck_assert_int_eq(fx.connections, 3);
    ck_assert_int_eq(fx.send_questions, 4);
}
END_TEST

START_TEST(request_is_never_repeated_on_a_new_connection)
{
    receive_with(serve_once);
    for (size_t i = 0; i < 2; i++) {
        post(i);
        run(1);
    }
    ck_status(&fx.results[0].outcome, 200);
    ck_error(&fx.results[1].outcome, FAILURE_IDLE_CLOSED, true);
    ck_assert_int_eq(fx.requests, 2);
    ck_assert_int_eq(fx.connections, 1);
}
END_TEST

/* Replaces the C library's function, also for libev. If an event is for a descriptor that is no longer in
 * use, libev makes a new set, and adds all descriptors to it. */
int epoll_create1(int flags)
{
    fx.epoll_sets++;
    return (int)syscall(SYS_epoll_create1, flags);
}

static void serve_one(int fd, int number)
{
    (void)number;
    if (next_request(fd))
        wire_send(fd, SLICE("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"));
}

START_TEST(new_connections_need_no_new_epoll_set)
{
    int sets = fx.epoll_sets;
    receive_with(serve_one);
    for (size_t i = 0; i < 20; i++) {
        post(i);
        run(1);
        ck_status(&fx.results[i].outcome, 200);
    }
    ck_assert_int_eq(fx.connections, 20);
    ck_assert_int_eq(fx.epoll_sets, sets);
}
END_TEST

START_TEST(post_that_needs_it_gets_a_fresh_connection)
{
    receive_with(serve_ok);
    post(0);
    run(1);
    fx.needs_fresh = true;
    post(1);
    run(1);
    ck_status(&fx.results[1].outcome, 200);
    ck_assert(!fx.results[1].outcome.is_reused);
    ck_assert_int_eq(fx.connections, 2);
}
END_TEST

/* The second answer on a connection is cut off. */
static void serve_half(int fd, int number)
{
    (void)number;
    if (next_request(fd))
        wire_send(fd, SLICE("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    if (next_request(fd))
        wire_send(fd, SLICE("HTTP/1.1 200 OK\r\nContent-"));
}

START_TEST(what_has_begun_to_be_answered_was_not_closed_for_being_idle)
{
    receive_with(serve_half);
    for (size_t i = 0; i < 2; i++) {
        post(i);
        run(1);
    }
    ck_error(&fx.results[1].outcome, FAILURE_PROTOCOL, true);
    ck_assert_int_eq(fx.connections, 1);
}
END_TEST

static void serve_then_leave(int fd, int number)
{
    (void)number;
    if (next_request(fd))
        wire_send(fd, SLICE("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
}

START_TEST(connection_that_died_idle_is_replaced)
{
    receive_with(serve_then_leave);
    for (size_t i = 0; i < 3; i++) {
        post(i);
        run(1);
        ck_status(&fx.results[i].outcome, 200);
        while (fx.ended != (int)i + 1)
            sched_yield();
    }
    ck_assert_int_eq(fx.requests, 3);
    ck_assert_int_eq(fx.connections, 3);
}
END_TEST

/* Answers one request. When the connection is idle, sends a few bytes or none, and closes this end of the
 * connection. */
static void serve_then_end(int fd, int number)
{
    static const char ends[][8] = {"", "HTTP", "\r\n"}; /* bytes that arrive with the end */
    if (!next_request(fd))
        return;
    wire_send(fd, SLICE("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    while (fx.done < (size_t)number)
        sched_yield();
    wire_send(fd, slice_of(ends[number % 3]));
    shutdown(fd, SHUT_WR);
    fx.half_closed++;
    next_request(fd);
}

static void run_for(int64_t us)
{
    struct timer *soon = timer_new(fx.loop, stop_loop, NULL);
    timer_start(soon, us);
    loop_run(fx.loop);
    timer_free(soon);
}

START_TEST(connection_that_was_closed_while_idle_is_never_used)
{
    receive_with(serve_then_end);
    for (size_t i = 0; i < 12; i++) {
        post(i);
        run(1);
        ck_status(&fx.results[i].outcome, 200);
        pthread_mutex_lock(&last_lock);
        ck_assert_msg(strstr(fx.last, "X-MiXed: a  b") && !strstr(fx.last, "X-Another"), "%s", fx.last);
        pthread_mutex_unlock(&last_lock);
        while (fx.half_closed != (int)i + 1 || (fx.uses_tls && tls_relay_ends() != (int)i + 1))
            sched_yield();
        if (i % 2) /* otherwise the end has arrived, but the loop has not reported it yet */
            run_for(1000);
    }
    ck_assert_int_eq(fx.requests, 12);
    ck_assert_int_eq(fx.connections, 12);
}
END_TEST

static void serve_silence(int fd, int number)
{
    (void)number;
    while (next_request(fd))
        ;
}

START_TEST(no_answer_is_a_timeout)
{
    receive_with(serve_silence);
    post_to(0, fx.url, SLICE("x"), 200);
    run(1);
    ck_error(&fx.results[0].outcome, FAILURE_TIMEOUT, true);
    ck_assert_int_ge(fx.results[0].outcome.duration_ms, 190);
    ck_assert_int_lt(fx.results[0].outcome.duration_ms, WIRE_DEADLINE_MS);
}
END_TEST

START_TEST(nobody_listening_is_a_connect_error)
{
    close(fx.receiver.listen_fd);
    post(0);
    run(1);
    ck_error(&fx.results[0].outcome, FAILURE_CONNECT, false);
    fx.receiver.listen_fd = wire_listen(&fx.receiver.port);
}
END_TEST

/* The process has no descriptor for another connection. */
START_TEST(no_descriptor_is_a_connect_error_at_once)
{
    struct rlimit before, none;
    int next = dup(0);
    close(next);
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = (rlim_t)next;
    setrlimit(RLIMIT_NOFILE, &none);
    post(0);
    run(1);
    setrlimit(RLIMIT_NOFILE, &before);
    ck_error(&fx.results[0].outcome, FAILURE_CONNECT, false);
    ck_assert(slice_ends_with(fx.results[0].outcome.detail, SLICE("Too many open files")));
    ck_assert_int_lt(fx.results[0].outcome.duration_ms, 2000);
}
END_TEST

static void serve_no_tls(int fd, int number)
{
    (void)number;
    char byte;
    ck_assert_int_eq(recv(fd, &byte, 1, 0), 1);
    wire_send(fd, SLICE("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"));
}

START_TEST(plain_http_behind_https_is_a_tls_error)
{
    char url[64];
    snprintf(url, sizeof url, "https://127.0.0.1:%d/", fx.receiver.port);
    fx.uses_tls = false;
    receive_with(serve_no_tls);
    post_to(0, url, SLICE("x"), TIMEOUT_MS);
    run(1);
    ck_error(&fx.results[0].outcome, FAILURE_TLS, false);
}
END_TEST

START_TEST(dead_name_is_a_dns_error_and_stalls_nobody)
{
    receive_with(serve_ok);
    post_to(0, "http://nonexistent.invalid/", SLICE("x"), TIMEOUT_MS);
    for (size_t i = 1; i <= 20; i++)
        post(i);
    run(21);
    ck_error(&fx.results[0].outcome, FAILURE_DNS, false);
    for (size_t i = 1; i <= 20; i++) {
        ck_status(&fx.results[i].outcome, 200);
        ck_assert_int_lt(fx.results[i].outcome.duration_ms, 5000);
    }
}
END_TEST

/* --- may_connect and may_send --- */

START_TEST(refused_address_gets_no_packet)
{
    receive_with(serve_ok);
    fx.may_connect = false;
    post(0);
    run(1);
    ck_error(&fx.results[0].outcome, FAILURE_TARGET_REFUSED, false);
    ck_assert_int_eq(fx.connections, 0);
    ck_assert_int_eq(fx.send_questions, 0);
}
END_TEST

START_TEST(address_of_a_reused_connection_is_asked_again)
{
    receive_with(serve_ok);
    post(0);
    run(1);
    ck_status(&fx.results[0].outcome, 200);
    fx.may_connect = false;
    post(1);
    run(1);
    ck_error(&fx.results[1].outcome, FAILURE_TARGET_REFUSED, false);
    ck_assert_int_eq(fx.requests, 1);
    ck_assert_int_eq(fx.connections, 1);
}
END_TEST

START_TEST(post_that_may_not_be_sent_stays_unsent)
{
    receive_with(serve_ok);
    fx.may_send = false;
    post(0);
    run(1);
    ck_error(&fx.results[0].outcome, FAILURE_UNSENT, false);
    ck_assert_int_eq(fx.requests, 0);
    fx.may_send = true;
    post(1);
    run(1);
    ck_status(&fx.results[1].outcome, 200);
    ck_assert_int_eq(fx.requests, 1);
}
END_TEST

static void serve_late(int fd, int number)
{
    (void)number;
    while (next_request(fd)) {
        for (int64_t end_us = clock_boot_us() + 2 * FREEZE_GUARD_US; clock_boot_us() < end_us;)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        wire_send(fd, SLICE("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    }
}

START_TEST(what_a_long_freeze_held_up_is_unsent_and_nothing_else)
{
    receive_with(serve_late);
    post(0);
    struct timer *soon = timer_new(fx.loop, stop_loop, NULL);
    while (fx.requests == 0) {
        timer_start(soon, 10000);
        loop_run(fx.loop);
    }
    timer_free(soon);
    fx.freeze_us = FREEZE_GUARD_US + 200000;
    post(1);
    run(2);
    ck_error(&fx.results[1].outcome, FAILURE_UNSENT, false);
    ck_status(&fx.results[0].outcome, 200);
    ck_assert_int_eq(fx.requests, 1);
}
END_TEST

/* A proxy from the environment would hide the receiver's address from may_connect. */
START_TEST(proxy_of_the_environment_is_not_used)
{
    setenv("http_proxy", "http://127.0.0.1:1/", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1/", 1);
    ck_status(post_against(serve_ok), 200);
}
END_TEST

/* --- Posts that start and end other posts --- */

static struct http_call *others[2];

static void post_next(void *arg, const struct http_outcome *outcome)
{
    size_t *index = arg;
    fx.results[*index].outcome = *outcome;
    if (*index < 99) {
        (*index)++;
        const struct http_call_request request = {.url = slice_of(fx.url),
                                                  .body = SLICE("x"),
                                                  .timeout_ms = TIMEOUT_MS,
                                                  .may_connect = may_connect,
                                                  .may_send = may_send,
                                                  .on_done = post_next,
                                                  .arg = index};
        http_call(fx.client, &request);
    } else {
        loop_stop(fx.loop);
    }
}

START_TEST(on_done_may_start_the_next_post)
{
    size_t index = 0;
    receive_with(serve_ok);
    const struct http_outcome nothing = {0};
    post_next(&index, &nothing);
    run(1000);
    for (size_t i = 1; i <= 99; i++)
        ck_status(&fx.results[i].outcome, 200);
    ck_assert_int_eq(fx.connections, 1);
}
END_TEST

static void abort_others(void *arg, const struct http_outcome *outcome)
{
    http_call_abort(others[0]);
    http_call_abort(others[1]);
    on_done(arg, outcome);
}

/* All three posts fail together. The on_done of the first one aborts the others, whose on_done must not be
 * called. */
START_TEST(on_done_may_abort_posts_that_have_ended_too)
{
    struct http_call_request request = {.url = slice_of(fx.url),
                                        .timeout_ms = TIMEOUT_MS,
                                        .may_connect = may_connect,
                                        .may_send = may_send,
                                        .on_done = abort_others,
                                        .arg = &fx.results[0]};
    fx.may_connect = false;
    http_call(fx.client, &request);
    others[0] = post(1);
    others[1] = post(2);
    run(1);
    ck_assert(!fx.results[1].is_done && !fx.results[2].is_done);
}
END_TEST

START_TEST(aborted_post_is_not_told_and_its_connection_closed)
{
    receive_with(serve_silence);
    struct http_call *aborted = post(0);
    post_to(1, fx.url, SLICE("x"), 1000);
    /* Until both requests have arrived. On a busy machine, the second one may miss its timeout. */
    while (fx.requests < 2 && !fx.results[1].is_done) {
        struct timer *timer = timer_new(fx.loop, stop_loop, NULL);
        timer_start(timer, 1000);
        loop_run(fx.loop);
        timer_free(timer);
    }
    http_call_abort(aborted);
    if (!fx.results[1].is_done)
        run(1);
    ck_assert(!fx.results[0].is_done);
    ck_error(&fx.results[1].outcome, FAILURE_TIMEOUT, fx.results[1].outcome.was_sent || fx.requests == 2);
}
END_TEST

/* The body of the answer takes seconds. */
START_TEST(hurried_post_ends_as_soon_as_its_status_is_known)
{
    receive_with(serve_slow_body);
    int64_t begin_us = loop_now_us(fx.loop);
    struct http_call *hurried = post(0);
    while (!http_call_hurry(hurried)) {
        struct timer *timer = timer_new(fx.loop, stop_loop, NULL);
        ck_assert(!fx.results[0].is_done);
        timer_start(timer, 1000);
        loop_run(fx.loop);
        timer_free(timer);
    }
    ck_assert(!fx.results[0].is_done);
    ck_assert(http_call_hurry(hurried)); /* on_done will be called once */
    run(1);
    ck_status(&fx.results[0].outcome, 200);
    ck_assert(loop_now_us(fx.loop) - begin_us < 1900000);
}
END_TEST

START_TEST(aborted_before_its_turn_ends_nothing_is_sent)
{
    receive_with(serve_ok);
    http_call_abort(post(0));
    post(1);
    run(1);
    ck_status(&fx.results[1].outcome, 200);
    ck_assert(!fx.results[0].is_done);
    ck_assert_int_eq(fx.requests, 1);
}
END_TEST

/* One post is still in its name lookup. Freeing the client must not wait for this lookup. */
START_TEST(client_is_freed_with_posts_in_flight)
{
    receive_with(serve_silence);
    post_to(0, "http://nonexistent.invalid/", SLICE("x"), TIMEOUT_MS);
    for (size_t i = 1; i < 10; i++)
        post(i);
    post_to(10, fx.url, SLICE("x"), 300);
    struct timer *timer = timer_new(fx.loop, stop_loop, NULL);
    timer_start(timer, 2000);
    loop_run(fx.loop);
    timer_free(timer);
    int64_t before_us = clock_boot_us();
    http_client_free(fx.client);
    ck_assert_int_lt(clock_boot_us() - before_us, 3 * 1000 * 1000);
    fx.client = NULL;
    ck_assert(!fx.results[1].is_done);
}
END_TEST

/* ---- new connections that libcurl closes ---- */

static curl_socket_t open_none(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)arg, (void)purpose, (void)address;
    return CURL_SOCKET_BAD;
}

/* Ends a connection that no call uses, and begins another call in libcurl. libcurl then closes the dead
 * connection; it looks for such connections at most once a second. With session tickets that were not read,
 * libcurl 7.88 would not find that the connection is dead. */
static void make_libcurl_close(CURLM *multi, int fd)
{
    int running;
    char bytes[4096];
    CURL *other = curl_easy_init();
    curl_easy_setopt(other, CURLOPT_URL, "http://127.0.0.1/");
    curl_easy_setopt(other, CURLOPT_OPENSOCKETFUNCTION, open_none);
    shutdown(fd, SHUT_RDWR);
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 50000000}, NULL);
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
    curl_multi_add_handle(multi, other);
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    curl_multi_remove_handle(multi, other);
    curl_easy_cleanup(other);
}

/* Replaces libcurl's function. Before the client learns that libcurl has made a connection, libcurl closes
 * it. */
CURLMsg *curl_multi_info_read(CURLM *multi, int *left)
{
    static CURLMsg *(*read_next)(CURLM *, int *);
    curl_socket_t fd = CURL_SOCKET_BAD;
    if (!read_next)
        *(void **)&read_next = dlsym(RTLD_NEXT, "curl_multi_info_read");
    CURLMsg *message = read_next(multi, left);
    if (!message || !fx.closings)
        return message;
    curl_easy_getinfo(message->easy_handle, CURLINFO_ACTIVESOCKET, &fd);
    if (fd != CURL_SOCKET_BAD) {
        fx.closings--;
        make_libcurl_close(multi, fd);
        curl_easy_getinfo(message->easy_handle, CURLINFO_ACTIVESOCKET, &fd);
        ck_assert_int_eq(fd, CURL_SOCKET_BAD);
    }
    return message;
}

START_TEST(a_connection_that_libcurl_has_closed_is_made_again)
{
    enum { POSTS = 100, CLOSINGS = 3 };
    receive_with(serve_ok);
    fx.closings = CLOSINGS;
    for (size_t i = 0; i < POSTS; i++)
        post(i);
    run(POSTS);
    for (size_t i = 0; i < POSTS; i++)
        ck_status(&fx.results[i].outcome, 200);
    ck_assert_int_eq(fx.closings, 0);
    ck_assert_int_eq(fx.requests, POSTS);
    ck_assert_int_ge(fx.connections, POSTS + CLOSINGS);
}
END_TEST

/* The receiver ends each connection after the handshake. */
START_TEST(connections_that_libcurl_always_closes_end_with_the_timeout)
{
    receive_with(serve_ok);
    fx.closings = 100;
    post_to(0, fx.url, SLICE("x"), 2500);
    run(1);
    ck_error(&fx.results[0].outcome, FAILURE_TIMEOUT, false);
    ck_assert_int_eq(fx.requests, 0);
}
END_TEST

/* ---- TLS ---- */

START_TEST(a_new_connection_resumes_a_session)
{
    receive_with(serve_one);
    for (size_t i = 0; i < 10; i++) {
        post(i);
        run(1);
        ck_status(&fx.results[i].outcome, 200);
    }
    ck_assert_int_eq(fx.connections, 10);
    ck_assert_int_ge(tls_relay_resumed(), 8);
}
END_TEST

/* libssl handles such records before it returns bytes, so without a limit they would keep the loop inside
 * one read, and all other calls would miss their deadlines. */
START_TEST(endless_session_tickets_are_cut)
{
    enum { MANY = 60000 };
    tls_relay_send_tickets(MANY);
    post_against(serve_ok);
    ck_assert_uint_eq(tls_relay_sent_tickets(), 0);
    ck_assert_int_ne(fx.results[0].outcome.error, FAILURE_NONE);
    tls_relay_send_tickets(0);
}
END_TEST

START_TEST(some_session_tickets_are_no_fault)
{
    enum { SOME = 20 };
    tls_relay_send_tickets(SOME);
    ck_status(post_against(serve_ok), 200);
    ck_assert_uint_gt(tls_relay_sent_tickets(), 0);
    post(1);
    run(1);
    ck_status(&fx.results[1].outcome, 200);
    ck_assert_int_eq(fx.connections, 1);
    tls_relay_send_tickets(0);
}
END_TEST

/* Each test runs four times: with our own client, and with libcurl for all requests; without TLS, and with
 * it. */
static void add_cases(Suite *s, const char *name, void (*add_tests)(TCase *))
{
    static void (*const starts[])(void) = {start, start_libcurl, start_tls, start_libcurl_tls};
    for (size_t i = 0; i < 4; i++) {
        TCase *tc = tcase_create(name);
        tcase_set_timeout(tc, 60);
        tcase_add_checked_fixture(tc, starts[i], stop);
        add_tests(tc);
        suite_add_tcase(s, tc);
    }
}

static void add_requests(TCase *tc)
{
    tcase_add_test(tc, request_is_exactly_what_the_caller_gave);
    tcase_add_test(tc, empty_body_says_so);
    tcase_add_test(tc, headers_without_content_type_have_none);
    tcase_add_loop_test(tc, each_method_is_sent_with_its_body_or_without_one, 0, METHODS);
    tcase_add_test(tc, each_method_may_follow_each_other_one);
    tcase_add_test(tc, a_get_is_never_repeated_either);
    tcase_add_test(tc, large_body_with_nul_bytes_arrives_whole_without_expect);
    tcase_add_test(tc, connection_is_used_again);
    tcase_add_test(tc, new_connections_need_no_new_epoll_set);
    tcase_add_test(tc, post_that_needs_it_gets_a_fresh_connection);
    tcase_add_test(tc, three_hundred_posts_are_in_flight_at_once);
    tcase_add_test(tc, proxy_of_the_environment_is_not_used);
}

static void add_answers(TCase *tc)
{
    tcase_add_loop_test(tc, status_is_that_of_the_final_head, 0, (int)(sizeof answers / sizeof *answers));
    tcase_add_loop_test(tc, an_answer_may_ask_for_the_job_again, 0, (int)(sizeof agains / sizeof *agains));
    tcase_add_test(tc, retry_after_may_be_a_date);
    tcase_add_test(tc, answer_before_the_body_was_sent_counts);
    tcase_add_test(tc, huge_body_is_cut_and_the_status_counts);
    tcase_add_test(tc, slow_body_is_not_waited_for);
    tcase_add_loop_test(tc, what_came_of_the_body_is_told, 0, (int)(sizeof bodies / sizeof *bodies));
    tcase_add_test(tc, a_long_body_is_told_as_far_as_it_goes);
    tcase_add_test(tc, a_large_answer_is_told_where_it_is_wanted);
    tcase_add_test(tc, without_an_answer_nothing_is_told_of_its_body);
    tcase_add_test(tc, endless_headers_are_too_large);
    tcase_add_test(tc, endless_header_line_is_too_large);
    tcase_add_test(tc, endless_interim_answers_are_too_large);
    tcase_add_test(tc, garbage_is_a_protocol_error);
    tcase_add_loop_test(tc, a_head_that_no_client_understands_is_a_protocol_error, 0,
                        (int)(sizeof not_understood / sizeof *not_understood));
    tcase_add_test(tc, a_first_header_that_is_folded_does_no_harm_after_an_earlier_answer);
    tcase_add_loop_test(tc, a_late_body_is_not_the_next_answer, 0,
                        (int)(sizeof last_answers / sizeof *last_answers));
}

static void add_shortages(Suite *s, void (*start_client)(void))
{
    TCase *tc = tcase_create("shortages");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, start_client, stop);
    tcase_add_test(tc, a_lack_of_memory_is_not_a_large_answer);
    suite_add_tcase(s, tc);
}

static void add_failures(TCase *tc)
{
    tcase_add_test(tc, close_on_receipt_is_a_reset);
    tcase_add_test(tc, reset_on_receipt_is_a_reset);
    tcase_add_test(tc, request_is_never_repeated_when_a_kept_alive_connection_dies);
    tcase_add_test(tc, request_is_never_repeated_on_a_new_connection);
    tcase_add_test(tc, connection_that_died_idle_is_replaced);
    tcase_add_test(tc, connection_that_was_closed_while_idle_is_never_used);
    tcase_add_test(tc, what_has_begun_to_be_answered_was_not_closed_for_being_idle);
    tcase_add_test(tc, no_answer_is_a_timeout);
    tcase_add_test(tc, nobody_listening_is_a_connect_error);
    tcase_add_test(tc, no_descriptor_is_a_connect_error_at_once);
    tcase_add_test(tc, plain_http_behind_https_is_a_tls_error);
    tcase_add_test(tc, dead_name_is_a_dns_error_and_stalls_nobody);
}

static void add_questions_and_ends(TCase *tc)
{
    tcase_add_test(tc, refused_address_gets_no_packet);
    tcase_add_test(tc, address_of_a_reused_connection_is_asked_again);
    tcase_add_test(tc, what_a_long_freeze_held_up_is_unsent_and_nothing_else);
    tcase_add_test(tc, post_that_may_not_be_sent_stays_unsent);
    tcase_add_test(tc, on_done_may_start_the_next_post);
    tcase_add_test(tc, on_done_may_abort_posts_that_have_ended_too);
    tcase_add_test(tc, aborted_post_is_not_told_and_its_connection_closed);
    tcase_add_test(tc, hurried_post_ends_as_soon_as_its_status_is_known);
    tcase_add_test(tc, aborted_before_its_turn_ends_nothing_is_sent);
    tcase_add_test(tc, client_is_freed_with_posts_in_flight);
}

static void add_closings(Suite *s, void (*start_client)(void))
{
    TCase *tc = tcase_create("new connections that libcurl closes");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, start_client, stop);
    tcase_add_test(tc, a_connection_that_libcurl_has_closed_is_made_again);
    tcase_add_test(tc, connections_that_libcurl_always_closes_end_with_the_timeout);
    suite_add_tcase(s, tc);
}

static void add_sessions(Suite *s, void (*start_client)(void))
{
    TCase *tc = tcase_create("sessions");
    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, start_client, stop);
    tcase_add_test(tc, a_new_connection_resumes_a_session);
    tcase_add_test(tc, endless_session_tickets_are_cut);
    tcase_add_test(tc, some_session_tickets_are_no_fault);
    suite_add_tcase(s, tc);
}

Suite *suite(void)
{
    Suite *s = suite_create("http_client");
    add_cases(s, "requests", add_requests);
    add_cases(s, "answers", add_answers);
    add_cases(s, "failures", add_failures);
    add_cases(s, "questions and ends", add_questions_and_ends);
    add_shortages(s, start_libcurl);
    add_shortages(s, start_libcurl_tls);
    add_closings(s, start);
    add_closings(s, start_tls);
    add_sessions(s, start_tls);
    add_sessions(s, start_libcurl_tls);
    return s;
}
