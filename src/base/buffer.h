/* buffer.h - a byte buffer that grows up to a maximum, which is set at creation.
 *
 * An append that does not fit marks the buffer as failed and does not change its bytes. A failed buffer
 * ignores all further appends until it is cleared. So the writer needs to check only once, at the end. If
 * there is no memory, a buffer with may_fail is marked as failed. Any other buffer then ends the process, as
 * in memory.h. */
#ifndef DUEPOST_BASE_BUFFER_H
#define DUEPOST_BASE_BUFFER_H

#include "base/slice.h"

struct buffer {
    char *data;
    size_t size;
    size_t capacity;
    size_t max; /* maximum size in bytes */
    bool failed;
    bool may_fail; /* a lack of memory marks the buffer as failed; the writer must check */
};

void buffer_init(struct buffer *, size_t max_bytes);

/* Returns a buffer that uses the caller's memory; do not call buffer_fini for it. size includes one byte for
 * a NUL. */
static inline struct buffer buffer_of(char *data, size_t size)
{
    return (struct buffer){.data = data, .capacity = size, .max = size - 1};
}

/* Initialises a buffer as buffer_init does, and sets may_fail. Use it for bytes whose number a client
 * decides. */
void buffer_init_fallible(struct buffer *, size_t max_bytes);
void buffer_fini(struct buffer *);

/* Removes the bytes, clears the failure, and keeps the memory. */
void buffer_clear(struct buffer *);

/* Reserves memory, so that appending up to extra_bytes does not move the bytes that the buffer has. */
void buffer_reserve(struct buffer *, size_t extra_bytes);

/* Adds count bytes and returns a pointer to them; the caller writes them. Returns NULL if count bytes do not
 * fit. */
char *buffer_extend(struct buffer *, size_t count);

void buffer_append(struct buffer *, struct slice);
void buffer_append_byte(struct buffer *, char);
void buffer_append_number(struct buffer *, int64_t);
void buffer_printf(struct buffer *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends a JSON string with its quotes. text should be UTF-8. Escapes control bytes, quotes and backslashes.
 * Replaces each invalid byte with U+FFFD. */
void buffer_append_json(struct buffer *, struct slice text);

/* Returns the bytes, which are valid until the buffer changes. */
static inline struct slice buffer_slice(const struct buffer *buffer)
{
    return slice_from(buffer->data, buffer->size);
}

/* Returns the bytes as a string, followed by a NUL. Returns "" if the buffer has failed. */
const char *buffer_text(struct buffer *);

#endif
