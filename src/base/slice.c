#include "base/slice.h"

#include "base/memory.h"

bool slice_cut(struct slice text, char separator, struct slice *head, struct slice *rest)
{
    const char *found = text.size ? memchr(text.data, separator, text.size) : NULL;
    if (!found) {
        *head = text;
        *rest = (struct slice){NULL, 0};
        return false;
    }
    *head = slice_from(text.data, (size_t)(found - text.data));
    *rest = slice_skip(text, head->size + 1);
    return true;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

struct slice slice_trim(struct slice text)
{
    while (text.size && is_blank(text.data[0]))
        text = slice_skip(text, 1);
    while (text.size && is_blank(text.data[text.size - 1]))
        text.size--;
    return text;
}

bool slice_to_number(struct slice text, uint64_t max, uint64_t *value)
{
    enum { SAFE_DIGITS = 19 }; /* a number with at most this many digits fits into 64 bits */
    uint64_t sum = 0;
    if (text.size == 0)
        return false;
    const char *at = text.data, *end = at + text.size;
    const char *safe_end = text.size > SAFE_DIGITS ? at + SAFE_DIGITS : end;
    for (; at < safe_end; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';
        if (digit > 9)
            return false;
        sum = sum * 10 + digit;
    }
    for (; at < end; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';
        if (digit > 9 || sum > UINT64_MAX / 10 || sum * 10 > UINT64_MAX - digit)
            return false;
        sum = sum * 10 + digit;
    }
    if (sum > max)
        return false;
    *value = sum;
    return true;
}

char *slice_dup(struct slice text)
{
    char *copy = memory_new(text.size + 1);
    if (text.size)
        memcpy(copy, text.data, text.size);
    return copy;
}
