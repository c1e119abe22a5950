/* Writes the head of a request that is sent without libcurl. */
#include "io/http_call_private.h"

void http_call_write_head(struct http_call *call, const struct http_call_request *request,
                          const struct http_place *place)
{
    static const struct {
        const char *name;
        bool has_length; /* has Content-Length even for an empty body */
    } methods[] = {
        [HTTP_METHOD_POST] = {"POST ", true},      [HTTP_METHOD_GET] = {"GET ", false},
        [HTTP_METHOD_PUT] = {"PUT ", true},        [HTTP_METHOD_PATCH] = {"PATCH ", true},
        [HTTP_METHOD_DELETE] = {"DELETE ", false}, [HTTP_METHOD_HEAD] = {"HEAD ", false},
    };
    struct buffer *head = &call->head;
    struct slice host = place->authority;
    if (slice_ends_with(host, SLICE(":80")))
        host.size -= strlen(":80");
    buffer_clear(head);
    buffer_append(head, slice_of(methods[request->method].name));
    buffer_append(head, place->target);
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
