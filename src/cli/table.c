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

/* Of UTF-8: each byte that begins a character takes one place. */
static size_t width_of(const char *cell)
{
    size_t width = 0;
    for (; *cell; cell++)
        width += ((unsigned char)*cell & 0xc0) != 0x80;
    return width;
}

void table_add(struct table *table, const char *cell)
{
    size_t column = table->cells % table->columns;
    size_t width = width_of(cell ? cell : "");
    if (width > table->widths[column])
        table->widths[column] = width;
    for (const char *at = cell ? cell : ""; *at; at++)
        buffer_append_byte(&table->text, (unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at);
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
