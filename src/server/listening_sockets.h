/* listening_sockets.h - asks the kernel which sockets listen on a port (NETLINK_SOCK_DIAG).
 *
 * On SIGTERM the listening sockets are closed at once, so that new connections are refused and do not wait.
 * When another process listens on the same address and port (--share-port), our sockets stay open until the
 * last attempt has ended, because the kernel gives this process connections while its sockets are open. */
#ifndef DUEPOST_SERVER_LISTENING_SOCKETS_H
#define DUEPOST_SERVER_LISTENING_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "job/target/url.h"

/* Returns whether another TCP socket of this network namespace listens on exactly this address and port.
 * ours has the inodes of our own sockets. Returns false if the kernel does not report the sockets. */
bool listening_sockets_find(const struct address *, uint16_t port, const ino_t *ours, size_t count);

#endif
