/* local_address.h - whether an address is one of this host's own. */
#ifndef DUEPOST_IO_LOCAL_ADDRESS_H
#define DUEPOST_IO_LOCAL_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* bytes: 4 of IPv4 or 16 of IPv6, in network order. True when it cannot be found out. */
bool address_is_local(bool is_v6, const uint8_t *bytes);

#endif
