#include "job/address.h"

#include <arpa/inet.h>

#include "base/buffer.h"
#include "base/hex.h"

enum { TEXT_MAX = INET6_ADDRSTRLEN };

bool address_parse(struct slice text, struct address *address)
{
    char copy[TEXT_MAX + 1];
    if (text.size == 0 || text.size > TEXT_MAX || memchr(text.data, '\0', text.size))
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *address = (struct address){0};
    address->is_v6 = memchr(copy, ':', text.size) != NULL;
    return inet_pton(address->is_v6 ? AF_INET6 : AF_INET, copy, address->bytes) == 1;
}

/* Parses one part of an IPv4 address in a spelling of inet_aton. A part that begins with 0x is hexadecimal; a
 * part that begins with another 0 is octal. */
static bool parse_part(struct slice part, uint64_t max, uint64_t *value)
{
    unsigned base = 10;
    if (part.size > 1 && part.data[0] == '0') {
        bool is_hex = part.data[1] == 'x' || part.data[1] == 'X';
        base = is_hex ? 16 : 8;
        part = slice_skip(part, is_hex ? 2 : 1);
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < part.size; i++) {
        unsigned digit =
            (unsigned)hex_value(part.data[i]); /* a byte that is not a hexadecimal digit becomes UINT_MAX */
        if (digit >= base)
            return false;
        sum = sum * base + digit;
        if (sum > max)
            return false;
    }
    *value = sum;
    return part.size > 0;
}

/* Parses one to four parts. Each part but the last is one byte; the last part fills the remaining bytes. */
static bool parse_loose_v4(struct slice text, uint32_t *v4)
{
    struct slice part, rest = text;
    uint64_t value;
    uint32_t sum = 0;
    unsigned left = 4; /* remaining bytes */
    while (slice_cut(rest, '.', &part, &rest)) {
        if (left == 1 || !parse_part(part, 255, &value))
            return false;
        left--;
        sum |= (uint32_t)value << 8 * left;
    }
    if (!parse_part(part, (UINT64_C(1) << 8 * left) - 1, &value))
        return false;
    *v4 = sum | (uint32_t)value;
    return true;
}

bool address_parse_loose(struct slice text, struct address *address)
{
    uint32_t v4;
    if (address_parse(text, address))
        return true;
    if (!parse_loose_v4(text, &v4))
        return false;
    *address = (struct address){0};
    for (unsigned i = 0; i < 4; i++)
        address->bytes[i] = (uint8_t)(v4 >> (24 - 8 * i));
    return true;
}

enum { EMBEDDED_BITS = 96 }; /* bits before an IPv4 address inside an IPv6 address */

/* Returns whether an address is an IPv4-mapped or NAT64 address, which contains an IPv4 address. */
static bool embeds_v4(const struct address *address)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    return address->is_v6 &&
           (memcmp(address->bytes, mapped, 12) == 0 || memcmp(address->bytes, nat64, 12) == 0);
}

static struct address judged(const struct address *address)
{
    struct address v4 = {0};
    if (!embeds_v4(address))
        return *address;
    memcpy(v4.bytes, address->bytes + 12, 4);
    return v4;
}

bool address_block_parse(struct slice text, struct address_block *block)
{
    struct slice address, rest;
    uint64_t bits;
    bool has_bits = slice_cut(text, '/', &address, &rest);
    if (!address_parse(address, &block->base))
        return false;
    unsigned width = block->base.is_v6 ? 128 : 32;
    if (!has_bits)
        bits = width;
    else if (!slice_to_number(rest, width, &bits))
        return false;
    if (embeds_v4(&block->base) && bits >= EMBEDDED_BITS) {
        block->base = judged(&block->base);
        bits -= EMBEDDED_BITS;
    }
    block->bits = (uint8_t)bits;
    return true;
}

bool address_block_has(const struct address_block *block, const struct address *address)
{
    struct address other = judged(address);
    size_t bytes = block->bits / 8;
    unsigned bits = block->bits % 8;
    if (block->base.is_v6 != other.is_v6 || memcmp(block->base.bytes, other.bytes, bytes) != 0)
        return false;
    return bits == 0 || (block->base.bytes[bytes] ^ other.bytes[bytes]) >> (8 - bits) == 0;
}

/* The list has the blocks of IANA's special-purpose registries, multicast, and 168.63.129.16. At
 * 168.63.129.16, virtual machines on Azure reach services of their host. */
static const struct special {
    struct address_block block;
    const char *rule;
} special_v4[] = {
    {{{false, {0}}, 8}, "this network (0.0.0.0/8)"},
    {{{false, {10}}, 8}, "private (10.0.0.0/8)"},
    {{{false, {100, 64}}, 10}, "carrier-grade NAT (100.64.0.0/10)"},
    {{{false, {127}}, 8}, "loopback (127.0.0.0/8)"},
    {{{false, {168, 63, 129, 16}}, 32}, "Azure's host services (168.63.129.16)"},
    {{{false, {169, 254}}, 16}, "link-local (169.254.0.0/16)"},
    {{{false, {172, 16}}, 12}, "private (172.16.0.0/12)"},
    {{{false, {192, 0, 0}}, 24}, "protocol assignments (192.0.0.0/24)"},
    {{{false, {192, 0, 2}}, 24}, "documentation (192.0.2.0/24)"},
    {{{false, {192, 88, 99}}, 24}, "6to4 relay (192.88.99.0/24)"},
    {{{false, {192, 168}}, 16}, "private (192.168.0.0/16)"},
    {{{false, {198, 18}}, 15}, "benchmarking (198.18.0.0/15)"},
    {{{false, {198, 51, 100}}, 24}, "documentation (198.51.100.0/24)"},
    {{{false, {203, 0, 113}}, 24}, "documentation (203.0.113.0/24)"},
    {{{false, {224}}, 4}, "multicast (224.0.0.0/4)"},
    {{{false, {240}}, 4}, "reserved (240.0.0.0/4)"},
};

/* Only the addresses in this block are assigned (RFC 4291, 2.4). The list above has the special blocks
 * inside 2000::/3 (protocol assignments with Teredo, two documentation blocks, 6to4), and some blocks
 * outside of it. */
static const struct address_block global_v6 = {{true, {0x20}}, 3};
static const struct special special_v6[] = {
    {{{true, {0x20, 0x01}}, 23}, "protocol assignments (2001::/23)"},
    {{{true, {0x20, 0x01, 0x0d, 0xb8}}, 32}, "documentation (2001:db8::/32)"},
    {{{true, {0x20, 0x02}}, 16}, "6to4 (2002::/16)"},
    {{{true, {0x3f, 0xff}}, 20}, "documentation (3fff::/20)"},
    {{{true, {[15] = 1}}, 128}, "loopback (::1)"},
    {{{true, {0xfc}}, 7}, "unique local (fc00::/7)"},
    {{{true, {0xfe, 0x80}}, 10}, "link-local (fe80::/10)"},
    {{{true, {0xff}}, 8}, "multicast (ff00::/8)"},
};

static const char *rule_of(const struct special *special, size_t count, const struct address *address)
{
    for (size_t i = 0; i < count; i++)
        if (address_block_has(&special[i].block, address))
            return special[i].rule;
    return NULL;
}

const char *address_rule(const struct address *address)
{
    struct address plain = judged(address);
    if (!plain.is_v6)
        return rule_of(special_v4, sizeof special_v4 / sizeof *special_v4, &plain);
    const char *rule = rule_of(special_v6, sizeof special_v6 / sizeof *special_v6, &plain);
    return rule || address_block_has(&global_v6, &plain) ? rule : "not global unicast (2000::/3)";
}

bool address_is_public(const struct address *address)
{
    return address_rule(address) == NULL;
}

enum { WIDE_BITS = 8 }; /* a block with a shorter prefix is wider than any private network */

static bool overlap(const struct address_block *a, const struct address_block *b)
{
    return address_block_has(a, &b->base) || address_block_has(b, &a->base);
}

const char *address_block_risk(const struct address_block *block)
{
    static const struct {
        struct address_block block;
        const char *risk;
    } risks[] = {
        {{{false, {169, 254}}, 16}, "includes the metadata services of clouds, which give out credentials"},
        {{{true, {0xfd, 0x00, 0x0e, 0xc2}}, 32},
         "includes the metadata services of clouds, which give out credentials"},
        {{{false, {127}}, 8}, "includes loopback: every service of this host"},
        {{{true, {[15] = 1}}, 128}, "includes loopback: every service of this host"},
    };
    if (block->bits < WIDE_BITS)
        return "is wider than any private network";
    for (size_t i = 0; i < sizeof risks / sizeof *risks; i++)
        if (overlap(block, &risks[i].block))
            return risks[i].risk;
    return NULL;
}

void address_write(const struct address *address, char text[ADDRESS_TEXT_SIZE])
{
    struct buffer digits = buffer_of(text, ADDRESS_TEXT_SIZE);
    if (address->is_v6) {
        inet_ntop(AF_INET6, address->bytes, text, ADDRESS_TEXT_SIZE);
        return;
    }
    for (size_t i = 0; i < 4; i++) { /* this loop needs a fifth of the instructions that inet_ntop needs */
        buffer_append(&digits, i ? SLICE(".") : SLICE(""));
        buffer_append_number(&digits, address->bytes[i]);
    }
    buffer_text(&digits);
}

bool address_equal(const struct address *a, const struct address *b)
{
    struct address left = judged(a), right = judged(b);
    return left.is_v6 == right.is_v6 && memcmp(left.bytes, right.bytes, left.is_v6 ? 16 : 4) == 0;
}
