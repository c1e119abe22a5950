/* libmicrohttpd's daemon has no thread of its own. The loop runs the daemon when the daemon's epoll
 * descriptor is readable, when its timeout has come, and after a connection is resumed. request.c has
 * the life of a request. */
#include "io/http/server.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/system.h"
#include "base/log.h"
#include "base/memory.h"
#include "io/http/bytes.h"
#include "io/http/request_private.h"

enum {
    IDLE_TIMEOUT_S = 60,
    HEAD_TIMEOUT_MS = 10 * 1000,
    BODY_TIMEOUT_MS = 30 * 1000,
    SEND_TIMEOUT_MS = 30 * 1000,
    /* Memory of one connection, for the head and 64 bytes for each of its lines (HTTP_HEAD_MAX) */
    MEMORY_BYTES = 32 * 1024,
    SEND_BUFFER_BYTES = 128 * 1024, /* size of a connection's send buffer; the kernel doubles this value */
    LONG_HEAD_ANSWER_MAX = 2048,
    DATE_SIZE = 32,
    RUNS_MAX = 4, /* runs of the daemon in a row before other work gets its turn */
};

struct http_server {
    struct loop *loop;
    struct http_server_options options;
    struct http_requests requests;
    struct http_peers peers;
    struct MHD_Daemon *daemon;
    struct watch *watch;
    struct timer *timer;
    struct hook *hook;
    bool has_closed; /* a connection was closed in this run */
};

/* Sets the certificate of a connection, before its handshake. Without this certificate the handshake would
 * fail, because libmicrohttpd itself has none (http_tls_no_certificate). */
static void begin_tls(const struct http_server *server, struct http_peer *peer,
                      struct MHD_Connection *connection)
{
    if (!server->options.tls)
        return;
    peer->tls = http_tls_share(server->options.tls);
    if (!http_tls_begin(peer->tls,
                        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session))
        log_error("tls_certificate_not_set", LOG_TEXT("then", "the connection cannot begin"));
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *server = arg;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
        http_bytes_begin(&server->requests.bytes, fd);
        struct http_peer *peer = http_peer_new(
            &server->peers, fd,
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
        begin_tls(server, peer, connection);
        *context = peer;
    } else if (*context) {
        struct http_peer *peer = *context;
        peer->lingers |= http_bytes_has_long_head(&server->requests.bytes, peer->deadline.fd);
        http_bytes_end(&server->requests.bytes, peer->deadline.fd);
        http_peer_free(peer);
        *context = NULL;
        server->has_closed = true;
    }
}

/* Answers a connection while libmicrohttpd reads from it, so no other answer is under way. The answer fits
 * into the send buffer. */
static void on_long_head(void *arg, int fd, void *session, unsigned status)
{
    struct http_server *server = arg;
    const struct http_handler *handler = &server->options.handler;
    struct buffer answer, body;
    char date[DATE_SIZE];
    struct tm tm;
    time_t now = (time_t)(clock_wall_ms() / 1000);
    if (!handler->write_long_head)
        return;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &tm));
    buffer_init(&answer, LONG_HEAD_ANSWER_MAX);
    buffer_init(&body, LONG_HEAD_ANSWER_MAX);
    struct slice type = handler->write_long_head(handler->arg, status, &body);
    buffer_printf(&answer,
                  "HTTP/1.1 %u %s\r\nDate: %s\r\nConnection: close\r\nContent-Type: %.*s\r\n"
                  "Content-Length: %zu\r\n\r\n",
                  status,
                  status == 414   ? "URI Too Long"
                  : status == 431 ? "Request Header Fields Too Large"
                                  : "Service Unavailable",
                  date, SLICE_ARG(type), body.size);
    buffer_append(&answer, buffer_slice(&body));
    if (session)
        http_tls_send(session, answer.data, answer.size);
    else if (send(fd, answer.data, answer.size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        log_debug("long_head_not_answered", LOG_NUMBER("fd", fd));
    buffer_fini(&answer);
    buffer_fini(&body);
}

__attribute__((format(printf, 2, 0))) static void on_log(void *arg, const char *format, va_list values)
{
    (void)arg;
    char text[512];
    int size = vsnprintf(text, sizeof text, format, values);
    while (size > 0 && (size_t)size < sizeof text && text[size - 1] == '\n')
        text[--size] = '\0';
    log_debug("microhttpd", LOG_TEXT("text", text));
}

/* Runs the daemon once. Returns false if it has work for another run. Sets wait_us to its timeout, or to a
 * negative number if it waits only for its descriptor. */
static bool run_once(struct http_server *server, int64_t *wait_us)
{
    unsigned long long wait_ms;
    server->has_closed = false;
    http_bytes_watch(&server->requests.bytes);
    MHD_run(server->daemon);
    http_bytes_watch(NULL);
    *wait_us = MHD_get_timeout(server->daemon, &wait_ms) == MHD_YES ? (int64_t)wait_ms * 1000 : -1;
    /* Without free descriptors, the listening socket is not watched. The socket is watched again only in the
     * run that follows the close of a connection. */
    return *wait_us != 0 && !server->has_closed;
}

static void arm_timer(struct http_server *server, int64_t wait_us)
{
    /* Each request extends the daemon's idle timeout. The timer is not moved to a later time for each
     * request: a timer that fires too early costs less. */
    if (wait_us < 0)
        timer_stop(server->timer);
    else
        timer_arm_within(server->timer, wait_us);
}

/* Runs the daemon several times. libmicrohttpd needs up to three runs for an answer, and a run costs less
 * than a turn of the loop. */
static void daemon_run(struct http_server *server)
{
    int64_t wait_us = 0;
    for (int runs = 0; runs < RUNS_MAX; runs++)
        if (run_once(server, &wait_us))
            break;
    arm_timer(server, server->has_closed ? 0 : wait_us);
}

static void http_server_on_turn_end(void *arg)
{
    struct http_server *server = arg;
    while (!list_is_empty(&server->requests.answered)) {
        http_requests_resume(&server->requests, &server->requests.answered);
        daemon_run(server);
    }
}

static void on_answered(void *arg)
{
    struct http_server *server = arg;
    /* The hook that resumes requests may already have run in this turn. So the next turn begins at once. */
    timer_arm_within(server->timer, 0);
}

static void http_server_on_timer(void *arg)
{
    daemon_run(arg);
}

static void on_epoll(void *arg, bool readable, bool writable)
{
    (void)readable, (void)writable;
    daemon_run(arg);
}

static struct MHD_Daemon *start_daemon(struct http_server *server)
{
    const struct http_server_options *options = &server->options;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)http_tls_versions},
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)http_tls_no_certificate},
        {MHD_OPTION_END, 0, NULL},
    };
    if (!options->tls)
        tls[0] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | (options->tls ? MHD_USE_TLS : 0), 0,
        NULL, NULL, http_request_advance, &server->requests, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, options->listen_fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)INT_MAX,
        MHD_OPTION_STRICT_FOR_CLIENT, http_head_strictness(), MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES,
        MHD_OPTION_URI_LOG_CALLBACK, http_request_begin, &server->requests, MHD_OPTION_NOTIFY_COMPLETED,
        http_request_end, &server->requests, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
        MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
}

/* Limits the send buffer. Without a limit, the kernel lets the buffer grow to megabytes for each client that
 * does not read, until the host's other connections lack memory. Connections inherit the limit. */
static void bound_send_buffer(int listen_fd)
{
    int bytes = SEND_BUFFER_BYTES;
    if (setsockopt(listen_fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) != 0)
        log_debug("send_buffer_not_bounded", LOG_NUMBER("fd", listen_fd));
}

struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options)
{
    struct http_server *server = NEW(struct http_server);
    bound_send_buffer(options->listen_fd);
    const int64_t steps_ms[HTTP_STEP_COUNT] = {
        [HTTP_STEP_HEAD] = options->head_timeout_ms ? options->head_timeout_ms : HEAD_TIMEOUT_MS,
        [HTTP_STEP_BODY] = options->body_timeout_ms ? options->body_timeout_ms : BODY_TIMEOUT_MS,
        [HTTP_STEP_SEND] = options->send_timeout_ms ? options->send_timeout_ms : SEND_TIMEOUT_MS,
        [HTTP_STEP_NEXT] = options->head_timeout_ms ? options->head_timeout_ms : HEAD_TIMEOUT_MS,
    };
    server->loop = loop;
    server->options = *options;
    server->requests.handler = options->handler;
    server->requests.on_answered = on_answered;
    server->requests.arg = server;
    server->requests.loop = loop;
    if (options->tls)
        http_tls_share(options->tls);
    http_bytes_init(&server->requests.bytes, options->tls != NULL, options->handler.limits, on_long_head,
                    server);
    list_init(&server->requests.waiting);
    list_init(&server->requests.answered);
    server->requests.deadlines = http_deadlines_new(loop, steps_ms);
    http_peers_init(&server->peers, loop, server->requests.deadlines, options->handler.limits);
    server->timer = timer_new(loop, http_server_on_timer, server);
    server->daemon = start_daemon(server);
    assert(server->daemon);
    server->watch = watch_new(loop, MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
                              on_epoll, server);
    watch_set(server->watch, true, false);
    server->hook = hook_new(loop, LOOP_PHASE_ANSWER, http_server_on_turn_end, server);
    daemon_run(server); /* the first run puts the listening socket into the epoll set */
    return server;
}

void http_server_set_tls(struct http_server *server, struct http_tls *tls)
{
    assert(tls && server->options.tls);
    http_tls_share(tls);
    http_tls_release(server->options.tls);
    server->options.tls = tls;
}

void http_server_quiesce(struct http_server *server)
{
    if (server->requests.is_quiesced)
        return;
    server->requests.is_quiesced = true;
    daemon_run(
        server); /* accepts the connections that already wait, because closing the socket would reset them */
    close(MHD_quiesce_daemon(server->daemon));
}

size_t http_server_pending(const struct http_server *server)
{
    return server->requests.pending;
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    hook_free(server->hook);
    watch_free(server->watch);
    server->requests.is_freed = true;
    /* Resumes all connections first: libmicrohttpd aborts the process if its daemon is stopped while a
     * connection is suspended. */
    http_requests_resume(&server->requests, &server->requests.waiting);
    http_requests_resume(&server->requests, &server->requests.answered);
    MHD_stop_daemon(server->daemon);
    http_peers_fini(&server->peers);
    timer_free(server->timer);
    http_deadlines_free(server->requests.deadlines);
    http_bytes_fini(&server->requests.bytes);
    http_tls_release(server->options.tls);
    free(server);
}

void http_server_library(struct library *library)
{
    library_set(library, "libmicrohttpd", MHD_get_version());
}
