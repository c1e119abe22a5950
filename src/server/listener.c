#include "server/listener.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "server/listening_sockets.h"

enum { BACKLOG = 1024 };

struct listener {
    size_t count;
    int *fds;      /* -1: taken */
    ino_t *inodes; /* inodes of all sockets */
    struct address address;
    bool is_wildcard;
    bool is_trial; /* never listens */
    int error;     /* errno of the error at the first address that could not be bound */
    uint16_t port;
    char url[LISTENER_URL_MAX];
};

static void read_address(struct listener *listener, const struct sockaddr *bound)
{
    assert(bound->sa_family == AF_INET6 || bound->sa_family == AF_INET);
    if (bound->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)bound;
        listener->address.is_v6 = true;
        memcpy(listener->address.bytes, &in6->sin6_addr, 16);
        listener->is_wildcard = IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
        listener->port = ntohs(in6->sin6_port);
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)bound;
        memcpy(listener->address.bytes, &in->sin_addr, 4);
        listener->is_wildcard = in->sin_addr.s_addr == htonl(INADDR_ANY);
        listener->port = ntohs(in->sin_port);
    }
}

/* Opens the first socket; returns -1 with errno after an error. When it listens, other sockets may share its
 * port with SO_REUSEPORT. */
static int open_first(const struct sockaddr *address, socklen_t size, bool is_trial)
{
    int on = 1;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* Without SO_REUSEADDR, closed connections of the previous process would block the port for a minute. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && bind(fd, address, size) == 0 &&
        (is_trial || listen(fd, BACKLOG) == 0) &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Opens a socket on a shared port. The socket does not listen yet. */
static int open_other(const struct sockaddr *address, socklen_t size)
{
    int on = 1;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 && bind(fd, address, size) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static ino_t inode_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

/* Opens all sockets on one address. Returns false with errno after an error; fds then has the sockets that
 * were opened. */
static bool open_all(struct listener *listener, const struct addrinfo *where, bool is_shared)
{
    read_address(listener, where->ai_addr); /* must be stored even if the address cannot be bound */
    listener->fds[0] = is_shared ? open_other(where->ai_addr, where->ai_addrlen)
                                 : open_first(where->ai_addr, where->ai_addrlen, listener->is_trial);
    if (listener->fds[0] < 0)
        return false;
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    if (getsockname(listener->fds[0], (struct sockaddr *)&bound, &size) != 0)
        return false;
    read_address(listener, (const struct sockaddr *)&bound);
    for (size_t i = 1; i < listener->count; i++) {
        listener->fds[i] = open_other((const struct sockaddr *)&bound, size);
        if (listener->fds[i] < 0)
            return false;
    }
    for (size_t i = 0; i < listener->count; i++)
        listener->inodes[i] = inode_of(listener->fds[i]);
    return true;
}

static void close_all(struct listener *listener)
{
    for (size_t i = 0; i < listener->count; i++) {
        if (listener->fds[i] >= 0)
            close(listener->fds[i]);
        listener->fds[i] = -1;
    }
}

static void explain(struct problem *problem, const char *host, uint16_t port, int error)
{
    const char *what = strerror(error);
    if (error == EADDRINUSE)
        what =
            "another program already listens there; stop it or choose another port. To share the port with "
            "another duepost of the same user, set --share-port on";
    else if (error == EACCES)
        what = "ports below 1024 need a privilege; choose a higher port";
    else if (error == EADDRNOTAVAIL)
        what = "this host does not have that address";
    problem_set(problem, "cannot listen on %s port %u: %s", host, port, what);
}

/* Opens the sockets on the first of the name's addresses that can be bound. */
static enum status open_any(struct listener *listener, const char *host, uint16_t port, bool is_shared,
                            struct problem *problem)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    int unresolved = getaddrinfo(host, service, &hints, &found);
    if (unresolved) {
        problem_set(problem, "cannot listen on %s: %s", host, gai_strerror(unresolved));
        return STATUS_FAILED;
    }
    enum status status = STATUS_FAILED;
    for (const struct addrinfo *where = found; where && status != STATUS_OK; where = where->ai_next) {
        if (open_all(listener, where, is_shared)) {
            status = STATUS_OK;
        } else {
            listener->error = listener->error ? listener->error : errno;
            close_all(listener);
        }
    }
    if (status != STATUS_OK)
        explain(problem, host, port, listener->error);
    freeaddrinfo(found);
    return status;
}

static struct listener *listener_new(size_t count)
{
    assert(count > 0);
    struct listener *listener = NEW(struct listener);
    listener->count = count;
    listener->fds = NEW_ARRAY(int, count);
    listener->inodes = NEW_ARRAY(ino_t, count);
    for (size_t i = 0; i < count; i++)
        listener->fds[i] = -1;
    return listener;
}

enum status listener_try(const char *host, uint16_t port, bool is_shared, struct listener_trial *trial,
                         struct problem *problem)
{
    struct listener *listener = listener_new(1);
    listener->is_trial = true;
    enum status status = open_any(listener, host, port, is_shared, problem);
    *trial = (struct listener_trial){.is_held = listener->error == EADDRINUSE,
                                     .is_loopback = listener_is_loopback(listener),
                                     .port = listener->port};
    listener_free(listener);
    return trial->is_held ? STATUS_OK : status;
}

enum status listener_open(const char *scheme, const char *host, uint16_t port, size_t count, bool is_shared,
                          struct listener **opened, struct problem *problem)
{
    struct listener *listener = listener_new(count);
    enum status status = open_any(listener, host, port, is_shared, problem);
    if (status != STATUS_OK) {
        listener_free(listener);
        return status;
    }
    bool is_v6 = strchr(host, ':') != NULL;
    snprintf(listener->url, sizeof listener->url, is_v6 ? "%s://[%s]:%u" : "%s://%s:%u", scheme, host,
             listener->port);
    *opened = listener;
    return STATUS_OK;
}

void listener_free(struct listener *listener)
{
    if (!listener)
        return;
    close_all(listener);
    free(listener->fds);
    free(listener->inodes);
    free(listener);
}

int listener_take(struct listener *listener, size_t index)
{
    assert(index < listener->count && listener->fds[index] >= 0);
    int fd = listener->fds[index];
    listener->fds[index] = -1;
    return fd;
}

bool listener_begin(int fd)
{
    return listen(fd, BACKLOG) == 0;
}

const char *listener_url(const struct listener *listener)
{
    return listener->url;
}

bool listener_has_partner(const struct listener *listener)
{
    return listening_sockets_find(&listener->address, listener->port, listener->inodes, listener->count);
}

bool listener_is_loopback(const struct listener *listener)
{
    if (!listener->address.is_v6)
        return listener->address.bytes[0] == 127;
    return memcmp(listener->address.bytes, &in6addr_loopback, sizeof in6addr_loopback) == 0;
}

void listener_refuse(const struct listener *listener, struct target_policy *policy)
{
    target_policy_refuse(policy, listener->is_wildcard ? NULL : &listener->address, listener->port);
}
