#include "cli/table.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 256 * 1024 * 1024 };

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

/* C1 control characters are also replaced, because some terminals obey them. In UTF-8 they are 0xc2 and a
 * byte up to 0x9f. */
void table_append_shown(struct buffer *out, struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        bool is_c1 = byte == 0xc2 && i + 1 < text.size && (unsigned char)text.data[i + 1] < 0xa0;
        buffer_append_byte(out, byte < 0x20 || byte == 0x7f || is_c1 ? '?' : text.data[i]);
        i += is_c1;
    }
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
