#include "job/target/url.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/encoding.h"
#include "base/json_writer.h"

/* ---- addresses ---- */

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
        if (address_block_has(block, &risks[i].block.base) ||
            address_block_has(&risks[i].block, &block->base))
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

enum { HOST_MAX = 253, LABEL_MAX = 63 }; /* in bytes, RFC 1035 */

/* ---- hosts ---- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || is_digit(byte) || byte == '-' ||
           byte == '_';
}

/* Returns a host name without the dot at its end, if it has one. Names with and without this dot mean the
 * same host. */
static struct slice without_dot(struct slice host)
{
    if (host.size && host.data[host.size - 1] == '.')
        host.size--;
    return host;
}

/* Returns whether the last label of a host is a number. Resolvers may interpret such a host as an IPv4
 * address. */
static bool ends_in_number(struct slice host)
{
    size_t start = host.size;
    while (start > 0 && host.data[start - 1] != '.')
        start--;
    struct slice label = slice_skip(host, start);
    if (label.size > 1 && label.data[0] == '0' && (label.data[1] == 'x' || label.data[1] == 'X'))
        return true;
    for (size_t i = 0; i < label.size; i++)
        if (!is_digit(label.data[i]))
            return false;
    return label.size > 0;
}

static bool is_name(struct slice host)
{
    struct slice label;
    bool more = true;
    if (host.size > HOST_MAX)
        return false;
    while (more) {
        more = slice_cut(host, '.', &label, &host);
        if (label.size == 0 || label.size > LABEL_MAX)
            return false;
        for (size_t i = 0; i < label.size; i++)
            if (!is_name_byte(label.data[i]))
                return false;
    }
    return true;
}

bool url_host_is_name(struct slice host)
{
    struct slice plain = without_dot(host);
    return is_name(plain) && !ends_in_number(plain);
}

bool url_host_equal(struct slice a, struct slice b)
{
    return slice_equal_nocase(without_dot(a), without_dot(b));
}

bool url_host_is_localhost(struct slice host)
{
    static const struct slice name = SLICE_INIT("localhost");
    struct slice plain = without_dot(host);
    if (plain.size < name.size || !slice_equal_nocase(slice_skip(plain, plain.size - name.size), name))
        return false;
    return plain.size == name.size || plain.data[plain.size - name.size - 1] == '.';
}

static const char *read_bytes(struct slice text)
{
    if (text.size > JOB_URL_MAX)
        return "must be at most 2048 bytes";
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return "must be visible ASCII, without spaces";
        if (text.data[i] == '\\')
            return "must not have a backslash";
        if (text.data[i] == '#')
            return "must not have a fragment";
    }
    return NULL;
}

static const char *read_scheme(struct slice *rest, struct url *url)
{
    static const struct slice http = SLICE_INIT("http://"), https = SLICE_INIT("https://");
    url->is_https = rest->size >= https.size && slice_equal_nocase(slice_from(rest->data, https.size), https);
    bool is_http = rest->size >= http.size && slice_equal_nocase(slice_from(rest->data, http.size), http);
    if (!url->is_https && !is_http)
        return "must begin with http:// or https://";
    *rest = slice_skip(*rest, url->is_https ? https.size : http.size);
    return NULL;
}

static const char *read_port(struct slice text, struct url *url)
{
    uint64_t port;
    if (!slice_to_number(text, UINT16_MAX, &port) || port == 0)
        return "must have a port from 1 to 65535, or none";
    url->port = (uint16_t)port;
    return NULL;
}

/* Reads [v6] with an optional port. */
static const char *read_literal(struct slice authority, struct url *url)
{
    struct slice rest;
    if (memchr(authority.data, '%', authority.size))
        return "must not have a scope id";
    if (!slice_cut(slice_skip(authority, 1), ']', &url->host, &rest) ||
        !address_parse(url->host, &url->address) || !url->address.is_v6)
        return "must have an IPv6 address between the brackets";
    url->host_is_address = true;
    if (rest.size == 0)
        return NULL;
    return rest.data[0] == ':' ? read_port(slice_skip(rest, 1), url) : "must have a valid host";
}

static const char *read_authority(struct slice authority, struct url *url)
{
    struct slice port;
    if (authority.size == 0)
        return "must have a host";
    if (memchr(authority.data, '@', authority.size))
        return "must not have a user name or password";
    if (authority.data[0] == '[')
        return read_literal(authority, url);
    bool has_port = slice_cut(authority, ':', &url->host, &port);
    struct slice name = without_dot(url->host);
    if (name.size == 0)
        return "must have a host";
    if (ends_in_number(name)) {
        /* Refuses an IPv4 address with a dot at the end: some programs take it for an address, others, such
         * as libcurl, for a name. */
        if (name.size != url->host.size || !address_parse_loose(name, &url->address))
            return "must have a host that is a name or an address";
        url->host_is_address = true;
    } else if (!is_name(name)) {
        return "must have a host of letters, digits, '.', '-' and '_'";
    }
    return has_port ? read_port(port, url) : NULL;
}

enum status url_parse(struct slice text, struct url *url, const char **detail)
{
    struct slice rest = text;
    *url = (struct url){0};
    *detail = read_bytes(text);
    if (!*detail)
        *detail = read_scheme(&rest, url);
    if (*detail)
        return STATUS_INVALID;

    size_t end = 0;
    while (end < rest.size && rest.data[end] != '/' && rest.data[end] != '?')
        end++;
    url->port = url->is_https ? 443 : 80;
    url->target = slice_skip(rest, end);
    const char *question = url->target.size ? memchr(url->target.data, '?', url->target.size) : NULL;
    if (question)
        url->query = slice_skip(url->target, (size_t)(question - url->target.data));
    *detail = read_authority(slice_from(rest.data, end), url);
    return *detail ? STATUS_INVALID : STATUS_OK;
}

bool url_is_same_origin(const struct url *a, const struct url *b)
{
    if (a->is_https != b->is_https || a->port != b->port || a->host_is_address != b->host_is_address)
        return false;
    return a->host_is_address ? address_equal(&a->address, &b->address) : url_host_equal(a->host, b->host);
}

void url_show(struct slice text, struct buffer *out)
{
    struct slice plain, query;
    bool has_query = slice_cut(text, '?', &plain, &query);
    buffer_append_json(out, has_query ? plain : text);
    if (has_query && !out->failed) {
        out->size--; /* removes the closing quote */
        buffer_append(out, SLICE(URL_HIDDEN_QUERY "\""));
    }
}

/* ---- proxies ---- */

/* Removes "user:password@" from place. Returns false if the credentials contain a byte at which libcurl would
 * end the host. */
static bool cut_credentials(struct slice *place, bool *has_password)
{
    const char *at = place->size ? memrchr(place->data, '@', place->size) : NULL;
    *has_password = false;
    if (!at)
        return true;
    struct slice credentials = slice_from(place->data, (size_t)(at - place->data));
    *place = slice_skip(*place, credentials.size + 1);
    for (size_t i = 0; i < credentials.size; i++) {
        char byte = credentials.data[i];
        if (byte <= ' ' || byte > '~' || strchr("/?#\\@", byte))
            return false;
        *has_password = *has_password || byte == ':';
    }
    return true;
}

bool proxy_url_is_valid(struct slice text, bool *has_password)
{
    static const struct slice scheme = SLICE_INIT("http://");
    char plain[HOST_MAX + 32];
    struct url url;
    const char *detail;
    if (!slice_starts_with(text, scheme))
        return false;
    struct slice place = slice_skip(text, scheme.size);
    if (!cut_credentials(&place, has_password) || place.size >= sizeof plain - scheme.size)
        return false;
    snprintf(plain, sizeof plain, "http://%.*s", SLICE_ARG(place));
    if (url_parse(slice_of(plain), &url, &detail) != STATUS_OK || url.query.size || url.target.size > 1)
        return false;
    const char *behind = url.host.data + url.host.size;
    return *(*behind == ']' ? behind + 1 : behind) == ':';
}

void proxy_url_plain(struct slice text, char plain[PROXY_URL_MAX + 1])
{
    const char *at = text.size ? memrchr(text.data, '@', text.size) : NULL;
    struct slice place = at ? slice_skip(text, (size_t)(at - text.data) + 1) : text;
    snprintf(plain, PROXY_URL_MAX + 1, "%s%.*s", at ? "http://" : "", SLICE_ARG(place));
}

void proxy_url_show(struct slice text, struct buffer *out)
{
    const char *at = text.size ? memrchr(text.data, '@', text.size) : NULL;
    struct json_writer json = json_writer_to(out);
    char shown[PROXY_URL_MAX + sizeof "http://***"];
    if (!at) {
        json_put_text(&json, text);
        return;
    }
    int size = snprintf(shown, sizeof shown, "http://***%.*s", (int)(slice_end(text) - at), at);
    json_put_text(&json, slice_from(shown, (size_t)size));
}
