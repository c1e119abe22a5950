/* gate.h - refuses requests with ambiguous framing.
 *
 * The check is a pure function of a parsed head. A proxy in front of duepost may read an ambiguous head in
 * another way than libmicrohttpd. A second request can then hide in the body of the first (request
 * smuggling). Ambiguous heads are therefore refused rather than interpreted (RFC 9112, sections 5 and 6). */
#ifndef DUEPOST_IO_HTTP_GATE_H
#define DUEPOST_IO_HTTP_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"

struct http_header {
    struct slice name, value;
};

struct http_head {
    struct slice method, target, version;
    const struct http_header *headers; /* headers as sent, in order */
    size_t header_count;
};

struct http_framing {
    bool is_chunked;
    uint64_t content_length; /* 0 if there is no body, or a chunked body */
};

/* Returns NULL if the head is accepted; framing then describes its body. Otherwise returns the reason as a
 * text for people. */
const char *http_gate_check(const struct http_head *, struct http_framing *framing) MUST_USE;

#endif
