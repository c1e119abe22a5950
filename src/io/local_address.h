/* local_address.h - checks whether an address belongs to this host. */
#ifndef DUEPOST_IO_LOCAL_ADDRESS_H
#define DUEPOST_IO_LOCAL_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Returns whether the address belongs to this host. If this cannot be determined, returns true. bytes has 4
 * bytes for IPv4, 16 for IPv6, in network order. */
bool address_is_local(bool is_v6, const uint8_t *bytes);

#endif
