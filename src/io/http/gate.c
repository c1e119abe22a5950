#include "io/http/gate.h"

/* Headers that may occur only once. If a head has such a header twice, one parser may use the first line and
 * another parser the second. */
enum single {
    SINGLE_CONTENT_LENGTH,
    SINGLE_TRANSFER_ENCODING,
    SINGLE_HOST,
    SINGLE_AUTHORIZATION,
    SINGLE_CONTENT_TYPE,
    SINGLE_IDEMPOTENCY_KEY,
    SINGLE_COUNT,
};

static const struct {
    struct slice name;
    const char *repeated;
} singles[SINGLE_COUNT] = {
    [SINGLE_CONTENT_LENGTH] = {SLICE("content-length"), "more than one Content-Length"},
    [SINGLE_TRANSFER_ENCODING] = {SLICE("transfer-encoding"), "more than one Transfer-Encoding"},
    [SINGLE_HOST] = {SLICE("host"), "more than one Host"},
    [SINGLE_AUTHORIZATION] = {SLICE("authorization"), "more than one Authorization"},
    [SINGLE_CONTENT_TYPE] = {SLICE("content-type"), "more than one Content-Type"},
    [SINGLE_IDEMPOTENCY_KEY] = {SLICE("idempotency-key"), "more than one Idempotency-Key"},
};

static const struct slice methods[] = {
    SLICE("GET"),     SLICE("HEAD"),  SLICE("POST"),    SLICE("PUT"),   SLICE("DELETE"),
    SLICE("OPTIONS"), SLICE("PATCH"), SLICE("CONNECT"), SLICE("TRACE"),
};

/* Bytes that a token may contain (tchar of RFC 9110, section 5.6.2). */
static const bool token_bytes[256] = {
    ['!'] = true,         ['#' ... '\''] = true, ['*'] = true,         ['+'] = true, ['-'] = true,
    ['.'] = true,         ['0' ... '9'] = true,  ['A' ... 'Z'] = true, ['^'] = true, ['_'] = true,
    ['`' ... 'z'] = true, ['|'] = true,          ['~'] = true,
};

static bool has_only(struct slice text, const bool allowed[256])
{
    for (size_t i = 0; i < text.size; i++)
        if (!allowed[(unsigned char)text.data[i]])
            return false;
    return true;
}

static bool is_token(struct slice text)
{
    return text.size > 0 && has_only(text, token_bytes);
}

/* Returns whether a text is a valid value. Tabs are the only control characters that a value may contain. */
static bool is_value(struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

/* Bytes that a reg-name or an IPv4 address may contain (RFC 3986, section 3.2.2). */
static const bool host_bytes[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true, ['.'] = true,
    ['_'] = true,         ['~'] = true,         ['%'] = true,         ['!'] = true, ['$'] = true,
    ['&' ... ','] = true, [';'] = true,         ['='] = true,
};

/* Bytes that an IPv6 address may contain between its brackets. */
static const bool literal_bytes[256] = {
    ['0' ... '9'] = true, ['A' ... 'F'] = true, ['a' ... 'f'] = true, [':'] = true, ['.'] = true,
};

/* Returns whether a text is uri-host [ ":" port ]. The host may be empty (RFC 9110, section 7.2). */
static bool is_host(struct slice text)
{
    static const bool digits[256] = {['0' ... '9'] = true};
    struct slice host, port = {NULL, 0};
    if (text.size && text.data[0] == '[') {
        if (!slice_cut(slice_skip(text, 1), ']', &host, &port) || !has_only(host, literal_bytes))
            return false;
        return port.size == 0 || (port.data[0] == ':' && has_only(slice_skip(port, 1), digits));
    }
    slice_cut(text, ':', &host, &port);
    return has_only(host, host_bytes) && has_only(port, digits);
}

static bool is_target(struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte <= 0x20 || byte == 0x7f)
            return false;
    }
    return text.size > 0;
}

static bool is_method(struct slice method)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (slice_equal(method, methods[i]))
            return true;
    return false;
}

static const char *check_request_line(const struct http_head *head)
{
    if (!slice_equal(head->version, SLICE("HTTP/1.1")) && !slice_equal(head->version, SLICE("HTTP/1.0")))
        return "unknown version of HTTP";
    if (!is_method(head->method))
        return "unknown method";
    if (!is_target(head->target))
        return "the request target holds a space or a control byte";
    return NULL;
}

/* Checks the name and the value of each header, and finds the headers that may occur only once. */
static const char *check_headers(const struct http_head *head, const struct http_header *found[SINGLE_COUNT])
{
    for (size_t i = 0; i < head->header_count; i++) {
        const struct http_header *header = &head->headers[i];
        if (!is_token(header->name))
            return "the name of a header is not a token";
        if (!is_value(header->value))
            return "the value of a header holds a control byte";
        for (int s = 0; s < SINGLE_COUNT; s++) {
            if (!slice_equal_nocase(header->name, singles[s].name))
                continue;
            if (found[s])
                return singles[s].repeated;
            found[s] = header;
        }
    }
    return NULL;
}

static const char *check_framing(const struct http_header *length, const struct http_header *coding,
                                 bool is_http_1_0, struct http_framing *framing)
{
    if (length && coding)
        return "both Content-Length and Transfer-Encoding";
    if (coding && is_http_1_0)
        return "Transfer-Encoding on HTTP/1.0";
    if (coding && !slice_equal_nocase(coding->value, SLICE("chunked")))
        return "Transfer-Encoding is not chunked";
    if (length && !slice_to_number(length->value, UINT64_MAX, &framing->content_length))
        return "Content-Length is not a number";
    framing->is_chunked = coding != NULL;
    return NULL;
}

const char *http_gate_check(const struct http_head *head, struct http_framing *framing)
{
    const struct http_header *found[SINGLE_COUNT] = {NULL};
    *framing = (struct http_framing){0};
    const char *why = check_request_line(head);
    if (!why)
        why = check_headers(head, found);
    if (why)
        return why;
    bool is_http_1_0 = slice_equal(head->version, SLICE("HTTP/1.0"));
    if (!is_http_1_0 && !found[SINGLE_HOST])
        return "no Host";
    if (found[SINGLE_HOST] && !is_host(slice_trim(found[SINGLE_HOST]->value)))
        return "Host is not a valid host";
    return check_framing(found[SINGLE_CONTENT_LENGTH], found[SINGLE_TRANSFER_ENCODING], is_http_1_0, framing);
}
