#include "job/text/sealed.h"

#include "base/seal.h"

#define OPENING "\"\\u001e"

void sealed_value_append(struct buffer *out, struct slice owner, struct slice value)
{
    if (!seal_is_on()) {
        buffer_append(out, value);
        return;
    }
    buffer_append(out, SLICE(OPENING));
    seal_append(out, owner, value);
    buffer_append_byte(out, '"');
}

bool sealed_value_is(struct slice value)
{
    return slice_starts_with(value, SLICE(OPENING)) && value.size > sizeof OPENING &&
           value.data[value.size - 1] == '"';
}

struct slice sealed_value_open(struct slice owner, struct slice value, struct buffer *text)
{
    size_t first = text->size;
    if (!sealed_value_is(value))
        return value;
    struct slice sealed = slice_from(value.data + sizeof OPENING - 1, value.size - sizeof OPENING);
    if (seal_open(sealed, owner, text) != SEAL_OPENED || text->failed)
        return SLICE(SEALED_VALUE_SHUT);
    return slice_from(text->data + first, text->size - first);
}
