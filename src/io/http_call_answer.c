/* Takes the answer to a call, line by line and piece by piece, from libcurl or http_reader.h. */
#include <string.h>
#include <time.h>

#include "io/http_call_private.h"
#include "io/retry_after.h"

enum {
    HEAD_MAX_BYTES = 64 * 1024, /* maximum total size of an answer's heads: interim responses (1xx), the final
                                   head and trailers */
    BODY_MAX_BYTES = 64 * 1024,
};

/* Returns the seconds until a date, or 0 for an invalid date or a date in the past. Uses curl_getdate,
 * because CURLINFO_RETRY_AFTER has a maximum of six hours in newer versions. */
static int64_t call_seconds_until(struct slice date)
{
    char text[64];
    if (date.size >= sizeof text)
        return 0;
    memcpy(text, date.data, date.size);
    text[date.size] = '\0';
    int64_t then = curl_getdate(text, NULL), now = time(NULL);
    if (then <= now)
        return 0;
    return then - now < RETRY_AFTER_MAX_S ? then - now : RETRY_AFTER_MAX_S;
}

static int64_t call_retry_after(struct slice value)
{
    int64_t seconds = retry_after_seconds(value);
    return seconds >= 0 ? seconds : call_seconds_until(value);
}

static void keep_again(struct http_call *call, struct slice value)
{
    struct slice parts[] = {call->has_again ? SLICE(", ") : SLICE(""), value};
    call->has_again = true;
    for (size_t i = 0; i < 2; i++) {
        size_t room = HTTP_AGAIN_MAX - call->again_bytes;
        size_t size = parts[i].size < room ? parts[i].size : room;
        memcpy(call->again + call->again_bytes, parts[i].data, size);
        call->again_bytes += size;
    }
}

static struct slice header_value(struct slice line, const char *name)
{
    struct slice value = slice_skip(line, strlen(name));
    while (value.size && (value.data[value.size - 1] == '\n' || value.data[value.size - 1] == '\r'))
        value.size--;
    return slice_trim(value);
}

/* Keeps the line of a header if the call wants it. A line that does not fit is left out. */
static void keep_line(struct http_call *call, struct slice line)
{
    struct slice text = header_value(line, "");
    size_t size = call->headers.size;
    if (!call->request.wants_headers || text.size == 0 ||
        call->headers.size + text.size + 1 > HTTP_ANSWER_HEAD_MAX)
        return;
    buffer_append(&call->headers, text);
    buffer_append_byte(&call->headers, '\n');
    if (call->headers.failed) { /* no memory */
        call->headers.failed = false;
        call->headers.size = size;
    }
}

/* Begins a head. The headers of an interim head do not count. */
static void take_status(struct http_call *call)
{
    call->status = call->reader.status;
    buffer_clear(&call->headers);
    call->has_retry_after = false;
    call->has_again = false;
    call->again_bytes = 0;
}

static void take_line(struct http_call *call, struct slice line)
{
    keep_line(call, line);
    if (line.size >= 12 && slice_equal_nocase(slice_from(line.data, 12), SLICE("Retry-After:"))) {
        call->has_retry_after = true;
        call->retry_after_s = call_retry_after(slice_skip(line, strlen("Retry-After:")));
    } else if (line.size >= 14 && slice_equal_nocase(slice_from(line.data, 14), SLICE("Duepost-Again:"))) {
        keep_again(call, header_value(line, "Duepost-Again:"));
    } else if (line.data[0] == '\r' || line.data[0] == '\n') {
        call->has_head = call->status >= 200;
        if (call->has_head)
            call->owner->on_head(call->owner->arg, call);
    }
}

static void take_body(struct http_call *call, struct slice bytes)
{
    if (call->is_large) {
        size_t room = HTTP_LARGE_ANSWER_MAX - call->large_answer.size;
        buffer_append(&call->large_answer, slice_from(bytes.data, bytes.size < room ? bytes.size : room));
    } else if (call->body_bytes < HTTP_ANSWER_MAX) {
        size_t room = HTTP_ANSWER_MAX - call->body_bytes;
        memcpy(call->answer + call->body_bytes, bytes.data, bytes.size < room ? bytes.size : room);
    }
    call->body_bytes += bytes.size;
}

bool http_call_take(struct http_call *call, enum http_read read, struct slice part)
{
    switch (read) {
    case HTTP_READ_STATUS:
    case HTTP_READ_LINE:
        if (call->head_bytes > HEAD_MAX_BYTES)
            break;
        if (read == HTTP_READ_STATUS)
            take_status(call);
        else if (!call->has_head) /* otherwise a trailer */
            take_line(call, part);
        return true;
    case HTTP_READ_BODY:
        take_body(call, part);
        if (call->body_bytes > BODY_MAX_BYTES)
            break;
        return true;
    case HTTP_READ_BAD:
        call->verdict = FAILURE_PROTOCOL;
        call->fault = "The answer is not valid HTTP/1.1";
        return false;
    case HTTP_READ_NO_MEMORY:
        return false;
    default: /* HTTP_READ_LONG */
        break;
    }
    call->verdict = FAILURE_ANSWER_TOO_LARGE;
    return false;
}
