/* listening_sockets.h - asks the kernel who else listens on a port (NETLINK_SOCK_DIAG). */
#ifndef DUEPOST_SERVER_LISTENING_SOCKETS_H
#define DUEPOST_SERVER_LISTENING_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "job/address.h"

/* Whether a TCP socket of this network namespace listens on this very address and port whose inode is none of
 * ours. False, too, where the kernel does not tell. */
bool listening_sockets_find(const struct address *, uint16_t port, const ino_t *ours, size_t count);

#endif
