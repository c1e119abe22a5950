/* buffer.h - bytes that grow, up to a maximum known from the start.
 *
 * Appending never fails loudly: what does not fit leaves the buffer as it was and
 * marks it as failed, and the writer asks once at the end. A failed buffer takes
 * nothing more until it is cleared. Where there is no memory the process ends, as
 * with memory.h, unless the buffer is one that may_fail. */
#ifndef DUEPOST_BASE_BUFFER_H
#define DUEPOST_BASE_BUFFER_H

#include "base/slice.h"

struct buffer {
    char *data;
    size_t size;
    size_t capacity;
    size_t max; /* bytes */
    bool failed;
    bool may_fail; /* no memory is a failure as no room is: its writer asks */
};

void buffer_init(struct buffer *, size_t max_bytes);

/* The same for what a client sizes: it may_fail. */
void buffer_init_fallible(struct buffer *, size_t max_bytes);
void buffer_fini(struct buffer *);

/* Keeps the memory, forgets the bytes and the failure. */
void buffer_clear(struct buffer *);

/* Makes room, so that the next extra bytes leave what is there where it is. */
void buffer_reserve(struct buffer *, size_t extra_bytes);

void buffer_append(struct buffer *, struct slice);
void buffer_append_byte(struct buffer *, char);
void buffer_append_number(struct buffer *, int64_t);
void buffer_printf(struct buffer *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON string with its quotes; text is UTF-8. Control bytes, quotes and backslashes are escaped, and each
 * byte that is no part of a character becomes U+FFFD. */
void buffer_append_json(struct buffer *, struct slice text);

/* What is in it; borrowed until the next change. */
static inline struct slice buffer_slice(const struct buffer *buffer)
{
    return slice_from(buffer->data, buffer->size);
}

/* The same with a NUL behind it that does not count, or "" when it failed. */
const char *buffer_text(struct buffer *);

#endif
