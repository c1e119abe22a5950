#include "io/http_head.h"

enum { HEADERS_MAX = 128 };

struct header_list {
    struct http_header headers[HEADERS_MAX];
    size_t count;
};

static enum MHD_Result on_header(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                 const char *value, size_t value_size)
{
    (void)kind;
    struct header_list *list = arg;
    if (list->count < HEADERS_MAX)
        list->headers[list->count] = (struct http_header){{name, name_size}, {value, value_size}};
    list->count++;
    return MHD_YES;
}

static bool library_is_0_9(void)
{
    return strncmp(MHD_get_version(), "0.9.", 4) == 0;
}

/* By default libmicrohttpd 1.0 accepts a bare LF as a line end, folded lines and stray spaces in the request
 * line. With MHD_OPTION_STRICT_FOR_CLIENT at 1, version 1.0 answers 400 to each of these. Version 0.9 accepts
 * them even then; head_is_gapless then refuses them. */
int http_head_strictness(void)
{
    return library_is_0_9() ? 0 : 1;
}

/* Returns whether the parts of the head follow one another without gaps, as in a plain head. libmicrohttpd
 * 0.9 parses a head in place and writes NUL bytes over colons and line ends. This version also silently cuts
 * a value at a NUL, joins folded lines and accepts a lone LF as a line end. Each of these changes leaves a
 * gap between the parts. */
static bool head_is_gapless(const struct http_head_seen *seen, const struct header_list *list)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(seen->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    const char *at = seen->method + strlen(seen->method) + 1;
    if (!size || at != seen->target_at)
        return false;
    at += seen->target_seen + 1;
    if (at != seen->version)
        return false;
    at += strlen(seen->version) + 2;
    for (size_t i = 0; i < list->count; i++) {
        const struct http_header *header = &list->headers[i];
        if (header->name.data != at)
            return false;
        at += header->name.size + 1;
        while (*at == ' ' || *at == '\t')
            at++;
        if (header->value.data != at)
            return false;
        at += header->value.size + 2;
    }
    return at + 2 == seen->method + size->header_size;
}

/* Returns whether libmicrohttpd and our own strict parser found the end of the head at the same byte. */
static bool head_is_as_read(const struct http_head_seen *seen, const struct http_framing *framing)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(seen->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return size && http_bytes_take_head(seen->bytes, seen->fd, size->header_size, framing);
}

const char *http_head_check(const struct http_head_seen *seen, struct http_framing *framing)
{
    struct header_list list;
    list.count = 0;
    MHD_get_connection_values_n(seen->connection, MHD_HEADER_KIND, on_header, &list);
    if (list.count > HEADERS_MAX)
        return "more than 128 headers";
    struct http_head head = {
        .method = slice_of(seen->method),
        .target = seen->target,
        .version = slice_of(seen->version),
        .headers = list.headers,
        .header_count = list.count,
    };
    const char *why = http_gate_check(&head, framing);
    if (!why && (!head_is_as_read(seen, framing) || (library_is_0_9() && !head_is_gapless(seen, &list))))
        why = "the head holds a NUL byte, a folded line, a line end other than CR LF, or needless spaces";
    return why;
}
