/* http_gate.h - is the framing of this request beyond doubt?
 *
 * A pure function over a parsed head. Whoever stands in front of duepost may
 * read a doubtful head in another way than libmicrohttpd does, and then a second
 * request can hide in the body of the first. So doubt is refused, not resolved
 * (RFC 9112, sections 5 and 6). */
#ifndef DUEPOST_IO_HTTP_GATE_H
#define DUEPOST_IO_HTTP_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/status.h"
#include "io/http_header.h"

struct http_head {
    struct slice method, target, version;
    const struct http_header *headers; /* as sent, in order */
    size_t header_count;
};

struct http_framing {
    bool is_chunked;
    uint64_t content_length; /* 0 without a body and when chunked */
};

/* NULL: it may pass, and framing tells its body. Else why not, for people. */
const char *http_gate_check(const struct http_head *, struct http_framing *framing) MUST_USE;

#endif
