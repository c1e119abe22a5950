#include "cli/commands.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/timestamp.h"
#include "cli/output.h"
#include "io/http/limits.h"
#include "io/http/server.h"

/* ---- a receiver in a thread ---- */

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
    const struct http_limits_options limits = {.connections = CONNECTIONS_MAX, .body_bytes = BODIES_MAX};
    receiver->limits = http_limits_new(&limits);
    const struct http_server_options server = {
        .listen_fd = fd,
        .handler = {.max_body_bytes = options->max_body_bytes,
                    .limits = receiver->limits,
                    .max_waiting = CONNECTIONS_MAX,
                    .on_head = on_head,
                    .on_request = options->on_request,
                    .on_too_large = on_too_large,
                    .on_over_limit = on_over_limit,
                    .on_malformed = on_malformed,
                    .arg = options->arg},
    };
    receiver->loop = loop_new();
    receiver->server = http_server_new(receiver->loop, &server);
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

/* ---- the command receive ---- */

enum {
    STATUS_DEFAULT = 204,
    BODY_MAX = 16 * 1024 * 1024,
    BODY_SHOWN = 64 * 1024,
    LINE_MAX_BYTES = 256 * 1024, /* size of a printed line */
    ORIGIN_MAX = LOCAL_RECEIVER_HOST_SIZE + 32,
    CLOCK_AT = 11, /* where the time of day begins in an RFC 3339 timestamp */
};

/* Returns the status that the receiver answers with. Returns 0 if --status is none. */
static unsigned status_of(const struct call *call)
{
    const char *text = call->arguments.values[ARGUMENT_STATUS];
    uint64_t status = STATUS_DEFAULT;
    if (text && (!slice_to_number(slice_of(text), 599, &status) || status < 200))
        return 0;
    return (unsigned)status;
}

/* Prints a request as one line, such as "12:00:02.004Z attempt 1 of orders/order-1041 {"order": 1041}". */
static void on_request(void *arg, struct http_request *request)
{
    struct call *call = arg;
    struct slice body = http_request_body(request);
    char now[TIMESTAMP_SIZE];
    struct buffer line, shown;
    buffer_init(&line, LINE_MAX_BYTES);
    buffer_init(&shown, LINE_MAX_BYTES);
    timestamp_format(clock_wall_ms(), now);
    buffer_printf(&line, "%s ", now + CLOCK_AT);
    struct slice id = http_request_header(request, "Duepost-Job-Id");
    if (id.size) {
        struct slice attempt = http_request_header(request, "Duepost-Attempt");
        struct slice topic = http_request_header(request, "Duepost-Topic");
        buffer_printf(&line, "attempt %.*s of %.*s/%.*s", SLICE_ARG(attempt), SLICE_ARG(topic),
                      SLICE_ARG(id));
    } else {
        struct slice method = http_request_method(request), target = http_request_target(request);
        buffer_printf(&line, "%.*s %.*s", SLICE_ARG(method), SLICE_ARG(target));
    }
    if (body.size)
        buffer_append_byte(&line, ' ');
    buffer_append(&line, slice_from(body.data, body.size < BODY_SHOWN ? body.size : BODY_SHOWN));
    if (body.size > BODY_SHOWN)
        buffer_printf(&line, " ... (%zu bytes)", body.size);
    table_append_shown(&shown, buffer_slice(&line));
    buffer_append_byte(&shown, '\n');
    fwrite(buffer_text(&shown), 1, buffer_slice(&shown).size, stdout);
    if (fflush(stdout) != 0) /* standard output is closed, so no process reads what arrives */
        kill(getpid(), SIGTERM);
    buffer_fini(&line);
    buffer_fini(&shown);
    http_answer(request, &(struct http_answer){.status = status_of(call)});
}

struct local_receiver *receive_start(struct call *call, const char *flag, const char *value)
{
    struct local_receiver_options options = {.place = {.host = "127.0.0.1", .port = 9000},
                                             .max_body_bytes = BODY_MAX,
                                             .advice = "give it another port",
                                             .on_request = on_request,
                                             .arg = call};
    struct buffer origin;
    if (!status_of(call)) {
        problem_set(&call->problem, "--status is %.64s: expected 200 to 599",
                    call->arguments.values[ARGUMENT_STATUS]);
        return NULL;
    }
    if (value && !local_receiver_read_place(value, &options.place)) {
        problem_set(&call->problem, "%s is %.200s: expected PORT or HOST:PORT, such as 9000 or 0.0.0.0:9000",
                    flag, value);
        return NULL;
    }
    call->has_sent = true; /* later errors are not about the command line */
    struct local_receiver *receiver = local_receiver_start(&options, &call->problem);
    if (!receiver)
        return NULL;
    buffer_init(&origin, ORIGIN_MAX);
    local_receiver_write_origin(receiver, &origin);
    printf("receiver on %s\n", buffer_text(&origin));
    fflush(stdout);
    buffer_fini(&origin);
    return receiver;
}

bool receive_run(struct call *call)
{
    struct pollfd signals = {.fd = terminal_signals(0, &call->problem), .events = POLLIN};
    struct local_receiver *receiver =
        signals.fd < 0 ? NULL : receive_start(call, "PORT", call->arguments.word);
    while (receiver && poll(&signals, 1, -1) < 0 && errno == EINTR)
        continue;
    local_receiver_stop(receiver);
    if (signals.fd >= 0)
        close(signals.fd);
    return receiver;
}
