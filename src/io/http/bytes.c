#include "io/http/bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "io/http/limits.h"

/* ---- streams ---- */

/* libmicrohttpd reads ahead at most as many bytes as the memory of a connection has. */
enum { REST_MAX = 64 * 1024 };

enum stream_step {
    STREAM_HEAD,
    STREAM_HEAD_ENDED, /* a head is complete and not taken yet; the bytes after it are kept in rest */
    STREAM_BODY,
    STREAM_OVER, /* no further head is accepted, because an invalid head or a chunked body has come */
    STREAM_LONG, /* a head is too long; the connection was answered */
};

struct http_stream {
    enum stream_step step;
    char last;           /* the last byte of the head so far */
    unsigned char gaps;  /* spaces and tabs of the request line so far, at most 2 */
    size_t line_bytes;   /* length of the current line, without its end */
    size_t head_bytes;   /* bytes of the head so far, without empty lines before it */
    size_t head_lines;   /* complete lines of the head so far */
    uint64_t body_bytes; /* bytes of the body that have not arrived */
    char *rest;
    size_t rest_bytes;
    struct http_tail tail;
};

static _Thread_local struct http_bytes *watched;

void http_bytes_init(struct http_bytes *bytes, bool is_tls, struct http_limits *limits,
                     http_long_head_fn *on_long_head, void *arg)
{
    *bytes =
        (struct http_bytes){.is_tls = is_tls, .limits = limits, .on_long_head = on_long_head, .arg = arg};
}

void http_bytes_fini(struct http_bytes *bytes)
{
    free(bytes->streams);
}

void http_bytes_begin(struct http_bytes *bytes, int fd)
{
    size_t at = (size_t)fd;
    if (at >= bytes->size) {
        size_t size = (at + 1) * 2;
        struct http_stream **streams = NEW_ARRAY(struct http_stream *, size);
        if (bytes->size)
            memcpy(streams, bytes->streams, bytes->size * sizeof *streams);
        free(bytes->streams);
        bytes->streams = streams;
        bytes->size = size;
    }
    assert(!bytes->streams[at]);
    bytes->streams[at] = NEW(struct http_stream);
    buffer_init_fallible(&bytes->streams[at]->tail.bytes, HTTP_TARGET_TAIL_MAX);
}

void http_bytes_end(struct http_bytes *bytes, int fd)
{
    struct http_stream *stream = bytes->streams[fd];
    bytes->streams[fd] = NULL;
    http_bytes_free_tail(bytes, &stream->tail);
    free(stream->rest);
    free(stream);
}

void http_bytes_watch(struct http_bytes *bytes)
{
    watched = bytes;
}

static void begin_head(struct http_stream *stream)
{
    stream->step = STREAM_HEAD;
    stream->last = '\0';
    stream->gaps = 0;
    stream->line_bytes = stream->head_bytes = stream->head_lines = 0;
}

/* Handles the end of a line. An empty line ends the head. Empty lines before the head do not belong to it
 * (RFC 9112, section 2.2). */
static void end_line(struct http_stream *stream)
{
    bool is_empty = stream->line_bytes == 0, is_in_front = stream->head_bytes == 2;
    if (is_empty && is_in_front)
        begin_head(stream);
    else if (is_empty)
        stream->step = STREAM_HEAD_ENDED;
    else
        stream->head_lines++;
    stream->line_bytes = 0;
}

static void read_head_byte(struct http_stream *stream, char byte)
{
    bool is_behind_cr = stream->last == '\r';
    stream->last = byte;
    stream->head_bytes++;
    if (byte == '\0' || is_behind_cr != (byte == '\n')) {
        stream->step = STREAM_OVER;
    } else if (byte == '\n') {
        end_line(stream);
    } else if (byte != '\r') {
        if (byte == ' ' || byte == '\t') {
            if (stream->line_bytes == 0)
                stream->step = STREAM_OVER;
            stream->gaps += stream->gaps < 2;
        }
        stream->line_bytes++;
    }
}

/* Reads bytes of a head, and stops where the tail of a target may begin. */
static size_t read_head(struct http_stream *stream, const char *data, size_t size)
{
    size_t used = 0;
    if (stream->head_lines == 0 && stream->line_bytes < HTTP_TARGET_SEEN_MAX &&
        size > HTTP_TARGET_SEEN_MAX - stream->line_bytes)
        size = HTTP_TARGET_SEEN_MAX - stream->line_bytes;
    while (used < size && stream->step == STREAM_HEAD)
        read_head_byte(stream, data[used++]);
    return used;
}

/* Returns the number of bytes at data that belong to the tail of a target. A tail has no spaces and control
 * bytes, so that libmicrohttpd sees them. */
static size_t measure_tail(const struct http_stream *stream, const char *data, size_t size)
{
    size_t used = 0;
    if (stream->step != STREAM_HEAD || stream->head_lines > 0 || stream->gaps != 1 || stream->last == '\r' ||
        stream->line_bytes < HTTP_TARGET_SEEN_MAX)
        return 0;
    while (used < size && (unsigned char)data[used] > 0x20 && data[used] != 0x7f)
        used++;
    return used;
}

static size_t read_body(struct http_stream *stream, size_t size)
{
    size_t used = size < stream->body_bytes ? size : (size_t)stream->body_bytes;
    stream->body_bytes -= used;
    if (stream->body_bytes == 0)
        begin_head(stream);
    return used;
}

static void keep_rest(struct http_stream *stream, const char *data, size_t size)
{
    if (stream->rest_bytes + size > REST_MAX) {
        stream->step = STREAM_OVER;
        return;
    }
    char *rest = memory_new(stream->rest_bytes + size);
    if (stream->rest_bytes)
        memcpy(rest, stream->rest, stream->rest_bytes);
    memcpy(rest + stream->rest_bytes, data, size);
    free(stream->rest);
    stream->rest = rest;
    stream->rest_bytes += size;
}

/* Reads bytes, if can_end up to the tail of a target, and returns their number. */
static size_t stream_read(struct http_stream *stream, const char *data, size_t size, bool can_end)
{
    size_t at = 0;
    while (at < size && stream->step < STREAM_OVER && !(can_end && measure_tail(stream, data + at, 1))) {
        size_t used = size - at;
        if (stream->step == STREAM_HEAD)
            used = read_head(stream, data + at, size - at);
        else if (stream->step == STREAM_BODY)
            used = read_body(stream, size - at);
        else
            keep_rest(stream, data + at, size - at);
        at += used;
    }
    return stream->step < STREAM_OVER ? at : size;
}

/* Moves bytes from data to the tail. A tail that libmicrohttpd's memory could hold as well needs no
 * reservation. Returns the status of an answer if there is no room. */
static unsigned move_tail(struct http_bytes *bytes, struct http_stream *stream, const char *data, size_t size)
{
    struct http_tail *tail = &stream->tail;
    buffer_append(&tail->bytes, slice_from(data, size));
    if (tail->bytes.failed || stream->line_bytes + tail->bytes.size > HTTP_LINE_MAX)
        return 414;
    if (!bytes->limits || tail->taken || tail->bytes.size <= HTTP_BODY_FREE_BYTES)
        return 0;
    if (!http_limits_take_bytes(bytes->limits, HTTP_TARGET_TAIL_MAX, true))
        return 503;
    tail->taken = HTTP_TARGET_TAIL_MAX;
    return 0;
}

void http_bytes_take_tail(struct http_bytes *bytes, int fd, struct http_tail *tail)
{
    struct http_stream *stream = bytes->streams[fd];
    *tail = stream->tail;
    stream->tail.taken = 0;
    buffer_init_fallible(&stream->tail.bytes, HTTP_TARGET_TAIL_MAX);
}

void http_bytes_free_tail(struct http_bytes *bytes, struct http_tail *tail)
{
    buffer_fini(&tail->bytes);
    if (tail->taken)
        http_limits_give_bytes(bytes->limits, tail->taken, true);
    tail->taken = 0;
}

bool http_bytes_take_head(struct http_bytes *bytes, int fd, size_t size, const struct http_framing *framing)
{
    struct http_stream *stream = bytes->streams[fd];
    if (stream->step != STREAM_HEAD_ENDED || stream->head_bytes != size || framing->is_chunked) {
        bool is_plain = stream->step == STREAM_HEAD_ENDED && stream->head_bytes == size;
        stream->step = STREAM_OVER;
        return is_plain;
    }
    begin_head(stream);
    stream->body_bytes = framing->content_length;
    if (stream->body_bytes)
        stream->step = STREAM_BODY;
    char *rest = stream->rest;
    size_t rest_bytes = stream->rest_bytes;
    stream->rest = NULL;
    stream->rest_bytes = 0;
    stream_read(stream, rest, rest_bytes, false); /* libmicrohttpd has these bytes already */
    free(rest);
    return true;
}

static bool has_long_head(const struct http_stream *stream)
{
    return (stream->step == STREAM_HEAD || stream->step == STREAM_HEAD_ENDED) &&
           (stream->head_bytes > HTTP_HEAD_MAX || stream->head_lines > HTTP_HEAD_LINES_MAX);
}

bool http_bytes_has_long_head(const struct http_bytes *bytes, int fd)
{
    return bytes->streams[fd]->step == STREAM_LONG;
}

bool http_bytes_note(int fd, void *session, void *data, size_t *size)
{
    struct http_bytes *bytes = watched;
    bool is_watched = bytes && bytes->is_tls == (session != NULL) && fd >= 0 && (size_t)fd < bytes->size &&
                      bytes->streams[fd];
    if (!is_watched)
        return true;
    struct http_stream *stream = bytes->streams[fd];
    unsigned status = 0;
    size_t at = stream_read(stream, data, *size, true), tail;
    while (!status && (tail = measure_tail(stream, (char *)data + at, *size - at)) > 0) {
        status = move_tail(bytes, stream, (char *)data + at, tail);
        *size -= tail;
        memmove((char *)data + at, (char *)data + at + tail, *size - at);
        at += stream_read(stream, (char *)data + at, *size - at, true);
    }
    if (!status && has_long_head(stream))
        status = stream->head_lines == 0 ? 414 : 431;
    if (status && stream->step != STREAM_LONG) {
        bytes->on_long_head(bytes->arg, fd, session, status);
        stream->step = STREAM_LONG;
    }
    return stream->step != STREAM_LONG;
}

/* Reads on after the tail of a target was removed, because libmicrohttpd waits for new bytes if it gets fewer
 * than it asked for. */
ssize_t http_bytes_read(int fd, void *session, void *data, size_t size, int flags, http_read_fn *read)
{
    size_t kept = 0, got_bytes, left;
    do {
        ssize_t got = read(fd, session, (char *)data + kept, size - kept, flags);
        if (got <= 0)
            return kept ? (ssize_t)kept : got;
        got_bytes = left = (size_t)got;
        if (!http_bytes_note(fd, session, (char *)data + kept, &left))
            return 0;
        kept += left;
    } while (left < got_bytes && kept < size);
    return (ssize_t)kept;
}

static ssize_t receive(int fd, void *session, void *data, size_t size, int flags)
{
    (void)session;
    return recvfrom(fd, data, size, flags, NULL, NULL);
}

#undef recv /* sys/socket.h may define recv as a macro with bounds checks */
ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    return flags & MSG_PEEK ? recvfrom(fd, buf, n, flags, NULL, NULL)
                            : http_bytes_read(fd, NULL, buf, n, flags, receive);
}

/* ---- heads ---- */

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
