#include "io/http/reader.h"

#include "base/encoding.h"

enum { CHUNK_DIGITS_MAX = 15 };

void http_reader_begin(struct http_reader *reader, bool is_answer_to_head)
{
    *reader = (struct http_reader){.state = READING_STATUS, .has_no_body = is_answer_to_head};
    buffer_init_fallible(&reader->line, HTTP_READER_LINE_MAX);
}

void http_reader_fini(struct http_reader *reader)
{
    buffer_fini(&reader->line);
}

/* ---- heads ---- */

/* Takes the version with its space from the front of a status line. Returns false for a version that libcurl
 * does not accept. */
static bool take_version(struct slice *line)
{
    static const struct slice versions[] = {
        SLICE_INIT("HTTP/1.1 "),
        SLICE_INIT("HTTP/1.0 "),
        SLICE_INIT("HTTP/2 "),
        SLICE_INIT("HTTP/2.0 "),
    };
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        if (slice_starts_with(*line, versions[i])) {
            *line = slice_skip(*line, versions[i].size);
            return true;
        }
    }
    return false;
}

/* Reads a line such as "HTTP/1.1 204 No Content". libcurl also accepts several spaces before the status, and
 * any byte but a digit behind it. */
static enum http_read read_status(struct http_reader *reader, struct slice line)
{
    uint64_t status;
    struct slice rest = line;
    if (!take_version(&rest))
        return HTTP_READ_BAD;
    while (rest.size && (rest.data[0] == ' ' || rest.data[0] == '\t'))
        rest = slice_skip(rest, 1);
    if (rest.size < 3 || (rest.size > 3 && rest.data[3] >= '0' && rest.data[3] <= '9') ||
        !slice_to_number(slice_from(rest.data, 3), 999, &status) || status < 100)
        return HTTP_READ_BAD;
    if (status == 101) /* 101 is not a valid answer, because no request asks for another protocol */
        return HTTP_READ_BAD;
    bool is_usual = slice_starts_with(line, SLICE("HTTP/1.1 ")) && rest.data == line.data + 9 &&
                    (rest.size == 3 || rest.data[3] == ' ');
    reader->status = (int)status;
    reader->is_last |= !is_usual;
    reader->is_sized = reader->has_coding = reader->is_chunked = false;
    reader->state = READING_HEAD;
    return HTTP_READ_STATUS;
}

/* Reads a length, or a list such as "2, 2" that repeats one length. A length that is too large for 64 bits
 * counts as the largest number, because a body of that size is cut long before its end. */
static enum http_read read_length(struct http_reader *reader, struct slice values)
{
    struct slice value;
    for (bool has_more = true; has_more;) {
        uint64_t length = INT64_MAX;
        has_more = slice_cut(values, ',', &value, &values);
        value = slice_trim(value);
        for (size_t i = 0; i < value.size; i++)
            if (value.data[i] < '0' || value.data[i] > '9')
                return HTTP_READ_BAD;
        if (value.size == 0)
            return HTTP_READ_BAD;
        if (!slice_to_number(value, INT64_MAX, &length) || reader->is_sized)
            reader->is_last = true;
        if (reader->is_sized && length != reader->left)
            return HTTP_READ_BAD;
        reader->is_sized = true;
        reader->left = length;
    }
    return HTTP_READ_LINE;
}

static enum http_read read_codings(struct http_reader *reader, struct slice value)
{
    struct slice coding;
    while (value.size) {
        slice_cut(value, ',', &coding, &value);
        coding = slice_trim(coding);
        if (slice_equal_nocase(coding, SLICE("identity")))
            continue;
        reader->is_chunked = !reader->is_chunked && slice_equal_nocase(coding, SLICE("chunked"));
        reader->has_coding = true;
    }
    return HTTP_READ_LINE;
}

static enum http_read read_connection(struct http_reader *reader, struct slice value)
{
    struct slice option;
    while (value.size) {
        slice_cut(value, ',', &option, &value);
        reader->is_last |= slice_equal_nocase(slice_trim(option), SLICE("close"));
    }
    return HTTP_READ_LINE;
}

static enum http_read read_header(struct http_reader *reader, struct slice line)
{
    struct slice name, value;
    bool is_folded = line.data[0] == ' ' || line.data[0] == '\t'; /* this line continues the previous line */
    if (is_folded || !slice_cut(line, ':', &name, &value)) {
        reader->is_last = true;
        return HTTP_READ_LINE;
    }
    value = slice_trim(value);
    if (slice_equal_nocase(name, SLICE("Content-Length")))
        return read_length(reader, value);
    if (slice_equal_nocase(name, SLICE("Transfer-Encoding")))
        return read_codings(reader, value);
    if (slice_equal_nocase(name, SLICE("Connection")))
        return read_connection(reader, value);
    return HTTP_READ_LINE;
}

/* Decides how the body is framed (RFC 9112, 6.3). If an answer that has no body announces one, the receiver
 * may send it nevertheless, perhaps together with the next answer. */
static enum http_read end_head(struct http_reader *reader)
{
    bool has_no_body = reader->has_no_body || reader->status == 204 || reader->status == 304;
    reader->is_last |=
        has_no_body && reader->status >= 200 && ((reader->is_sized && reader->left) || reader->has_coding);
    if (reader->status < 200)
        reader->state = READING_STATUS;
    else if (has_no_body)
        reader->state = READING_DONE;
    else if (reader->has_coding)
        reader->state = reader->is_chunked ? READING_CHUNK_SIZE : READING_TO_CLOSE;
    else if (reader->is_sized)
        reader->state = reader->left ? READING_SIZED : READING_DONE;
    else
        reader->state = READING_TO_CLOSE;
    reader->is_last |= reader->has_coding && (reader->is_sized || !reader->is_chunked);
    return HTTP_READ_LINE;
}

/* ---- bodies in chunks ---- */

/* Reads a line such as "1f;extension". */
static enum http_read read_chunk_size(struct http_reader *reader, struct slice line)
{
    size_t digits = 0;
    reader->left = 0;
    for (; digits < line.size && hex_value(line.data[digits]) >= 0; digits++) {
        if (digits == CHUNK_DIGITS_MAX)
            return HTTP_READ_BAD;
        reader->left = reader->left * 16 + (uint64_t)hex_value(line.data[digits]);
    }
    struct slice rest = slice_trim(slice_skip(line, digits));
    if (digits == 0 || (rest.size && rest.data[0] != ';'))
        return HTTP_READ_BAD;
    reader->state = reader->left ? READING_CHUNK : READING_TRAILERS;
    return HTTP_READ_MORE;
}

/* ---- lines ---- */

/* Reads a complete line. Returns HTTP_READ_LINE if the caller must get this line, HTTP_READ_MORE if not, or a
 * failure. */
static enum http_read read_line(struct http_reader *reader, struct slice line)
{
    line.size--;
    if (line.size && line.data[line.size - 1] == '\r')
        line.size--;
    if (line.size && memchr(line.data, '\0', line.size))
        return HTTP_READ_BAD;
    switch (reader->state) {
    case READING_STATUS:
        return read_status(reader, line);
    case READING_HEAD:
        return line.size ? read_header(reader, line) : end_head(reader);
    case READING_CHUNK_SIZE:
        return read_chunk_size(reader, line);
    case READING_CHUNK_END:
        reader->state = READING_CHUNK_SIZE;
        return line.size ? HTTP_READ_BAD : HTTP_READ_MORE;
    default: /* READING_TRAILERS */
        reader->state = line.size ? READING_TRAILERS : READING_DONE;
        return HTTP_READ_LINE;
    }
}

/* Returns whether these bytes can be the beginning of a status line. */
static bool may_be_status(struct slice begin)
{
    static const char wanted[] = "HTTP/";
    size_t size = begin.size < strlen(wanted) ? begin.size : strlen(wanted);
    return memcmp(begin.data, wanted, size) == 0;
}

static enum http_read take_line(struct http_reader *reader, struct slice *bytes, struct slice *part)
{
    const char *end = memchr(bytes->data, '\n', bytes->size);
    bool is_framing = reader->state == READING_CHUNK_SIZE || reader->state == READING_CHUNK_END;
    *part = slice_from(bytes->data, end ? (size_t)(end - bytes->data) + 1 : bytes->size);
    *bytes = slice_skip(*bytes, part->size);
    reader->overhead += is_framing ? part->size : 0;
    if (reader->line.size + part->size > HTTP_READER_LINE_MAX || reader->overhead > HTTP_READER_OVERHEAD_MAX)
        return HTTP_READ_LONG;
    if (!end || reader->line.size) {
        buffer_append(&reader->line, *part);
        *part = buffer_slice(&reader->line);
    }
    if (reader->line.failed)
        return HTTP_READ_NO_MEMORY;
    if (!end)
        return reader->state == READING_STATUS && !may_be_status(*part) ? HTTP_READ_BAD : HTTP_READ_MORE;
    reader->is_line_whole = true;
    return read_line(reader, *part);
}

static enum http_read take_body(struct http_reader *reader, struct slice *bytes, struct slice *part)
{
    bool is_bounded = reader->state != READING_TO_CLOSE;
    *part = *bytes;
    if (is_bounded && part->size > reader->left)
        part->size = (size_t)reader->left;
    *bytes = slice_skip(*bytes, part->size);
    if (!is_bounded)
        return HTTP_READ_BODY;
    reader->left -= part->size;
    if (reader->left == 0)
        reader->state = reader->state == READING_CHUNK ? READING_CHUNK_END : READING_DONE;
    return HTTP_READ_BODY;
}

enum http_read http_reader_next(struct http_reader *reader, struct slice *bytes, struct slice *part)
{
    while (reader->state != READING_DONE) {
        enum http_read read;
        if (reader->is_line_whole)
            buffer_clear(&reader->line);
        reader->is_line_whole = false;
        if (bytes->size == 0)
            return HTTP_READ_MORE;
        if (reader->state == READING_SIZED || reader->state == READING_CHUNK ||
            reader->state == READING_TO_CLOSE)
            return take_body(reader, bytes, part);
        read = take_line(reader, bytes, part);
        if (read != HTTP_READ_MORE)
            return read;
    }
    return HTTP_READ_END;
}

bool http_reader_may_close(const struct http_reader *reader)
{
    return reader->state == READING_TO_CLOSE;
}
