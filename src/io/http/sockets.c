/* libcurl's sockets by descriptor, and connections that receive far too many bytes. */
#include "io/http/client_private.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

/* ---- far too many bytes ---- */

/* These limits are far above the size that the head and body of one answer may have. */
enum { READS_UNCOUNTED = 64, FLOOD_BYTES = 256 * 1024 };

static uint64_t bytes_received(int fd)
{
    struct tcp_info info = {.tcpi_bytes_received = 0};
    socklen_t size = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

bool http_flood_has_come(struct http_flood *flood, int fd)
{
    if (++flood->reads % READS_UNCOUNTED != 0)
        return false;
    uint64_t received = bytes_received(fd);
    if (flood->reads > READS_UNCOUNTED)
        return received - flood->received > FLOOD_BYTES;
    flood->received = received;
    return false;
}

/* ---- sockets by descriptor ---- */

enum { PORTS = 65536 };

struct http_socket {
    struct http_sockets *sockets;
    struct watch *watch;
    int fd;
    bool is_connection;
    bool is_idle;            /* libcurl keeps the connection, but no call uses it now */
    bool is_stale;           /* data arrived while the connection was idle */
    int local_port;          /* local port of a connection; 0: not queried yet */
    struct http_flood flood; /* detects too much data while an answer is awaited */
};

struct http_sockets {
    struct loop *loop;
    http_sockets_fn *on_ready;
    void *arg;
    struct http_socket **by_fd;
    size_t count;    /* number of entries in by_fd */
    int handed_over; /* the next close of this descriptor by libcurl leaves it open; -1: none */
    int *by_port;    /* for each local port: the descriptor that had it at the last lookup, or -1 */
};

/* Shuts a connection that has sent too much data. libcurl reads parts of a chunked answer, such as chunk
 * extensions, without a limit and without a callback. Only the timeout would end such a call, and until then
 * it would use a whole core. After shutdown in both directions, the kernel resets the connection when more
 * data arrive. */
static void bound(struct http_socket *socket)
{
    if (http_flood_has_come(&socket->flood, socket->fd))
        shutdown(socket->fd, SHUT_RDWR);
}

/* Shuts an idle connection. libcurl then finds that the connection is dead, and closes it instead of using
 * it. */
static void give_up(struct http_socket *socket)
{
    socket->is_stale = true;
    watch_set(socket->watch, false, false);
    shutdown(socket->fd, SHUT_RDWR);
}

static void on_watch(void *arg, bool readable, bool writable)
{
    struct http_socket *socket = arg;
    if (socket->is_idle) {
        give_up(socket);
        return;
    }
    if (readable && socket->is_connection)
        bound(socket);
    socket->sockets->on_ready(socket->sockets->arg, socket->fd, readable, writable);
}

static struct http_socket *sockets_find(const struct http_sockets *sockets, int fd)
{
    return (size_t)fd < sockets->count ? sockets->by_fd[fd] : NULL;
}

static struct http_socket *find_or_add(struct http_sockets *sockets, int fd)
{
    struct http_socket *socket = sockets_find(sockets, fd);
    size_t count = sockets->count;
    if (socket)
        return socket;
    if ((size_t)fd >= count) {
        size_t wanted = ((size_t)fd + 1) * 2;
        sockets->by_fd = memory_resize(sockets->by_fd, wanted * sizeof *sockets->by_fd);
        memset(sockets->by_fd + count, 0, (wanted - count) * sizeof *sockets->by_fd);
        sockets->count = wanted;
    }
    socket = NEW(struct http_socket);
    socket->sockets = sockets;
    socket->fd = fd;
    socket->watch = watch_new(sockets->loop, fd, on_watch, socket);
    sockets->by_fd[fd] = socket;
    return socket;
}

static void sockets_forget(struct http_sockets *sockets, int fd)
{
    struct http_socket *socket = sockets_find(sockets, fd);
    if (!socket)
        return;
    sockets->by_fd[fd] = NULL;
    watch_free(socket->watch);
    free(socket);
}

void http_sockets_watch(struct http_sockets *sockets, int fd, bool read, bool write)
{
    bool is_wanted = read || write;
    struct http_socket *socket = is_wanted ? find_or_add(sockets, fd) : sockets_find(sockets, fd);
    if (!socket)
        return;
    socket->is_idle = !is_wanted && socket->is_connection;
    watch_set(socket->watch, read || (socket->is_idle && !socket->is_stale), write);
    if (!is_wanted)
        socket->flood = (struct http_flood){0};
}

void http_sockets_add_connection(struct http_sockets *sockets, int fd)
{
    find_or_add(sockets, fd)->is_connection = true;
}

void http_sockets_release(struct http_sockets *sockets, int fd)
{
    sockets_forget(sockets, fd);
}

void http_sockets_hand_over(struct http_sockets *sockets, int fd)
{
    sockets_forget(sockets, fd);
    sockets->handed_over = fd;
}

bool http_sockets_is_handing_over(const struct http_sockets *sockets)
{
    return sockets->handed_over >= 0;
}

int http_sockets_close(struct http_sockets *sockets, int fd)
{
    if (fd == sockets->handed_over) {
        sockets->handed_over = -1;
        return 0;
    }
    sockets_forget(sockets, fd);
    return close(fd);
}

static int port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } address;
    socklen_t size = sizeof address;
    memset(&address, 0, sizeof address);
    if (getsockname(fd, &address.any, &size) != 0)
        return -1;
    return ntohs(address.any.sa_family == AF_INET6 ? address.in6.sin6_port : address.in.sin_port);
}

static bool is_at_port(const struct http_socket *socket, int port)
{
    return socket && socket->is_connection && socket->local_port == port;
}

/* Returns the connection with this local port, or NULL. The port of each connection is queried only once. */
static struct http_socket *find_by_port(struct http_sockets *sockets, int port)
{
    struct http_socket *found =
        sockets->by_port[port] < 0 ? NULL : sockets_find(sockets, sockets->by_port[port]);
    if (is_at_port(found, port))
        return found;
    for (size_t fd = 0; fd < sockets->count; fd++) {
        struct http_socket *socket = sockets->by_fd[fd];
        if (socket && socket->is_connection && socket->local_port == 0) {
            int its_port = port_of((int)fd);
            socket->local_port = its_port > 0 ? its_port : 0;
        }
        if (is_at_port(socket, port))
            sockets->by_port[port] = (int)fd;
    }
    return sockets->by_port[port] < 0 ? NULL : sockets_find(sockets, sockets->by_port[port]);
}

bool http_sockets_is_stale(struct http_sockets *sockets, int local_port)
{
    char byte;
    if (local_port <= 0 || local_port >= PORTS)
        return false;
    const struct http_socket *socket = find_by_port(sockets, local_port);
    if (!is_at_port(socket, local_port))
        return false;
    ssize_t size = recv(socket->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return socket->is_stale || size >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

void http_sockets_shut(struct http_sockets *sockets, int local_port)
{
    for (size_t fd = 0; fd < sockets->count; fd++)
        if (sockets->by_fd[fd] && sockets->by_fd[fd]->is_connection && port_of((int)fd) == local_port)
            shutdown((int)fd, SHUT_RDWR);
}

struct http_sockets *http_sockets_new(struct loop *loop, http_sockets_fn *on_ready, void *arg)
{
    struct http_sockets *sockets = NEW(struct http_sockets);
    sockets->loop = loop;
    sockets->on_ready = on_ready;
    sockets->arg = arg;
    sockets->handed_over = -1;
    sockets->by_port = NEW_ARRAY(int, PORTS);
    for (size_t port = 0; port < PORTS; port++)
        sockets->by_port[port] = -1;
    return sockets;
}

void http_sockets_free(struct http_sockets *sockets)
{
    if (!sockets)
        return;
    for (size_t fd = 0; fd < sockets->count; fd++)
        sockets_forget(sockets, (int)fd);
    free(sockets->by_fd);
    free(sockets->by_port);
    free(sockets);
}
