#include "io/http/gate.h"

#include "fuzz.h"

enum { HEADERS_MAX = 16 };

static size_t count_of(const struct http_head *head, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < head->header_count; i++)
        count += slice_equal_nocase(head->headers[i].name, slice_of(name));
    return count;
}

/* Checks with other code that an accepted head cannot be read in two ways. */
static void check_passed(const struct http_head *head, const struct http_framing *framing)
{
    size_t lengths = count_of(head, "content-length"), codings = count_of(head, "transfer-encoding");
    bool is_1_0 = slice_equal(head->version, SLICE("HTTP/1.0"));
    assert(lengths + codings <= 1 && count_of(head, "host") <= 1 && count_of(head, "authorization") <= 1);
    assert(is_1_0 || count_of(head, "host") == 1);
    assert(framing->is_chunked == (codings == 1) && !(is_1_0 && codings));
    assert(framing->content_length == 0 || lengths == 1);
    for (size_t i = 0; i < head->header_count; i++)
        for (const char *bad = "\r\n\v\f\x7f"; *bad; bad++)
            assert(!memchr(head->headers[i].name.data, *bad, head->headers[i].name.size) &&
                   (head->headers[i].value.size == 0 ||
                    !memchr(head->headers[i].value.data, *bad, head->headers[i].value.size)));
}

/* Input: a request line and headers, in lines that end with '\n'. libmicrohttpd is not used here, so a value
 * may contain any other byte. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_header headers[HEADERS_MAX];
    struct http_head head = {.headers = headers};
    struct http_framing framing;
    struct slice line, rest;
    slice_cut(input_of(data, size), '\n', &line, &rest);
    slice_cut(line, ' ', &head.method, &line);
    slice_cut(line, ' ', &head.target, &head.version);
    while (rest.size && head.header_count < HEADERS_MAX) {
        struct http_header *header = &headers[head.header_count++];
        slice_cut(rest, '\n', &line, &rest);
        slice_cut(line, ':', &header->name, &header->value);
    }
    if (!http_gate_check(&head, &framing))
        check_passed(&head, &framing);
    return 0;
}
