#include "io/http_plain_head.h"

#include "base/buffer.h"

/* ---- the url ---- */

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

/* Returns whether libcurl would use the host exactly as it is written in the url. */
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

bool http_plain_url_split(struct slice url, struct http_plain_url *parts)
{
    struct slice host, port;
    uint64_t number;
    size_t size = 0;
    parts->is_tls = slice_starts_with(url, SLICE("https://"));
    if (!parts->is_tls && !slice_starts_with(url, SLICE("http://")))
        return false;
    struct slice rest = slice_skip(url, parts->is_tls ? strlen("https://") : strlen("http://"));
    while (size < rest.size && rest.data[size] != '/' && rest.data[size] != '?' && rest.data[size] != '#')
        size++;
    parts->authority = slice_from(rest.data, size);
    parts->origin = slice_from(url.data, (size_t)(rest.data - url.data) + size);
    parts->target = slice_skip(rest, size);
    if (parts->target.size == 0)
        parts->target = SLICE("/");
    if (parts->target.data[0] != '/')
        return false;
    for (size_t i = 0; i < parts->target.size; i++)
        if (parts->target.data[i] <= ' ' || parts->target.data[i] > '~' || parts->target.data[i] == '#')
            return false;
    bool has_port = slice_cut(parts->authority, ':', &host, &port);
    return is_simple_host(host) &&
           (!has_port || (slice_to_number(port, 65535, &number) && number > 0 && port.data[0] != '0'));
}

/* ---- the head ---- */

void http_plain_head_write(struct buffer *head, const struct http_call_request *request,
                           const struct http_plain_url *url)
{
    static const struct {
        const char *name;
        bool has_length; /* has Content-Length even for an empty body */
    } methods[] = {
        [HTTP_METHOD_POST] = {"POST ", true},      [HTTP_METHOD_GET] = {"GET ", false},
        [HTTP_METHOD_PUT] = {"PUT ", true},        [HTTP_METHOD_PATCH] = {"PATCH ", true},
        [HTTP_METHOD_DELETE] = {"DELETE ", false}, [HTTP_METHOD_HEAD] = {"HEAD ", false},
    };
    struct slice host = url->authority, default_port = url->is_tls ? SLICE(":443") : SLICE(":80");
    if (slice_ends_with(host, default_port))
        host.size -= default_port.size;
    buffer_clear(head);
    buffer_append(head, slice_of(methods[request->method].name));
    buffer_append(head, url->target);
    buffer_append(head, SLICE(" HTTP/1.1\r\nHost: "));
    buffer_append(head, host);
    buffer_append(head, SLICE("\r\n"));
    for (size_t i = 0; i < request->header_count; i++) {
        struct slice line = request->headers[i], name, value;
        if (slice_cut(line, ':', &name, &value) && slice_trim(value).size == 0)
            line.size = name.size + 1; /* "Name:" */
        buffer_append(head, line);
        buffer_append(head, SLICE("\r\n"));
    }
    if (methods[request->method].has_length || request->body.size) {
        buffer_append(head, SLICE("Content-Length: "));
        buffer_append_number(head, (int64_t)request->body.size);
        buffer_append(head, SLICE("\r\n"));
    }
    buffer_append(head, SLICE("\r\n"));
}
