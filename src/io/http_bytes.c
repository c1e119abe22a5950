#include "io/http_bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"

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
    size_t line_bytes;   /* length of the current line, without its end */
    size_t head_bytes;   /* bytes of the head so far, without empty lines before it */
    size_t head_lines;   /* complete lines of the head so far */
    uint64_t body_bytes; /* bytes of the body that have not arrived */
    char *rest;
    size_t rest_bytes;
};

static _Thread_local struct http_bytes *watched;

void http_bytes_init(struct http_bytes *bytes, bool is_tls, http_long_head_fn *on_long_head, void *arg)
{
    *bytes = (struct http_bytes){.is_tls = is_tls, .on_long_head = on_long_head, .arg = arg};
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
}

void http_bytes_end(struct http_bytes *bytes, int fd)
{
    struct http_stream *stream = bytes->streams[fd];
    bytes->streams[fd] = NULL;
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
        if (stream->line_bytes == 0 && (byte == ' ' || byte == '\t'))
            stream->step = STREAM_OVER;
        stream->line_bytes++;
    }
}

static size_t read_head(struct http_stream *stream, const char *data, size_t size)
{
    size_t used = 0;
    while (used < size && stream->step == STREAM_HEAD)
        read_head_byte(stream, data[used++]);
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

static void stream_read(struct http_stream *stream, const char *data, size_t size)
{
    while (size > 0 && stream->step < STREAM_OVER) {
        size_t used = size;
        if (stream->step == STREAM_HEAD)
            used = read_head(stream, data, size);
        else if (stream->step == STREAM_BODY)
            used = read_body(stream, size);
        else
            keep_rest(stream, data, size);
        data += used;
        size -= used;
    }
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
    stream_read(stream, rest, rest_bytes);
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

bool http_bytes_note(int fd, void *session, const void *data, size_t size)
{
    struct http_bytes *bytes = watched;
    bool is_watched = bytes && bytes->is_tls == (session != NULL) && fd >= 0 && (size_t)fd < bytes->size &&
                      bytes->streams[fd];
    if (!is_watched)
        return true;
    struct http_stream *stream = bytes->streams[fd];
    stream_read(stream, data, size);
    if (has_long_head(stream)) {
        bytes->on_long_head(bytes->arg, fd, session, stream->head_lines == 0);
        stream->step = STREAM_LONG;
    }
    return stream->step != STREAM_LONG;
}

#undef recv /* sys/socket.h may define recv as a macro with bounds checks */
ssize_t recv(int fd, void *buf, size_t n, int flags)
{
    ssize_t got = recvfrom(fd, buf, n, flags, NULL, NULL);
    if (got > 0 && !(flags & MSG_PEEK) && !http_bytes_note(fd, NULL, buf, (size_t)got))
        return 0;
    return got;
}
