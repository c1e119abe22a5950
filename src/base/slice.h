/* slice.h - a pointer to bytes and their number. A slice does not own the bytes, and no NUL follows them. */
#ifndef DUEPOST_BASE_SLICE_H
#define DUEPOST_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct slice {
    const char *data; /* may be NULL when size is 0 */
    size_t size;
};

/* Make a slice of a string literal. SLICE_INIT is for the initializers of static data. */
#define SLICE_INIT(literal)                                                                                  \
    {                                                                                                        \
        "" literal, sizeof(literal) - 1                                                                      \
    }
#define SLICE(literal) ((struct slice)SLICE_INIT(literal))

/* Expands to the two arguments for printf's "%.*s". */
#define SLICE_ARG(slice) (int)(slice).size, (slice).data

static inline struct slice slice_of(const char *text)
{
    return (struct slice){text, text ? strlen(text) : 0};
}

static inline struct slice slice_from(const char *data, size_t size)
{
    return (struct slice){data, size};
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Compares without regard to the case of ASCII letters. */
static inline bool slice_equal_nocase(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || strncasecmp(a.data, b.data, a.size) == 0);
}

/* Returns text without its first count bytes; count is at most the size. */
static inline struct slice slice_skip(struct slice text, size_t count)
{
    return (struct slice){count ? text.data + count : text.data, text.size - count}; /* avoids NULL + 0 */
}

static inline bool slice_ends_with(struct slice text, struct slice end)
{
    return text.size >= end.size && slice_equal(slice_skip(text, text.size - end.size), end);
}

static inline bool slice_starts_with(struct slice text, struct slice prefix)
{
    return text.size >= prefix.size && slice_equal(slice_from(text.data, prefix.size), prefix);
}

/* Returns the end of text, or NULL for an empty slice without data. */
static inline const char *slice_end(struct slice text)
{
    return text.size ? text.data + text.size : text.data;
}

/* Splits text at the first separator into *head and *rest. Without a separator it returns false; then *head
 * is all of text and *rest is empty. */
bool slice_cut(struct slice text, char separator, struct slice *head, struct slice *rest);

/* Returns text without spaces and tabs at either end. */
struct slice slice_trim(struct slice text);

/* Parses a non-negative decimal number: digits only, at most max. */
bool slice_to_number(struct slice text, uint64_t max, uint64_t *value);

/* Returns a copy with a NUL at its end. The caller frees it with free(). */
char *slice_dup(struct slice text);

#endif
