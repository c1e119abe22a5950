#include "cli/bench_receiver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "io/http_limits.h"
#include "io/http_server.h"

enum {
    BACKLOG = 1024,
    CONNECTIONS_MAX = 10000,
    BODY_MAX = 64 * 1024,
    BODIES_MAX = 64 * 1024 * 1024,
    HEAD_MAX = 128, /* start of a body: the series, number and due time of the job */
    PADDING = 120,  /* bytes that fill a body up to about 200 bytes */
};

struct bench_receiver {
    struct bench_receiver_options options;
    uint16_t port;
    struct loop *loop;
    struct http_server *server;
    struct http_limits *limits;
    pthread_t thread;

    pthread_mutex_t lock; /* protects the members below */
    uint32_t series;
    size_t count;
    bool *has_come;   /* has_come[n]: the job with the number n has come */
    int64_t *late_us; /* lateness of the jobs that have a due time */
    size_t late_count;
    struct bench_received received;
};

/* ---- bodies ---- */

void bench_receiver_write_body(struct buffer *text, const char *key, uint32_t series, size_t number,
                               int64_t due_ms)
{
    buffer_printf(text, "{\"bench\":\"%s\",\"series\":%" PRIu32 ",\"number\":%zu,\"due\":%" PRId64, key,
                  series, number, due_ms);
    buffer_printf(text, ",\"padding\":\"%0*d\"}", PADDING, 0);
}

/* Reads a body that bench_receiver_write_body has written. */
static bool read_body(const struct bench_receiver *receiver, struct slice body, uint32_t *series,
                      size_t *number, int64_t *due_ms)
{
    char head[HEAD_MAX + 1] = "", key[BENCH_KEY_SIZE];
    memcpy(head, body.data ? body.data : "", body.size < HEAD_MAX ? body.size : HEAD_MAX);
    /* NOLINTNEXTLINE(cert-err34-c): bodies of other senders do not have this key */
    return sscanf(head, "{\"bench\":\"%16[0-9a-f]\",\"series\":%" SCNu32 ",\"number\":%zu,\"due\":%" SCNd64,
                  key, series, number, due_ms) == 4 &&
           strcmp(key, receiver->options.key) == 0;
}

/* ---- jobs ---- */

static void note_job(struct bench_receiver *receiver, size_t number, int64_t due_ms)
{
    if (receiver->has_come[number]) {
        receiver->received.repeats++;
        return;
    }
    receiver->has_come[number] = true;
    receiver->received.jobs++;
    receiver->received.last_us = clock_steady_us();
    if (due_ms)
        receiver->late_us[receiver->late_count++] = clock_wall_us() - due_ms * 1000;
}

static void answer_status(struct http_request *request, unsigned status)
{
    http_answer(request, &(struct http_answer){.status = status});
}

static void on_request(void *arg, struct http_request *request)
{
    struct bench_receiver *receiver = arg;
    uint32_t series;
    size_t number;
    int64_t due_ms;
    if (!read_body(receiver, http_request_body(request), &series, &number, &due_ms)) {
        answer_status(request, 404);
        return;
    }
    pthread_mutex_lock(&receiver->lock);
    if (series == receiver->series && number < receiver->count)
        note_job(receiver, number, due_ms);
    pthread_mutex_unlock(&receiver->lock);
    answer_status(request, 204);
}

static void on_head(void *arg, struct http_request *request)
{
    (void)arg;
    if (http_request_is_over_limit(request))
        answer_status(request, 503);
}

static void on_too_large(void *arg, struct http_request *request)
{
    (void)arg;
    answer_status(request, 413);
}

static void on_over_limit(void *arg, struct http_request *request)
{
    (void)arg;
    answer_status(request, 503);
}

static void on_malformed(void *arg, struct http_request *request, const char *detail)
{
    (void)arg;
    (void)detail;
    answer_status(request, 400);
}

/* ---- start and stop ---- */

/* Returns a listening socket and its port, or -1. */
static int listen_at(const struct bench_receiver_options *options, uint16_t *port)
{
    struct sockaddr_storage address = {.ss_family = AF_INET};
    struct sockaddr_in *v4 = (void *)&address;
    struct sockaddr_in6 *v6 = (void *)&address;
    socklen_t size = sizeof *v4;
    v4->sin_port = htons(options->port);
    if (inet_pton(AF_INET, options->host, &v4->sin_addr) != 1) {
        size = sizeof *v6;
        *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(options->port)};
        if (inet_pton(AF_INET6, options->host, &v6->sin6_addr) != 1) {
            errno = EINVAL;
            return -1;
        }
    }
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        close(fd);
        return -1;
    }
    *port = ntohs(address.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
    return fd;
}

static void *receiver_run(void *arg)
{
    struct bench_receiver *receiver = arg;
    loop_run(receiver->loop);
    return NULL;
}

static void start_server(struct bench_receiver *receiver, int fd)
{
    const struct http_limits_options limits = {.connections = CONNECTIONS_MAX, .body_bytes = BODIES_MAX};
    receiver->limits = http_limits_new(&limits);
    const struct http_server_options options = {
        .listen_fd = fd,
        .handler = {.max_body_bytes = BODY_MAX,
                    .limits = receiver->limits,
                    .max_waiting = CONNECTIONS_MAX,
                    .on_head = on_head,
                    .on_request = on_request,
                    .on_too_large = on_too_large,
                    .on_over_limit = on_over_limit,
                    .on_malformed = on_malformed,
                    .arg = receiver},
    };
    receiver->loop = loop_new();
    receiver->server = http_server_new(receiver->loop, &options);
}

struct bench_receiver *bench_receiver_start(const struct bench_receiver_options *options,
                                            struct problem *problem)
{
    uint16_t port;
    int fd = listen_at(options, &port);
    if (fd < 0) {
        problem_set(problem, "the receiver cannot listen at %s, port %u: %s; set --receiver-listen",
                    options->host, options->port, strerror(errno));
        return NULL;
    }
    struct bench_receiver *receiver = NEW(struct bench_receiver);
    receiver->options = *options;
    receiver->port = port;
    pthread_mutex_init(&receiver->lock, NULL);
    start_server(receiver, fd);
    if (pthread_create(&receiver->thread, NULL, receiver_run, receiver) != 0)
        abort();
    return receiver;
}

static void receiver_end(void *arg)
{
    struct bench_receiver *receiver = arg;
    loop_stop(receiver->loop);
}

void bench_receiver_stop(struct bench_receiver *receiver)
{
    if (!receiver)
        return;
    loop_post(receiver->loop, receiver_end, receiver);
    pthread_join(receiver->thread, NULL);
    http_server_free(receiver->server);
    http_limits_free(receiver->limits);
    loop_free(receiver->loop);
    pthread_mutex_destroy(&receiver->lock);
    free(receiver->has_come);
    free(receiver->late_us);
    free(receiver);
}

uint16_t bench_receiver_port(const struct bench_receiver *receiver)
{
    return receiver->port;
}

/* ---- series ---- */

void bench_receiver_begin(struct bench_receiver *receiver, uint32_t series, size_t count)
{
    pthread_mutex_lock(&receiver->lock);
    free(receiver->has_come);
    free(receiver->late_us);
    receiver->series = series;
    receiver->count = count;
    receiver->has_come = NEW_ARRAY(bool, count);
    receiver->late_us = NEW_ARRAY(int64_t, count);
    receiver->late_count = 0;
    receiver->received = (struct bench_received){.jobs = 0};
    pthread_mutex_unlock(&receiver->lock);
}

struct bench_received bench_receiver_count(struct bench_receiver *receiver)
{
    pthread_mutex_lock(&receiver->lock);
    struct bench_received received = receiver->received;
    pthread_mutex_unlock(&receiver->lock);
    return received;
}

size_t bench_receiver_missing(struct bench_receiver *receiver)
{
    size_t number = 0;
    pthread_mutex_lock(&receiver->lock);
    while (number < receiver->count && receiver->has_come[number])
        number++;
    pthread_mutex_unlock(&receiver->lock);
    return number;
}

static int compare_us(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

/* Returns a quantile in milliseconds of times that are sorted. */
static double quantile_ms(const int64_t *us, size_t count, unsigned percent)
{
    size_t at = (count - 1) * percent / 100;
    return (double)us[at] / 1e3;
}

struct bench_lateness bench_receiver_lateness(struct bench_receiver *receiver, int64_t offset_ms)
{
    struct bench_lateness lateness = {.jobs = 0};
    pthread_mutex_lock(&receiver->lock);
    size_t count = receiver->late_count;
    int64_t *us = receiver->late_us;
    if (count > 0) {
        qsort(us, count, sizeof *us, compare_us);
        lateness = (struct bench_lateness){.jobs = count,
                                           .p50_ms = quantile_ms(us, count, 50) + (double)offset_ms,
                                           .p99_ms = quantile_ms(us, count, 99) + (double)offset_ms,
                                           .max_ms = quantile_ms(us, count, 100) + (double)offset_ms};
    }
    for (size_t i = 0; i < count && us[i] + offset_ms * 1000 < 0; i++)
        lateness.early++;
    pthread_mutex_unlock(&receiver->lock);
    return lateness;
}
