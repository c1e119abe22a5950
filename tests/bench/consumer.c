/* consumer.c - a worker of beanstalkd that POSTs each job with libcurl. The benchmarks compare duepost with
 * it, and with libcurl alone.
 *
 *   bench_consumer PORT CALLBACK_URL CONNECTIONS
 *   bench_consumer 0 CALLBACK_URL CONNECTIONS POSTS CA_FILE
 *
 * Each connection reserves a job, POSTs its body to the url, and deletes the job when the receiver has
 * answered 2xx. The same write also reserves the next job. A job that fails is released and waits for a
 * second. The worker runs until it is killed.
 *
 * The second form needs no beanstalkd: the program POSTs the same body POSTS times, and prints its processor
 * time, in us a POST. */
#include <assert.h>
#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/slice.h"

enum { ROOM = 4096, EVENTS_MAX = 256, TIMEOUT_S = 30, BACKLOG_WAIT_MS = 1000, BODY_BYTES = 200 };

static const uint64_t IS_CURL =
    UINT64_C(1)
    << 32; /* marks the data of an event as a socket of libcurl, and not the number of a connection */

struct connection {
    int fd;
    CURL *easy;
    unsigned long long job;
    size_t used;
    char room[ROOM]; /* contains the job's body while the body is POSTed */
};

struct consumer {
    int epoll;
    CURLM *multi;
    struct connection *connections;
    int64_t curl_due_ms; /* time at which libcurl must be called; 0: never */
    bool is_alone;       /* without beanstalkd */
    long to_begin;       /* alone: number of POSTs that have not begun */
    long to_end;         /* alone: number of POSTs that have not ended */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "consumer: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* ---- beanstalkd ---- */

static void send_words(const struct connection *connection, const char *words, int size)
{
    if (write(connection->fd, words, (size_t)size) != size)
        fail("write");
}

static void end_job(struct connection *connection, bool is_delivered)
{
    char words[128];
    int size = snprintf(words, sizeof words,
                        is_delivered ? "delete %llu\r\nreserve\r\n" : "release %llu 0 1\r\nreserve\r\n",
                        connection->job);
    connection->used = 0;
    send_words(connection, words, size);
}

static void post(struct consumer *consumer, struct connection *connection, const char *body, long size)
{
    curl_easy_setopt(connection->easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(connection->easy, CURLOPT_POSTFIELDSIZE, size);
    curl_multi_add_handle(consumer->multi, connection->easy);
}

static void post_fixed(struct consumer *consumer, struct connection *connection)
{
    if (consumer->to_begin == 0)
        return;
    consumer->to_begin--;
    memset(connection->room, 'x', BODY_BYTES);
    post(consumer, connection, connection->room, BODY_BYTES);
}

/* Reads the answer to delete or release, if one was sent, and the next job. */
static void read_answers(struct consumer *consumer, struct connection *connection)
{
    ssize_t got = read(connection->fd, connection->room + connection->used, ROOM - 1 - connection->used);
    if (got <= 0)
        fail("beanstalkd closed the connection");
    connection->used += (size_t)got;
    connection->room[connection->used] = '\0';
    char *line = strstr(connection->room, "RESERVED "), *end = line ? strstr(line, "\r\n") : NULL;
    long size;
    if (!end || sscanf(line, "RESERVED %llu %ld", &connection->job, &size) != 2)
        return;
    size_t body_at = (size_t)(end + 2 - connection->room);
    if (connection->used >= body_at + (size_t)size + 2)
        post(consumer, connection, connection->room + body_at, size);
}

static void connect_to_beanstalkd(const struct consumer *consumer, int number, uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct connection *connection = &consumer->connections[number];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)number};
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    epoll_ctl(consumer->epoll, EPOLL_CTL_ADD, connection->fd, &event);
    send_words(connection, "reserve\r\n", 9);
}

/* ---- libcurl ---- */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *data, void *known)
{
    struct consumer *consumer = data;
    struct epoll_event event = {.data.u64 = IS_CURL | (uint64_t)fd};
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
    if (what == CURL_POLL_REMOVE)
        epoll_ctl(consumer->epoll, EPOLL_CTL_DEL, fd, NULL);
    else
        epoll_ctl(consumer->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
    curl_multi_assign(consumer->multi, fd, what == CURL_POLL_REMOVE ? NULL : consumer);
    (void)easy;
    return 0;
}

static int on_timer(CURLM *multi, long wait_ms, void *data)
{
    struct consumer *consumer = data;
    consumer->curl_due_ms = wait_ms < 0 ? 0 : now_ms() + wait_ms;
    (void)multi;
    return 0;
}

static size_t ignore_answer(char *bytes, size_t size, size_t count, void *data)
{
    (void)bytes, (void)data;
    return size * count;
}

static void end_posts(struct consumer *consumer)
{
    int left;
    for (CURLMsg *message; (message = curl_multi_info_read(consumer->multi, &left));) {
        struct connection *connection;
        CURLcode result = message->data.result;
        long status = 0;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&connection);
        curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
        curl_multi_remove_handle(consumer->multi, connection->easy);
        bool is_delivered = result == CURLE_OK && status / 100 == 2;
        if (!consumer->is_alone) {
            end_job(connection, is_delivered);
            continue;
        }
        if (!is_delivered) {
            fprintf(stderr, "consumer: %s, status %ld\n", curl_easy_strerror(result), status);
            exit(EXIT_FAILURE);
        }
        consumer->to_end--;
        post_fixed(consumer, connection);
    }
}

static CURL *new_easy(const char *url, const char *ca_file, struct curl_slist *headers,
                      struct connection *connection)
{
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore_answer);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, connection);
    if (ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
    return easy;
}

/* ---- the frame ---- */

static int wait_ms(const struct consumer *consumer)
{
    if (!consumer->curl_due_ms)
        return BACKLOG_WAIT_MS;
    int64_t left_ms = consumer->curl_due_ms - now_ms();
    return left_ms > 0 ? (int)left_ms : 0;
}

static void on_event(struct consumer *consumer, const struct epoll_event *event)
{
    int running, what = (event->events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                        (event->events & ~(uint32_t)EPOLLOUT ? CURL_CSELECT_IN : 0);
    if (event->data.u64 & IS_CURL)
        curl_multi_socket_action(consumer->multi, (curl_socket_t)(event->data.u64 & ~IS_CURL), what,
                                 &running);
    else
        read_answers(consumer, &consumer->connections[event->data.u64]);
}

static void run(struct consumer *consumer)
{
    struct epoll_event events[EVENTS_MAX];
    int running;
    while (!consumer->is_alone || consumer->to_end > 0) {
        int count = epoll_wait(consumer->epoll, events, EVENTS_MAX, wait_ms(consumer));
        for (int i = 0; i < count; i++)
            on_event(consumer, &events[i]);
        if (consumer->curl_due_ms && consumer->curl_due_ms <= now_ms()) {
            consumer->curl_due_ms = 0;
            curl_multi_socket_action(consumer->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        end_posts(consumer);
    }
}

static void print_cost(long posts)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double us = 1e6 * (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    printf("%.3f\n", us / (double)posts);
}

int main(int argc, char **argv)
{
    struct consumer consumer = {.epoll = epoll_create1(EPOLL_CLOEXEC), .is_alone = argc == 6};
    if (argc != 4 && argc != 6) {
        fprintf(stderr, "consumer PORT CALLBACK_URL CONNECTIONS [POSTS CA_FILE]\n");
        return EXIT_FAILURE;
    }
    int connections = atoi(argv[3]);
    long posts = consumer.is_alone ? atol(argv[4]) : 0;
    consumer.to_begin = consumer.to_end = posts;
    consumer.connections = NEW_ARRAY(struct connection, (size_t)connections);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    consumer.multi = curl_multi_init();
    curl_multi_setopt(consumer.multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(consumer.multi, CURLMOPT_SOCKETDATA, &consumer);
    curl_multi_setopt(consumer.multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(consumer.multi, CURLMOPT_TIMERDATA, &consumer);
    curl_multi_setopt(consumer.multi, CURLMOPT_MAXCONNECTS, (long)connections);
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    for (int i = 0; i < connections; i++) {
        struct connection *connection = &consumer.connections[i];
        connection->easy = new_easy(argv[2], consumer.is_alone ? argv[5] : NULL, headers, connection);
        if (consumer.is_alone)
            post_fixed(&consumer, connection);
        else
            connect_to_beanstalkd(&consumer, i, (uint16_t)atoi(argv[1]));
    }
    run(&consumer);
    print_cost(posts);
}
