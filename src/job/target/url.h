/* url.h - the rules for a job's url, its parts, and the addresses in urls. */
#ifndef DUEPOST_JOB_TARGET_URL_H
#define DUEPOST_JOB_TARGET_URL_H

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"

/* ---- IP addresses and address blocks ---- */

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
 * url.c. */
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

/* ---- urls ---- */

enum { JOB_URL_MAX = 2048 }; /* bytes */

struct url {
    bool is_https;
    struct slice host;    /* as in the url, but without the brackets of an IPv6 address */
    uint16_t port;        /* 80 or 443 when the url has none */
    bool host_is_address; /* the host is an address, in any spelling that resolvers accept: 127.1, 0x7f000001,
                             [::1] */
    struct address address; /* when host_is_address */
    struct slice target;    /* path and query as in the url; may be empty; no fragment */
    struct slice query;     /* query with its '?'; empty: no query */
};

/* Parses an absolute http or https URL of at most JOB_URL_MAX bytes. The URL must be visible ASCII, without
 * userinfo and fragment. If INVALID, *detail is a literal that names the broken rule; otherwise *detail is
 * NULL. The parts borrow text. */
enum status url_parse(struct slice text, struct url *, const char **detail) MUST_USE;

/* Returns whether both urls have the same scheme, host and port. Different spellings of an address count as
 * the same host. */
bool url_is_same_origin(const struct url *, const struct url *);

/* Writes the url as a JSON string. The mask replaces the query, which may hold secrets. */
#define URL_HIDDEN_QUERY "?***"
void url_show(struct slice text, struct buffer *);

/* Returns whether a host is a name, not an address in any spelling. */
bool url_host_is_name(struct slice host);

/* Returns whether a name is localhost or ends with .localhost. Such a name means this host, whatever a name
 * server answers. */
bool url_host_is_localhost(struct slice host);

/* Returns whether two host names are equal. Ignores case and a dot at the end. */
bool url_host_equal(struct slice, struct slice);

/* ---- proxies ---- */

enum { PROXY_URL_MAX = 512 }; /* bytes */

/* Accepts http://[user:password@]host:port. The port is required, because proxies have no common default. */
bool proxy_url_is_valid(struct slice text, bool *has_password);

/* Writes the url of a valid proxy without user and password. */
void proxy_url_plain(struct slice text, char plain[PROXY_URL_MAX + 1]);

/* Writes the url of a proxy as a JSON string. The mask replaces user and password. */
void proxy_url_show(struct slice text, struct buffer *);

#endif
