#include "job/header_lines.h"

#include <assert.h>

void header_lines_add(struct header_lines *lines, struct slice name, struct slice value)
{
    assert(lines->count < HEADER_LINES_MAX);
    lines->starts[lines->count++] = lines->text->size;
    buffer_append(lines->text, name);
    buffer_append(lines->text, SLICE(": "));
    buffer_append(lines->text, value);
    lines->starts[lines->count] = lines->text->size;
}

void header_lines_add_number(struct header_lines *lines, struct slice name, int64_t value)
{
    char digits[24];
    struct buffer number = buffer_of(digits, sizeof digits);
    buffer_append_number(&number, value);
    header_lines_add(lines, name, buffer_slice(&number));
}

struct slice header_lines_at(const struct header_lines *lines, size_t index)
{
    return slice_from(lines->text->data + lines->starts[index],
                      lines->starts[index + 1] - lines->starts[index]);
}
