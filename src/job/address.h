/* address.h - IP addresses and address blocks; distinguishes public addresses from special ones. */
#ifndef DUEPOST_JOB_ADDRESS_H
#define DUEPOST_JOB_ADDRESS_H

#include "base/slice.h"

/* An IPv4 address is in the first four bytes, an IPv6 address in all bytes. */
struct address {
    bool is_v6;
    uint8_t bytes[16];
};

struct address_block {
    struct address base;
    uint8_t bits;
};

/* Parses an IPv4 address of four decimal numbers, or an IPv6 address (RFC 4291) without a scope id. */
bool address_parse(struct slice text, struct address *);

/* Parses what address_parse parses, and also the other spellings of IPv4 addresses that inet_aton accepts:
 * fewer parts, octal, hexadecimal. Used for the host of a url. */
bool address_parse_loose(struct slice text, struct address *);

/* Parses a block such as "10.0.0.0/8", or a single address, which is a block of one address. */
bool address_block_parse(struct slice text, struct address_block *);

/* In this function and the functions below, an IPv4-mapped or NAT64 (64:ff9b::/96) address counts as its IPv4
 * part. */
bool address_block_has(const struct address_block *, const struct address *);

/* Returns whether the address is outside every block of the special-purpose registries listed in
 * address.c. */
bool address_is_public(const struct address *);

/* Returns the name of the special block that contains an address: "loopback (127.0.0.0/8)". Returns NULL if
 * the address is public. */
const char *address_rule(const struct address *);

/* Returns the risk of letting jobs connect to a whole block, or NULL if the block is small and contains
 * nothing that is usually reached by mistake. */
const char *address_block_risk(const struct address_block *);

enum { ADDRESS_TEXT_SIZE = 46 }; /* includes the NUL */

/* Writes an address like inet_ntop. */
void address_write(const struct address *, char text[ADDRESS_TEXT_SIZE]);

bool address_equal(const struct address *, const struct address *);

#endif
