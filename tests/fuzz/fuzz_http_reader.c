#include "io/http/reader.h"

#include "fuzz.h"

/* All that a reader found in an answer. */
struct found {
    struct buffer lines, body;
    enum http_read end; /* MORE: the reader has read all bytes and expects more */
    bool is_last, may_close;
    int status;
    size_t left; /* number of bytes after the answer */
};

static void read_piece(struct http_reader *reader, struct slice *piece, struct found *found)
{
    struct slice part;
    while (found->end == HTTP_READ_MORE) {
        struct slice before = *piece;
        enum http_read read = http_reader_next(reader, piece, &part);
        assert(piece->size <= before.size);
        if (read == HTTP_READ_STATUS || read == HTTP_READ_LINE) {
            assert(part.size && part.data[part.size - 1] == '\n');
            buffer_append(&found->lines, part);
        } else if (read == HTTP_READ_BODY) {
            assert(part.size && lies_in(part, before));
            buffer_append(&found->body, part);
        } else if (read == HTTP_READ_MORE) {
            assert(piece->size == 0);
            return;
        } else {
            found->end = read;
        }
    }
}

/* Reads an answer in pieces of at most this size. Each piece is a copy, so that a sanitizer detects a read
 * beyond its end. */
static void read_in_pieces(struct slice answer, size_t size, bool is_answer_to_head, struct found *found)
{
    struct http_reader reader;
    *found = (struct found){.end = HTTP_READ_MORE};
    buffer_init(&found->lines, SIZE_MAX / 2);
    buffer_init(&found->body, SIZE_MAX / 2);
    http_reader_begin(&reader, is_answer_to_head);
    while (answer.size && found->end == HTTP_READ_MORE) {
        size_t piece_size = answer.size < size ? answer.size : size;
        char *copy = slice_dup(slice_from(answer.data, piece_size));
        struct slice piece = slice_from(copy, piece_size);
        read_piece(&reader, &piece, found);
        answer = slice_skip(answer, piece_size - piece.size);
        free(copy);
    }
    if (found->end == HTTP_READ_MORE) /* the end may be reached without further bytes */
        read_piece(&reader, &answer, found);
    found->is_last = reader.is_last;
    found->may_close = http_reader_may_close(&reader);
    found->status = reader.status;
    found->left = answer.size;
    http_reader_fini(&reader);
}

static void found_fini(struct found *found)
{
    buffer_fini(&found->lines);
    buffer_fini(&found->body);
}

/* Input: a byte that gives the size of the pieces and the method, then an answer. The answer must be read the
 * same as a whole and in pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct found whole, pieces;
    if (size == 0)
        return 0;
    struct slice answer = slice_skip(input_of(data, size), 1);
    size_t piece_size = (size_t)(data[0] >> 1) + 1;
    read_in_pieces(answer, SIZE_MAX, data[0] & 1, &whole);
    read_in_pieces(answer, piece_size, data[0] & 1, &pieces);
    assert(whole.end == pieces.end);
    if (whole.end != HTTP_READ_BAD && whole.end != HTTP_READ_LONG) {
        assert(slice_equal(buffer_slice(&whole.lines), buffer_slice(&pieces.lines)));
        assert(slice_equal(buffer_slice(&whole.body), buffer_slice(&pieces.body)));
        assert(whole.is_last == pieces.is_last && whole.may_close == pieces.may_close);
        assert(whole.status == pieces.status && whole.left == pieces.left);
        assert(whole.end != HTTP_READ_END || (whole.status >= 200 && !whole.may_close));
    }
    found_fini(&whole);
    found_fini(&pieces);
    return 0;
}
