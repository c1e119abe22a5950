/* listening_sockets.h - asks the kernel which sockets listen on a port (NETLINK_SOCK_DIAG). */
#ifndef DUEPOST_SERVER_LISTENING_SOCKETS_H
#define DUEPOST_SERVER_LISTENING_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "job/address.h"

/* Returns whether another TCP socket of this network namespace listens on exactly this address and port. ours
 * has the inodes of our own sockets. False where the kernel does not report it. */
bool listening_sockets_find(const struct address *, uint16_t port, const ino_t *ours, size_t count);

#endif
