#include "http/origin.h"

#include "job/target/url.h"

/* Returns the host of "host:port" or "[v6]:port", with its brackets. io/http_gate.h has checked the syntax.
 */
static struct slice host_of(struct slice text)
{
    struct slice host, port;
    if (text.size == 0 || text.data[0] != '[') {
        slice_cut(text, ':', &host, &port);
        return host;
    }
    const char *end = memchr(text.data, ']', text.size);
    return end ? slice_from(text.data, (size_t)(end + 1 - text.data)) : text;
}

static bool is_loopback(struct slice host)
{
    static const struct address_block v4 = {{false, {127}}, 8}, v6 = {{true, {[15] = 1}}, 128};
    struct address address;
    bool has_brackets = host.size > 2 && host.data[0] == '[';
    if (has_brackets)
        host = slice_from(host.data + 1, host.size - 2);
    return address_parse(host, &address) && address.is_v6 == has_brackets &&
           (address_block_has(&v4, &address) || address_block_has(&v6, &address));
}

/* Returns whether host is in names, a list separated by commas. */
static bool is_one_of(struct slice names, struct slice host)
{
    struct slice name;
    bool is_found = false, more = true;
    while (more && !is_found) {
        more = slice_cut(names, ',', &name, &names);
        is_found = url_host_equal(slice_trim(name), host);
    }
    return is_found;
}

static bool is_this_host(const struct site_options *options, struct slice host)
{
    return is_loopback(host) || url_host_is_localhost(host) || url_host_equal(options->listen_host, host) ||
           (options->hosts.size && is_one_of(options->hosts, host));
}

/* Returns whether origin is http:// or https:// followed by the value of Host (RFC 6454, section 7). */
static bool is_same_site(struct slice origin, struct slice host)
{
    static const struct slice schemes[] = {SLICE("http://"), SLICE("https://")};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (origin.size > schemes[i].size && slice_starts_with(origin, schemes[i]))
            return slice_equal_nocase(slice_skip(origin, schemes[i].size), host);
    return false;
}

bool origin_admit(struct exchange *exchange)
{
    struct slice host = slice_trim(http_request_header(exchange->request, "Host"));
    /* Host may be missing in HTTP/1.0, which browsers do not use. */
    if (host.size && !is_this_host(&exchange->site->options, host_of(host))) {
        exchange_refuse(
            exchange, 403,
            "Without tokens (--tokens) duepost answers to localhost and the names of --hosts only, "
            "not to %.*s.",
            SLICE_ARG(host));
        return false;
    }
    struct slice origin = slice_trim(http_request_header(exchange->request, "Origin"));
    if (origin.size && !is_same_site(origin, host)) {
        exchange_refuse(exchange, 403,
                        "Without tokens (--tokens) duepost refuses web pages of other sites: Origin is "
                        "%.*s, Host is %.*s.",
                        SLICE_ARG(origin), SLICE_ARG(host));
        return false;
    }
    return true;
}
