#include "io/http_place.h"

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Returns whether host is an IPv4 address as inet_ntop writes it. */
static bool is_canonical_address(struct slice host)
{
    struct slice number;
    uint64_t value;
    int count = 0;
    for (bool has_more = true; has_more; count++) {
        has_more = slice_cut(host, '.', &number, &host);
        if (!slice_to_number(number, 255, &value) || (number.size > 1 && number.data[0] == '0'))
            return false;
    }
    return count == 4;
}

/* Returns whether libcurl would use this host as it is spelled. */
static bool is_simple_host(struct slice host)
{
    size_t label = host.size;
    for (size_t i = 0; i < host.size; i++) {
        char byte = host.data[i];
        if (!(byte >= 'a' && byte <= 'z') && !is_digit(byte) && byte != '.' && byte != '-')
            return false;
    }
    if (host.size == 0 || host.data[0] == '.' || host.data[host.size - 1] == '.')
        return false;
    while (label > 0 && host.data[label - 1] != '.')
        label--;
    return !is_digit(host.data[label]) || is_canonical_address(host);
}

bool http_place_split(struct slice url, struct http_place *place)
{
    struct slice host, port;
    uint64_t number;
    size_t size = 0;
    if (!slice_starts_with(url, SLICE("http://")))
        return false;
    struct slice rest = slice_skip(url, strlen("http://"));
    while (size < rest.size && rest.data[size] != '/' && rest.data[size] != '?' && rest.data[size] != '#')
        size++;
    place->authority = slice_from(rest.data, size);
    place->target = slice_skip(rest, size);
    if (place->target.size == 0)
        place->target = SLICE("/");
    if (place->target.data[0] != '/')
        return false;
    for (size_t i = 0; i < place->target.size; i++)
        if (place->target.data[i] <= ' ' || place->target.data[i] > '~' || place->target.data[i] == '#')
            return false;
    bool has_port = slice_cut(place->authority, ':', &host, &port);
    return is_simple_host(host) &&
           (!has_port || (slice_to_number(port, 65535, &number) && number > 0 && port.data[0] != '0'));
}
