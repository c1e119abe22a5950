/* reader.h - inside the HTTP client: reads the answer to one request, in pieces as they arrive.
 *
 * Finds the lines, the body and the end of an HTTP/1.1 answer (RFC 9112) without I/O. The reader accepts
 * folded lines, unknown transfer codings, a length that is repeated, and the status lines that libcurl
 * accepts, because an answer's status is what matters. After any of these, after HTTP/1.0, and after an
 * answer without a body that announces one, the connection is not used again. So an answer that is read
 * wrongly, or a body that comes late, can never be taken for the answer to another request.
 *
 * libcurl reads the bodies of the answers that it receives. The reader then gets only the lines of the heads,
 * so that both clients have the same rules. */
#ifndef DUEPOST_IO_HTTP_READER_H
#define DUEPOST_IO_HTTP_READER_H

#include "base/buffer.h"

enum http_read {
    HTTP_READ_MORE,   /* the bytes are used up; the answer continues */
    HTTP_READ_STATUS, /* the first line of a head */
    HTTP_READ_LINE,   /* another line of a head or of the trailers, with its line end; an empty line ends the
                         head or the trailers */
    HTTP_READ_BODY,   /* bytes of the body */
    HTTP_READ_END,    /* the answer is complete */
    HTTP_READ_BAD,    /* the bytes are not an HTTP/1.1 answer; do not read on */
    HTTP_READ_LONG,   /* a line is too long, or the framing of the chunks takes too many bytes; do not read on
                       */
    HTTP_READ_NO_MEMORY, /* there is no memory for a line; do not read on */
};

enum {
    HTTP_READER_LINE_MAX = 64 * 1024,      /* maximum size of one line in bytes */
    HTTP_READER_OVERHEAD_MAX = 512 * 1024, /* maximum number of bytes that frame the chunks of one body */
};

struct http_reader {
    enum {
        READING_STATUS,
        READING_HEAD,
        READING_SIZED,
        READING_CHUNK_SIZE,
        READING_CHUNK,
        READING_CHUNK_END,
        READING_TRAILERS,
        READING_TO_CLOSE,
        READING_DONE,
    } state;
    int status;       /* status of the latest head */
    bool has_no_body; /* the request was a HEAD, so the answer has no body, whatever its head says */
    bool is_last;     /* bytes after this answer must not be read as another answer */
    bool is_sized;    /* the head has a Content-Length */
    bool has_coding;  /* the head has a transfer coding; the last coding decides how the body is framed */
    bool is_chunked;
    uint64_t left;      /* bytes of the body, or of the current chunk, that are still to come */
    size_t overhead;    /* bytes that framed the chunks of the body so far */
    struct buffer line; /* the beginning of a line that arrives in pieces */
    bool is_line_whole; /* line was returned, and its memory can be reused */
};

/* Begins an answer. The reader must be zeroed, or freed by http_reader_fini. */
void http_reader_begin(struct http_reader *, bool is_answer_to_head);
void http_reader_fini(struct http_reader *);

/* Takes the next part of the answer from the front of *bytes, and shortens *bytes. The part is valid until
 * the next call. */
enum http_read http_reader_next(struct http_reader *, struct slice *bytes, struct slice *part);

/* Returns whether the answer is complete if the receiver closes the connection now. */
bool http_reader_may_close(const struct http_reader *);

#endif
