/* address.h - IP addresses, blocks of them, and which are public. */
#ifndef DUEPOST_JOB_ADDRESS_H
#define DUEPOST_JOB_ADDRESS_H

#include "base/slice.h"

/* IPv4 in the first four bytes, or IPv6. */
struct address {
    bool is_v6;
    uint8_t bytes[16];
};

struct address_block {
    struct address base;
    uint8_t bits;
};

/* Strict dotted quads and RFC 4291 texts; no scope id. */
bool address_parse(struct slice text, struct address *);

/* As inet_aton takes IPv4, too: fewer parts, octal, hexadecimal. For what a url's host may be. */
bool address_parse_loose(struct slice text, struct address *);

/* "10.0.0.0/8", or a single address. */
bool address_block_parse(struct slice text, struct address_block *);

/* An IPv4-mapped or NAT64 (64:ff9b::/96) address is judged, here and below, by its IPv4 part. */
bool address_block_has(const struct address_block *, const struct address *);

/* Outside of every block of the special-purpose registries that the list in address.c names. */
bool address_is_public(const struct address *);

/* Which block an address is in that is not public: "loopback (127.0.0.0/8)". NULL: it is public. */
const char *address_rule(const struct address *);

enum { ADDRESS_TEXT_SIZE = 46 }; /* with a NUL at the end */

/* As inet_ntop writes it. */
void address_write(const struct address *, char text[ADDRESS_TEXT_SIZE]);

bool address_equal(const struct address *, const struct address *);

#endif
