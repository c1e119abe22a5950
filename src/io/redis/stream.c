/* One connection to Redis as a stream of bytes: a socket, with or without TLS. */
#include "io/redis/redis_private.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/redis/redis.h"

enum { /* TCP keepalive times in seconds. Keepalive detects half-open connections; otherwise Redis could send
          the result of a BLPOP into a half-open connection, where it is lost. */
       KEEPALIVE_IDLE = 15,
       KEEPALIVE_INTERVAL = 5,
       KEEPALIVE_PROBES = 3,
};

struct redis_stream {
    int fd;
    bool is_connecting, is_in_handshake;
    bool wants_write;
    struct redis_tls_session *session; /* NULL: no TLS */
};

/* ---- connecting ---- */

static struct redis_stream *stream_new(int family, struct problem *problem)
{
    struct redis_stream *stream = NEW(struct redis_stream);
    stream->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (stream->fd >= 0)
        return stream;
    problem_set(problem, "%s", strerror(errno));
    free(stream);
    return NULL;
}

static struct redis_stream *begin_connect(struct redis_stream *stream, const void *address, socklen_t size,
                                          struct problem *problem)
{
    if (connect(stream->fd, address, size) == 0 || errno == EINPROGRESS) {
        stream->is_connecting = stream->wants_write = true;
        return stream;
    }
    problem_set(problem, "%s", strerror(errno));
    redis_stream_close(stream);
    return NULL;
}

static void set_option(int fd, int level, int name, int value)
{
    int ignored = setsockopt(fd, level, name, &value, sizeof value);
    (void)ignored; /* the connection works without this option */
}

struct redis_stream *redis_stream_tcp(const char *address, uint16_t port, struct redis_tls *tls,
                                      const char *host, struct problem *problem)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    int error = getaddrinfo(address, service, &hints, &found);
    if (error != 0) {
        problem_set(problem, "%s", gai_strerror(error));
        return NULL;
    }
    struct redis_stream *stream = stream_new(found->ai_family, problem);
    if (stream) {
        set_option(stream->fd, IPPROTO_TCP, TCP_NODELAY, 1);
        set_option(stream->fd, SOL_SOCKET, SO_KEEPALIVE, 1);
        set_option(stream->fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE);
        set_option(stream->fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL);
        set_option(stream->fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
        stream = begin_connect(stream, found->ai_addr, found->ai_addrlen, problem);
    }
    freeaddrinfo(found);
    if (!stream || !tls)
        return stream;
    stream->session = redis_tls_begin(tls, stream->fd, host);
    if (stream->session)
        return stream;
    problem_set(problem, "TLS: no certificate can be for %.120s (redis-server-name)", host);
    redis_stream_close(stream);
    return NULL;
}

struct redis_stream *redis_stream_unix(const char *path, struct problem *problem)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        problem_set(problem, "the path of the socket is too long");
        return NULL;
    }
    memcpy(address.sun_path, path, strlen(path));
    struct redis_stream *stream = stream_new(AF_UNIX, problem);
    return stream ? begin_connect(stream, &address, sizeof address, problem) : NULL;
}

void redis_stream_close(struct redis_stream *stream)
{
    if (!stream)
        return;
    redis_tls_end(stream->session);
    close(stream->fd);
    free(stream);
}

int redis_stream_fd(const struct redis_stream *stream)
{
    return stream->fd;
}

bool redis_stream_wants_write(const struct redis_stream *stream)
{
    return stream->wants_write;
}

bool redis_stream_is_in_handshake(const struct redis_stream *stream)
{
    return stream->is_in_handshake;
}

static bool is_connected(struct redis_stream *stream, struct problem *problem)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        error = errno;
    if (error)
        problem_set(problem, "%s", strerror(error));
    stream->is_connecting = stream->wants_write = false;
    return error == 0;
}

/* Returns false when the connection is lost. Otherwise notes whether the stream waits to read or to write. */
static bool take_result(struct redis_stream *stream, enum redis_tls_result result, struct problem *problem)
{
    stream->wants_write = result == REDIS_TLS_WANTS_WRITE;
    if (result == REDIS_TLS_CLOSED)
        problem_set(problem, "Server closed the connection");
    return result != REDIS_TLS_CLOSED && result != REDIS_TLS_FAILED;
}

/* Called when the descriptor is ready. Until the socket is connected, ready means writable. */
enum redis_stream_state redis_stream_open(struct redis_stream *stream, struct problem *problem)
{
    if (stream->is_connecting && !is_connected(stream, problem))
        return REDIS_STREAM_LOST;
    if (!stream->session)
        return REDIS_STREAM_OPEN;
    enum redis_tls_result result = redis_tls_handshake(stream->session, problem);
    if (!take_result(stream, result, problem))
        return REDIS_STREAM_LOST;
    stream->is_in_handshake = result != REDIS_TLS_DONE;
    return stream->is_in_handshake ? REDIS_STREAM_OPENING : REDIS_STREAM_OPEN;
}

/* ---- bytes ---- */

static bool is_passing(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

bool redis_stream_read(struct redis_stream *stream, char *data, size_t size, size_t *count,
                       struct problem *problem)
{
    *count = 0;
    if (stream->session)
        return take_result(stream, redis_tls_read(stream->session, data, size, count, problem), problem);
    ssize_t got = recv(stream->fd, data, size, 0);
    if (got > 0) {
        *count = (size_t)got;
        return true;
    }
    if (got < 0 && is_passing(errno))
        return true;
    problem_set(problem, "%s", got == 0 ? "Server closed the connection" : strerror(errno));
    return false;
}

bool redis_stream_write(struct redis_stream *stream, const char *data, size_t size, size_t *count,
                        struct problem *problem)
{
    *count = 0;
    if (stream->session)
        return take_result(stream, redis_tls_write(stream->session, data, size, count, problem), problem);
    ssize_t sent = send(stream->fd, data, size, MSG_NOSIGNAL);
    stream->wants_write = sent < (ssize_t)size;
    if (sent >= 0 || is_passing(errno)) {
        *count = sent > 0 ? (size_t)sent : 0;
        return true;
    }
    problem_set(problem, "%s", strerror(errno));
    return false;
}
