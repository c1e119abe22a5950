#ifdef DUEPOST_MONGODB
#include "history/mongo_stream.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"

enum {
    STREAM_TYPE = 100,      /* not one of libmongoc's own types */
    STREAMS_MAX = 64,       /* maximum number of streams that are polled together */
    READ_AHEAD = 16 * 1024, /* initial size of the buffer in front of a stream */
    IDLE_S = 60,
    PROBES_S = 10 /* when the kernel probes an idle connection, and again */
};

struct mongo_stream {
    mongoc_stream_t stream;
    struct driver *driver; /* borrowed */
    int fd;
    bool is_late; /* the last wait ended at its timeout */
};

static struct mongo_stream *of_stream(mongoc_stream_t *stream)
{
    return (struct mongo_stream *)stream;
}

/* ---- waits ---- */

/* Returns the end of a wait with this timeout; negative: only the call's deadline limits it. */
static int64_t end_of_wait(const struct driver *driver, int32_t timeout_ms)
{
    int64_t end_us = clock_steady_us() + timeout_ms * INT64_C(1000);
    return timeout_ms >= 0 && end_us < driver->deadline_us ? end_us : driver->deadline_us;
}

/* Waits until one of the sockets is ready. sockets has room for one more. Returns their number, 0 at the end
 * of the wait, or -1 with errno ECANCELED if the driver is stopping. */
static int wait_for_sockets(const struct driver *driver, struct pollfd *sockets, size_t count,
                            int64_t until_us)
{
    sockets[count] = (struct pollfd){.fd = driver->stop_fd, .events = POLLIN};
    for (;;) {
        int64_t left_us = until_us - clock_steady_us();
        int ready = poll(sockets, count + 1, left_us > 0 ? (int)(left_us / 1000) + 1 : 0);
        if (atomic_load(driver->is_stopping)) {
            errno = ECANCELED;
            return -1;
        }
        if (ready >= 0 || errno != EINTR)
            return ready;
    }
}

/* Waits until the socket is ready. Otherwise returns false with errno: EAGAIN for a timeout of 0, ETIMEDOUT
 * for all others and after the deadline of the call. */
static bool wait_for(struct mongo_stream *stream, short events, int32_t timeout_ms, int64_t until_us)
{
    struct pollfd sockets[2] = {{.fd = stream->fd, .events = events}};
    int ready = wait_for_sockets(stream->driver, sockets, 1, until_us);
    if (ready == 0) {
        stream->is_late = timeout_ms != 0 || clock_steady_us() >= stream->driver->deadline_us;
        errno = stream->is_late ? ETIMEDOUT : EAGAIN;
    }
    return ready > 0;
}

/* ---- functions of a stream, which libmongoc calls ---- */

static int close_stream(mongoc_stream_t *stream)
{
    struct mongo_stream *ours = of_stream(stream);
    int result = ours->fd >= 0 ? close(ours->fd) : 0;
    ours->fd = -1;
    return result;
}

static void destroy_stream(mongoc_stream_t *stream)
{
    close_stream(stream);
    free(stream);
}

static int flush_stream(mongoc_stream_t *stream)
{
    (void)stream;
    return 0;
}

static int set_option(mongoc_stream_t *stream, int level, int name, void *value, mongoc_socklen_t size)
{
    return setsockopt(of_stream(stream)->fd, level, name, value, size);
}

static bool is_closed(mongoc_stream_t *stream)
{
    char byte;
    ssize_t size = recv(of_stream(stream)->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR);
}

static bool has_timed_out(mongoc_stream_t *stream)
{
    return of_stream(stream)->is_late;
}

static bool should_retry(mongoc_stream_t *stream)
{
    (void)stream;
    return errno == EAGAIN || errno == EINTR;
}

/* Takes the bytes that were moved off the front of the vectors. */
static void advance(mongoc_iovec_t **iov, size_t *count, size_t bytes)
{
    for (; *count && bytes >= (*iov)->iov_len; (*iov)++, (*count)--)
        bytes -= (*iov)->iov_len;
    if (*count) {
        (*iov)->iov_base = (char *)(*iov)->iov_base + bytes;
        (*iov)->iov_len -= bytes;
    }
}

/* Writes all bytes, or returns -1. */
static ssize_t write_stream(mongoc_stream_t *stream, mongoc_iovec_t *iov, size_t count, int32_t timeout_ms)
{
    struct mongo_stream *ours = of_stream(stream);
    int64_t until_us = end_of_wait(ours->driver, timeout_ms);
    ssize_t written = 0;
    ours->is_late = false;
    for (advance(&iov, &count, 0); count;) {
        const struct msghdr message = {.msg_iov = iov, .msg_iovlen = count < IOV_MAX ? count : IOV_MAX};
        if (!wait_for(ours, POLLOUT, timeout_ms, until_us))
            return written ? written : -1;
        ssize_t size = sendmsg(ours->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size < 0 && errno != EAGAIN && errno != EINTR)
            return -1;
        if (size > 0)
            advance(&iov, &count, (size_t)size);
        written += size > 0 ? size : 0;
    }
    return written;
}

/* Reads at least min_bytes, and more if they are there. Returns what was read, if it is at least min_bytes,
 * and otherwise -1. errno is EAGAIN if a timeout of 0 has read nothing. */
static ssize_t read_stream(mongoc_stream_t *stream, mongoc_iovec_t *iov, size_t count, size_t min_bytes,
                           int32_t timeout_ms)
{
    struct mongo_stream *ours = of_stream(stream);
    int64_t until_us = end_of_wait(ours->driver, timeout_ms);
    size_t done = 0;
    ours->is_late = false;
    for (advance(&iov, &count, 0); count && (done == 0 || done < min_bytes);) {
        struct msghdr message = {.msg_iov = iov, .msg_iovlen = count < IOV_MAX ? count : IOV_MAX};
        ssize_t size = -1;
        if (!wait_for(ours, POLLIN, timeout_ms, until_us))
            break;
        size = recvmsg(ours->fd, &message, MSG_DONTWAIT);
        if (size < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (size == 0)
            errno = ECONNRESET;
        if (size <= 0)
            break;
        advance(&iov, &count, (size_t)size);
        done += (size_t)size;
    }
    return done && done >= min_bytes ? (ssize_t)done : -1;
}

/* Waits until one of the streams is ready. At the deadline of the call all have failed, because libmongoc
 * would otherwise wait again until its own timeout. */
static ssize_t poll_streams(mongoc_stream_poll_t *streams, size_t count, int32_t timeout_ms)
{
    struct pollfd sockets[STREAMS_MAX + 1];
    const struct driver *driver = of_stream(streams[0].stream)->driver;
    if (count > STREAMS_MAX) {
        errno = EINVAL;
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        sockets[i] =
            (struct pollfd){.fd = of_stream(streams[i].stream)->fd, .events = (short)streams[i].events};
    int ready = wait_for_sockets(driver, sockets, count, end_of_wait(driver, timeout_ms));
    bool is_over = ready < 0 || (ready == 0 && clock_steady_us() >= driver->deadline_us);
    for (size_t i = 0; i < count; i++)
        streams[i].revents = is_over ? POLLERR : sockets[i].revents;
    return is_over ? (ssize_t)count : ready;
}

/* ---- connections ---- */

/* Connects the socket, within timeout_ms. */
static bool connect_socket(struct mongo_stream *stream, const struct sockaddr *address, socklen_t size,
                           int32_t timeout_ms)
{
    int error = 0, on = 1, idle = IDLE_S, interval = PROBES_S;
    socklen_t length = sizeof error;
    stream->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (stream->fd < 0)
        return false;
    if (address->sa_family != AF_UNIX) {
        (void)setsockopt(stream->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        (void)setsockopt(stream->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        (void)setsockopt(stream->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
        (void)setsockopt(stream->fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    }
    int64_t until_us = end_of_wait(stream->driver, timeout_ms);
    if (connect(stream->fd, address, size) == 0)
        return true;
    if (errno == EINPROGRESS && wait_for(stream, POLLOUT, timeout_ms, until_us) &&
        getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0) {
        errno = error;
        if (error == 0)
            return true;
    }
    error = errno;
    close_stream(&stream->stream);
    errno = error;
    return false;
}

/* Connects to the first address of the host that answers. */
static bool connect_host(struct mongo_stream *stream, const mongoc_host_list_t *host, int32_t timeout_ms,
                         bson_error_t *error)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    char port[8];
    bool is_connected = false;
    int code = 0;
    snprintf(port, sizeof port, "%u", host->port);
    if (host->family == AF_UNIX) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int length = snprintf(address.sun_path, sizeof address.sun_path, "%s", host->host);
        errno = ENAMETOOLONG;
        is_connected = length < (int)sizeof address.sun_path &&
                       connect_socket(stream, (struct sockaddr *)&address, sizeof address, timeout_ms);
    } else {
        code = getaddrinfo(host->host, port, &hints, &found);
        for (const struct addrinfo *at = found; at && !is_connected && errno != ECANCELED; at = at->ai_next)
            is_connected = connect_socket(stream, at->ai_addr, at->ai_addrlen, timeout_ms);
    }
    if (!is_connected)
        bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_CONNECT, "%s: %s", host->host_and_port,
                       code && code != EAI_SYSTEM ? gai_strerror(code) : strerror(errno));
    if (found)
        freeaddrinfo(found);
    return is_connected;
}

/* Begins TLS on a stream. Takes the stream. */
static mongoc_stream_t *begin_tls(mongoc_stream_t *stream, const mongoc_uri_t *uri,
                                  const mongoc_host_list_t *host, int32_t timeout_ms, bson_error_t *error)
{
    bool is_insecure = mongoc_uri_get_option_as_bool(uri, MONGOC_URI_TLSINSECURE, false);
    mongoc_ssl_opt_t options = {
        .pem_file = mongoc_uri_get_option_as_utf8(uri, MONGOC_URI_TLSCERTIFICATEKEYFILE, NULL),
        .ca_file = mongoc_uri_get_option_as_utf8(uri, MONGOC_URI_TLSCAFILE, NULL),
        .weak_cert_validation =
            is_insecure || mongoc_uri_get_option_as_bool(uri, MONGOC_URI_TLSALLOWINVALIDCERTIFICATES, false),
        .allow_invalid_hostname =
            is_insecure || mongoc_uri_get_option_as_bool(uri, MONGOC_URI_TLSALLOWINVALIDHOSTNAMES, false),
    };
    mongoc_stream_t *tls = mongoc_stream_tls_new_with_hostname(stream, host->host, &options, true);
    if (!tls) {
        bson_set_error(error, MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET,
                       "the files of tlsCAFile or tlsCertificateKeyFile cannot be used");
        mongoc_stream_destroy(stream);
        return NULL;
    }
    if (mongoc_stream_tls_handshake_block(tls, host->host, timeout_ms, error))
        return tls;
    mongoc_stream_destroy(tls);
    return NULL;
}

static mongoc_stream_t *connect_stream(const mongoc_uri_t *uri, const mongoc_host_list_t *host, void *arg,
                                       bson_error_t *error)
{
    struct mongo_stream *ours = NEW(struct mongo_stream);
    int32_t timeout_ms = mongoc_uri_get_option_as_int32(uri, MONGOC_URI_CONNECTTIMEOUTMS, 0);
    ours->driver = arg;
    ours->fd = -1;
    ours->stream = (mongoc_stream_t){
        .type = STREAM_TYPE,
        .destroy = destroy_stream,
        .close = close_stream,
        .flush = flush_stream,
        .writev = write_stream,
        .readv = read_stream,
        .setsockopt = set_option,
        .check_closed = is_closed,
        .poll = poll_streams,
        .failed = destroy_stream,
        .timed_out = has_timed_out,
        .should_retry = should_retry,
    };
    errno = 0;
    if (!connect_host(ours, host, timeout_ms, error)) {
        destroy_stream(&ours->stream);
        return NULL;
    }
    mongoc_stream_t *stream = &ours->stream;
    if (mongoc_uri_get_tls(uri))
        stream = begin_tls(stream, uri, host, timeout_ms, error);
    return stream ? mongoc_stream_buffered_new(stream, READ_AHEAD) : NULL;
}

void mongo_stream_use(mongoc_client_t *client, struct driver *driver)
{
    mongoc_client_set_stream_initiator(client, connect_stream, driver);
}

#endif
