#include "server/server_private.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "job/target/url.h"

/* ---- other sockets on a port ---- */

/* Asks the kernel which sockets listen on a port (NETLINK_SOCK_DIAG).
 *
 * On SIGTERM the listening sockets are closed at once, so that new connections are refused and do not wait.
 * When another process listens on the same address and port (--share-port), our sockets stay open until the
 * last attempt has ended, because the kernel gives this process connections while its sockets are open. */

enum { ANSWER_BYTES = 32 * 1024, ANSWER_MS = 1000 };

struct search {
    const struct address *address;
    uint16_t port;
    const ino_t *ours;
    size_t count;
    bool is_over, has_found;
};

static bool is_ours(const struct search *search, ino_t inode)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->ours[i] == inode)
            return true;
    return false;
}

/* The parameter header is not const, because the macros NLMSG_DATA and NLMSG_NEXT cast const away. */
static void read_message(struct search *search, struct nlmsghdr *header)
{
    struct inet_diag_msg found;
    if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY) { /* the end of the answer, or an error */
        search->is_over = true;
        return;
    }
    if (header->nlmsg_len < NLMSG_LENGTH(sizeof found))
        return;
    memcpy(&found, (const char *)header + NLMSG_HDRLEN, sizeof found);
    size_t size = search->address->is_v6 ? 16 : 4;
    if (ntohs(found.id.idiag_sport) == search->port && !is_ours(search, found.idiag_inode) &&
        memcmp(found.id.idiag_src, search->address->bytes, size) == 0)
        search->has_found = true;
}

static bool listening_sockets_ask(int fd, bool is_v6)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 question;
    } message = {
        .header = {.nlmsg_len = sizeof message,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .question = {.sdiag_family = is_v6 ? AF_INET6 : AF_INET,
                     .sdiag_protocol = IPPROTO_TCP,
                     .idiag_states = 1U << TCP_LISTEN},
    };
    return send(fd, &message, sizeof message, 0) == (ssize_t)sizeof message;
}

/* ---- one port ---- */

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
    for (size_t i = 0; i < listener->count; i++) {
        struct stat status;
        listener->inodes[i] = fstat(listener->fds[i], &status) == 0 ? status.st_ino : 0;
    }
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
    if (status != STATUS_OK) {
        const char *what = strerror(listener->error);
        if (listener->error == EADDRINUSE)
            what = "another program already listens there; stop it or choose another port. To share the port "
                   "with another duepost of the same user, set --share-port on";
        else if (listener->error == EACCES)
            what = "ports below 1024 need a privilege; choose a higher port";
        else if (listener->error == EADDRNOTAVAIL)
            what = "this host does not have that address";
        problem_set(problem, "cannot listen on %s port %u: %s", host, port, what);
    }
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

/* Returns whether another TCP socket of this network namespace listens on exactly this address and port.
 * Returns false if the kernel does not report the sockets. */
bool listener_has_partner(const struct listener *listener)
{
    struct search search = {.address = &listener->address,
                            .port = listener->port,
                            .ours = listener->inodes,
                            .count = listener->count};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return false;
    search.is_over = !listening_sockets_ask(fd, listener->address.is_v6);
    while (!search.is_over) { /* one datagram of the answer; the kernel answers at once */
        static _Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t size = poll(&ready, 1, ANSWER_MS) == 1 ? recv(fd, answer, sizeof answer, 0) : -1;
        if (size <= 0)
            search.is_over = true;
        int left = (int)size;
        for (struct nlmsghdr *header = (struct nlmsghdr *)(void *)answer;
             left > 0 && NLMSG_OK(header, (unsigned)left) && !search.is_over;
             header = NLMSG_NEXT(header, left))
            read_message(&search, header);
    }
    close(fd);
    return search.has_found;
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

/* ---- all ports ---- */

struct listeners {
    struct listener *api, *health; /* health is NULL without --health-listen */
    struct http_limits *limits;
};

static enum status listen_at(const struct options *options, const struct listen_address *address,
                             struct listener **listener, struct problem *problem)
{
    return listener_open(options->tls ? "https" : "http", address->host, address->port,
                         (size_t)options->reactors, options->shares_port, listener, problem);
}

static enum status open_both(struct listeners *listeners, const struct options *options,
                             struct problem *problem)
{
    enum status status = listen_at(options, &options->listen, &listeners->api, problem);
    if (status == STATUS_OK && options->health_listen.host)
        status = listen_at(options, &options->health_listen, &listeners->health, problem);
    if (status != STATUS_OK)
        return status;
    if (!options->tls && !listener_is_loopback(listeners->api))
        log_warning("listens_without_tls", LOG_TEXT("at", listener_url(listeners->api)),
                    LOG_TEXT("risk", LISTENERS_RISK));
    if (listeners->health)
        log_info("health_listening", LOG_TEXT("at", listener_url(listeners->health)));
    return STATUS_OK;
}

enum status listeners_open(const struct options *options, struct listeners **opened, struct problem *problem)
{
    struct listeners *listeners = NEW(struct listeners);
    const struct http_limits_options limits = {
        .connections = (size_t)options->max_connections,
        .per_address = (size_t)options->max_connections_per_address,
        .spares_loopback = options->spares_loopback,
        .body_bytes = (size_t)options->max_bodies_bytes,
        .lingering = (size_t)options->max_waiting_leases,
    };
    listeners->limits = http_limits_new(&limits);
    enum status status = open_both(listeners, options, problem);
    if (status == STATUS_OK)
        *opened = listeners;
    else
        listeners_free(listeners);
    return status;
}

void listeners_free(struct listeners *listeners)
{
    if (!listeners)
        return;
    listener_free(listeners->api);
    listener_free(listeners->health);
    http_limits_free(listeners->limits);
    free(listeners);
}

enum status listeners_check_reach(const struct options *options, const char *url, bool is_loopback,
                                  struct problem *problem)
{
    if (!is_loopback && options->is_clock_manual) {
        problem_set(problem,
                    "%s can be reached from other hosts, which --clock manual does not allow, because it is "
                    "for tests; listen on 127.0.0.1, or leave the option out",
                    url);
        return STATUS_INVALID;
    }
    if (is_loopback || options->tokens)
        return STATUS_OK;
    if (options->is_qstash_dev) {
        problem_set(problem,
                    "%s can be reached from other hosts, which --qstash-dev does not allow; listen on "
                    "127.0.0.1, or switch it off",
                    url);
        return STATUS_INVALID;
    }
    problem_set(problem,
                "%s can be reached from other hosts, which requires tokens: create one (duepost token "
                "new NAME scopes=...) and set --tokens to the file; or listen on 127.0.0.1",
                url);
    return STATUS_INVALID;
}

static enum status check_reach(const struct options *options, const struct listener *listener,
                               struct problem *problem)
{
    if (!listener)
        return STATUS_OK;
    return listeners_check_reach(options, listener_url(listener), listener_is_loopback(listener), problem);
}

enum status listeners_check(const struct listeners *listeners, const struct options *options,
                            struct problem *problem)
{
    enum status status = check_reach(options, listeners->api, problem);
    return status == STATUS_OK ? check_reach(options, listeners->health, problem) : status;
}

void listeners_refuse(const struct listeners *listeners, struct target_policy *policy)
{
    listener_refuse(listeners->api, policy);
    if (listeners->health)
        listener_refuse(listeners->health, policy);
}

const char *listeners_url(const struct listeners *listeners)
{
    return listener_url(listeners->api);
}

bool listeners_has_partner(const struct listeners *listeners)
{
    return listener_has_partner(listeners->api);
}

int listeners_take(struct listeners *listeners, size_t reactor)
{
    return listener_take(listeners->api, reactor);
}

int listeners_take_health(struct listeners *listeners, size_t reactor)
{
    return listeners->health ? listener_take(listeners->health, reactor) : -1;
}

struct http_limits *listeners_limits(const struct listeners *listeners)
{
    return listeners->limits;
}
