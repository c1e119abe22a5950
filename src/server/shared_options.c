#include "server/shared_options.h"

#include <string.h>

#include "server/options_table.h"

/* Appends a text. Writes "," instead of each space, and "-" instead of each other byte that a message between
 * processes cannot have. */
static void write_text(struct slice text, struct buffer *out)
{
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.data[i];
        buffer_append_byte(out, byte == ' ' ? ',' : byte > ' ' && byte < 0x7f ? byte : '-');
    }
}

/* Returns the host and the database of a URL, or the whole text if it is not a URL. */
static struct slice without_access(struct slice text)
{
    struct slice before, rest, place;
    const char *authority = memmem(text.data, text.size, "://", 3);
    if (!authority)
        return text;
    rest = slice_skip(text, (size_t)(authority - text.data) + 3);
    slice_cut(rest, '?', &place, &rest);
    for (rest = place; slice_cut(rest, '@', &before, &rest);)
        place = rest;
    return place;
}

static void write_value(const struct options *options, enum option_id id, struct buffer *out)
{
    const char *text = options->settings[id].text;
    const void *member = (const char *)options + option_table[id].offset;
    int64_t number;
    switch (option_table[id].kind) {
    case OPTION_KIND_NUMBER:
    case OPTION_KIND_SIZE:
    case OPTION_KIND_DURATION:
        memcpy(&number, member, sizeof number);
        buffer_printf(out, "%lld%s", (long long)number,
                      option_table[id].kind == OPTION_KIND_DURATION ? "ms" : "");
        break;
    default:
        write_text(without_access(slice_of(text ? text : id == OPTION_HISTORY ? "off" : "none")), out);
        break;
    }
}

void shared_options_write(const struct options *options, struct buffer *out)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        if (!option_table[id].is_shared)
            continue;
        buffer_printf(out, "%s%s=", out->size ? " " : "", option_table[id].name);
        write_value(options, id, out);
    }
}
