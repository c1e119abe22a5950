/* local_address.h - whether an address is one of this host's own. */
#ifndef DUEPOST_IO_LOCAL_ADDRESS_H
#define DUEPOST_IO_LOCAL_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* IPv4 or IPv6; the port does not matter. True when that cannot be found out. */
bool address_is_local(const struct sockaddr *);

#endif
