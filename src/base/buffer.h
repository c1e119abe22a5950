/* buffer.h - bytes that grow, up to a maximum set at creation.
 *
 * An append that does not fit leaves the buffer as it was and marks it as failed. The writer checks once, at
 * the end. A failed buffer takes nothing more until it is cleared. Out of memory ends the process, as in
 * memory.h, unless the buffer is fallible (may_fail). */
#ifndef DUEPOST_BASE_BUFFER_H
#define DUEPOST_BASE_BUFFER_H

#include "base/slice.h"

struct buffer {
    char *data;
    size_t size;
    size_t capacity;
    size_t max; /* bytes */
    bool failed;
    bool may_fail; /* out of memory counts as a failure, like a full buffer; the writer must check */
};

void buffer_init(struct buffer *, size_t max_bytes);

/* As buffer_init, but may_fail: for bytes whose number a client decides. */
void buffer_init_fallible(struct buffer *, size_t max_bytes);
void buffer_fini(struct buffer *);

/* Drops the bytes and the failure; keeps the memory. */
void buffer_clear(struct buffer *);

/* Reserves memory, so that appending extra_bytes does not move the bytes that are there. */
void buffer_reserve(struct buffer *, size_t extra_bytes);

/* Adds count bytes, which the caller writes where the result points. NULL: they don't fit. */
char *buffer_extend(struct buffer *, size_t count);

void buffer_append(struct buffer *, struct slice);
void buffer_append_byte(struct buffer *, char);
void buffer_append_number(struct buffer *, int64_t);
void buffer_printf(struct buffer *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends a JSON string with its quotes. text is UTF-8. Escapes control bytes, quotes and backslashes;
 * replaces each invalid byte with U+FFFD. */
void buffer_append_json(struct buffer *, struct slice text);

/* Returns the bytes; borrowed until the next change. */
static inline struct slice buffer_slice(const struct buffer *buffer)
{
    return slice_from(buffer->data, buffer->size);
}

/* The same, followed by a NUL that does not count; "" when the buffer has failed. */
const char *buffer_text(struct buffer *);

#endif
