#include "job/url.h"

enum { HOST_MAX = 253, LABEL_MAX = 63 }; /* in bytes, RFC 1035 */

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
