#include "cli/local_receiver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/http_limits.h"
#include "io/http_server.h"

enum {
    BACKLOG = 1024,
    CONNECTIONS_MAX = 10000,
    BODIES_MAX = 64 * 1024 * 1024,
};

struct local_receiver {
    struct local_receiver_options options;
    struct loop *loop;
    struct http_server *server;
    struct http_limits *limits;
    pthread_t thread;
};

/* ---- requests that are refused ---- */

static void answer_status(struct http_request *request, unsigned status)
{
    http_answer(request, &(struct http_answer){.status = status});
}

static void on_request(void *arg, struct http_request *request)
{
    struct local_receiver *receiver = arg;
    receiver->options.on_request(receiver->options.arg, request);
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

bool local_receiver_read_place(const char *text, struct local_receiver_place *place)
{
    const char *colon = strrchr(text, ':');
    struct slice host = slice_from(text, colon ? (size_t)(colon - text) : 0);
    uint64_t port;
    if (host.size >= 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
        host = slice_from(host.data + 1, host.size - 2);
    if ((colon && host.size == 0) || host.size >= sizeof place->host ||
        !slice_to_number(slice_of(colon ? colon + 1 : text), UINT16_MAX, &port))
        return false;
    if (colon)
        snprintf(place->host, sizeof place->host, "%.*s", SLICE_ARG(host));
    place->port = (uint16_t)port;
    return true;
}

/* Returns a listening socket and its port, or -1. */
static int listen_at(const struct local_receiver_place *place, uint16_t *port)
{
    struct sockaddr_storage address = {.ss_family = AF_INET};
    struct sockaddr_in *v4 = (void *)&address;
    struct sockaddr_in6 *v6 = (void *)&address;
    socklen_t size = sizeof *v4;
    v4->sin_port = htons(place->port);
    if (inet_pton(AF_INET, place->host, &v4->sin_addr) != 1) {
        size = sizeof *v6;
        *v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(place->port)};
        if (inet_pton(AF_INET6, place->host, &v6->sin6_addr) != 1) {
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
    struct local_receiver *receiver = arg;
    loop_run(receiver->loop);
    return NULL;
}

static void start_server(struct local_receiver *receiver, int fd)
{
    const struct http_limits_options limits = {.connections = CONNECTIONS_MAX, .body_bytes = BODIES_MAX};
    receiver->limits = http_limits_new(&limits);
    const struct http_server_options options = {
        .listen_fd = fd,
        .handler = {.max_body_bytes = receiver->options.max_body_bytes,
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

struct local_receiver *local_receiver_start(const struct local_receiver_options *options,
                                            struct problem *problem)
{
    uint16_t port;
    int fd = listen_at(&options->place, &port);
    if (fd < 0) {
        problem_set(problem, "the receiver cannot listen at %s, port %u: %s; %s", options->place.host,
                    options->place.port, strerror(errno), options->advice);
        return NULL;
    }
    struct local_receiver *receiver = NEW(struct local_receiver);
    receiver->options = *options;
    receiver->options.place.port = port;
    start_server(receiver, fd);
    if (pthread_create(&receiver->thread, NULL, receiver_run, receiver) != 0)
        abort();
    return receiver;
}

static void receiver_end(void *arg)
{
    struct local_receiver *receiver = arg;
    loop_stop(receiver->loop);
}

void local_receiver_stop(struct local_receiver *receiver)
{
    if (!receiver)
        return;
    loop_post(receiver->loop, receiver_end, receiver);
    pthread_join(receiver->thread, NULL);
    http_server_free(receiver->server);
    http_limits_free(receiver->limits);
    loop_free(receiver->loop);
    free(receiver);
}

void local_receiver_write_origin(const struct local_receiver *receiver, struct buffer *text)
{
    const struct local_receiver_place *place = &receiver->options.place;
    buffer_printf(text, strchr(place->host, ':') ? "http://[%s]:%u" : "http://%s:%u", place->host,
                  place->port);
}
