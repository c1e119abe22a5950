#include "cli/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { TEXT_MAX = 256 * 1024 * 1024, LINE_SIZE = 64 * 1024 };

void table_init(struct table *table, size_t columns, const char *const *titles)
{
    *table = (struct table){.columns = columns};
    buffer_init(&table->text, TEXT_MAX);
    for (size_t i = 0; i < columns; i++)
        table_add(table, titles[i]);
}

void table_fini(struct table *table)
{
    buffer_fini(&table->text);
}

/* Returns the width of a cell: the number of its UTF-8 characters. Each byte that begins a character counts
 * as one column. */
static size_t width_of(const char *cell)
{
    size_t width = 0;
    for (; *cell; cell++)
        width += ((unsigned char)*cell & 0xc0) != 0x80;
    return width;
}

/* Returns the size of the first character if a terminal would not show it but act on it, else 0. These are
 * the control characters of ASCII and C1, and characters that have no width, end a line or change the
 * direction of text: U+200B to U+200F, U+2028 to U+202E and U+2060 to U+206F. */
static size_t unseen_size(struct slice text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    if (at[0] < 0x20 || at[0] == 0x7f)
        return 1;
    if (at[0] == 0xc2 && text.size > 1 && at[1] < 0xa0)
        return 2;
    if (at[0] != 0xe2 || text.size < 3)
        return 0;
    unsigned low = at[2];
    bool is_general = at[1] == 0x80 && ((low >= 0x8b && low <= 0x8f) || (low >= 0xa8 && low <= 0xae));
    bool is_invisible = at[1] == 0x81 && low >= 0xa0 && low <= 0xaf;
    return is_general || is_invisible ? 3 : 0;
}

/* Returns the size of the first character, or 0 if the first byte is not part of UTF-8. */
static size_t character_size(struct slice text)
{
    const uint8_t *at = (const uint8_t *)text.data;
    size_t size = at[0] < 0x80 ? 1 : utf8_size(at[0]);
    return size <= 1 || (size <= text.size && utf8_is_sound(at, size)) ? size : 0;
}

void table_append_shown(struct buffer *out, struct slice text)
{
    while (text.size) {
        size_t unseen = unseen_size(text), size = unseen ? unseen : character_size(text);
        buffer_append(out, unseen || !size ? SLICE("?") : slice_from(text.data, size));
        text = slice_skip(text, size ? size : 1);
    }
}

void table_print_line(FILE *file, const char *format, ...)
{
    va_list values;
    struct buffer shown;
    char room[LINE_SIZE];
    va_start(values, format);
    int size = vsnprintf(room, sizeof room, format, values);
    va_end(values);
    size_t length = size < 0 ? 0 : (size_t)size < sizeof room ? (size_t)size : sizeof room - 1;
    buffer_init(&shown, sizeof room);
    table_append_shown(&shown, slice_from(room, length > 0 ? length - 1 : 0));
    fprintf(file, "%.*s\n", SLICE_ARG(buffer_slice(&shown)));
    buffer_fini(&shown);
}

void table_print_json(const char *json)
{
    for (struct slice text = slice_of(json); text.size;) {
        size_t unseen = unseen_size(text);
        const unsigned char *at = (const unsigned char *)text.data;
        if (at[0] == 0x7f)
            fputs("\\u007f", stdout);
        else if (unseen == 2)
            printf("\\u%04x", at[1]);
        else if (unseen == 3)
            printf("\\u%04x", 0x2000u | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu));
        else
            putchar(at[0]);
        text = slice_skip(text, unseen ? unseen : 1);
    }
    putchar('\n');
}

void table_add(struct table *table, const char *cell)
{
    size_t column = table->cells % table->columns;
    size_t width = width_of(cell ? cell : "");
    if (width > table->widths[column])
        table->widths[column] = width;
    table_append_shown(&table->text, slice_of(cell ? cell : ""));
    buffer_append_byte(&table->text, '\0');
    table->cells++;
}

void table_add_number(struct table *table, long long number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", number);
    table_add(table, text);
}

void table_print(const struct table *table)
{
    const char *at = table->text.data;
    for (size_t cell = 0; cell < table->cells; cell++) {
        size_t column = cell % table->columns;
        bool is_last = column + 1 == table->columns;
        size_t pad = is_last ? 0 : table->widths[column] - width_of(at) + 2;
        printf("%s%*s%s", at, (int)pad, "", is_last ? "\n" : "");
        at += strlen(at) + 1;
    }
}
