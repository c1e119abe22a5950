#include "io/local_address.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Tries to bind a datagram socket to the address, which works only for a local address. Other programs are
 * not affected, because the socket uses a free port and receives nothing. */
bool address_is_local(bool is_v6, const uint8_t *bytes)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    const struct sockaddr *address = is_v6 ? (const void *)&v6 : (const void *)&v4;
    memcpy(is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr, bytes, is_v6 ? 16 : 4);
    int fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true;
    bool is_remote = bind(fd, address, is_v6 ? sizeof v6 : sizeof v4) != 0 && errno == EADDRNOTAVAIL;
    close(fd);
    return !is_remote;
}
