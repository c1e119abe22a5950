#include "io/local_address.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

/* Only a local address can be bound to; a datagram socket's port disturbs nobody. */
bool address_is_local(const struct sockaddr *sockaddr)
{
    struct sockaddr_storage copy = {0};
    socklen_t size =
        sockaddr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    memcpy(&copy, sockaddr, size);
    if (sockaddr->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)&copy)->sin6_port = 0;
    else
        ((struct sockaddr_in *)&copy)->sin_port = 0;
    int fd = socket(sockaddr->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true;
    bool is_remote = bind(fd, (const struct sockaddr *)&copy, size) != 0 && errno == EADDRNOTAVAIL;
    close(fd);
    return !is_remote;
}
