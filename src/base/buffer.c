#include "base/buffer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/utf8.h"

void buffer_init(struct buffer *buffer, size_t max_bytes)
{
    *buffer = (struct buffer){.max = max_bytes};
}

void buffer_init_fallible(struct buffer *buffer, size_t max_bytes)
{
    *buffer = (struct buffer){.max = max_bytes, .may_fail = true};
}

void buffer_fini(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){0};
}

void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

static bool buffer_grow(struct buffer *buffer, size_t extra)
{
    if (buffer->failed || extra > buffer->max - buffer->size) {
        buffer->failed = true;
        return false;
    }
    size_t wanted = buffer->size + extra + 1;
    if (wanted <= buffer->capacity)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < wanted)
        capacity *= 2;
    if (capacity > buffer->max + 1)
        capacity = buffer->max + 1;
    char *data = buffer->may_fail ? realloc(buffer->data, capacity) : memory_resize(buffer->data, capacity);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

/* Makes room for extra bytes and a NUL after them. */
static inline bool reserve(struct buffer *buffer, size_t extra)
{
    bool fits = extra < buffer->capacity - buffer->size && extra <= buffer->max - buffer->size;
    return (fits && !buffer->failed) || buffer_grow(buffer, extra);
}

void buffer_reserve(struct buffer *buffer, size_t extra_bytes)
{
    bool ignored = reserve(buffer, extra_bytes);
    (void)ignored;
}

char *buffer_extend(struct buffer *buffer, size_t count)
{
    if (!reserve(buffer, count))
        return NULL;
    buffer->size += count;
    return buffer->data + buffer->size - count;
}

void buffer_append(struct buffer *buffer, struct slice bytes)
{
    if (!reserve(buffer, bytes.size))
        return;
    if (bytes.size)
        memcpy(buffer->data + buffer->size, bytes.data, bytes.size);
    buffer->size += bytes.size;
}

void buffer_append_byte(struct buffer *buffer, char byte)
{
    if (!reserve(buffer, 1))
        return;
    buffer->data[buffer->size++] = byte;
}

void buffer_append_number(struct buffer *buffer, int64_t number)
{
    char digits[24];
    char *at = digits + sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    if (rest < 10 && number >= 0) {
        buffer_append_byte(buffer, (char)('0' + rest));
        return;
    }
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (number < 0)
        *--at = '-';
    buffer_append(buffer, slice_from(at, (size_t)(digits + sizeof digits - at)));
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list values;
    size_t room = buffer->failed ? 0 : buffer->capacity - buffer->size;
    va_start(values, format);
    int size = vsnprintf(room ? buffer->data + buffer->size : NULL, room, format, values);
    va_end(values);
    assert(size >= 0);
    if (!reserve(buffer, (size_t)size))
        return;
    if ((size_t)size >= room) {
        va_start(values, format);
        vsnprintf(buffer->data + buffer->size, (size_t)size + 1, format, values);
        va_end(values);
    }
    buffer->size += (size_t)size;
}

static void append_escape(struct buffer *buffer, unsigned char byte)
{
    static const char letters[32] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    bool is_letter = byte < sizeof letters && letters[byte];
    if (byte == '"' || byte == '\\' || is_letter) {
        const char escape[] = {'\\', is_letter ? letters[byte] : (char)byte};
        buffer_append(buffer, slice_from(escape, sizeof escape));
    } else if (byte < 0x20) {
        buffer_printf(buffer, "\\u%04x", byte);
    } else {
        buffer_append(buffer, SLICE("\xef\xbf\xbd")); /* U+FFFD */
    }
}

/* Returns the number of bytes at the front that need no escape. These bytes are a run of ASCII, or one other
 * character. Returns 0 if the first character needs an escape or is invalid. */
static size_t plain_size(const char *text, size_t left)
{
    const uint8_t *at = (const uint8_t *)text;
    size_t ascii = (size_t)(json_plain_end(text, text + left) - text);
    if (ascii || *at < 0x80)
        return ascii;
    size_t size = utf8_size(*at);
    return size && size <= left && utf8_is_sound(at, size) ? size : 0;
}

void buffer_append_json(struct buffer *buffer, struct slice text)
{
    size_t start = 0;
    size_t at = text.size ? (size_t)(json_plain_end(text.data, text.data + text.size) - text.data) : 0;
    if (at == text.size) { /* most texts need no escape */
        char *to = buffer_extend(buffer, text.size + 2);
        if (!to)
            return;
        *to = to[text.size + 1] = '"';
        if (text.size)
            memcpy(to + 1, text.data, text.size);
        return;
    }
    buffer_append_byte(buffer, '"');
    while (at < text.size) {
        size_t size = plain_size(text.data + at, text.size - at);
        at += size;
        if (size)
            continue;
        buffer_append(buffer, slice_from(text.data + start, at - start));
        append_escape(buffer, (unsigned char)text.data[at++]);
        start = at;
    }
    buffer_append(buffer, slice_skip(text, start));
    buffer_append_byte(buffer, '"');
}

const char *buffer_text(struct buffer *buffer)
{
    if (!reserve(buffer, 0))
        return "";
    buffer->data[buffer->size] = '\0';
    return buffer->data;
}
