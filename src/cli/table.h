/* table.h - rows of text in columns that are as wide as needed. */
#ifndef DUEPOST_CLI_TABLE_H
#define DUEPOST_CLI_TABLE_H

#include <stdio.h>

#include "base/buffer.h"

enum { TABLE_COLUMNS_MAX = 12 };

struct table {
    size_t columns, cells;
    size_t widths[TABLE_COLUMNS_MAX];
    struct buffer text; /* cells, each followed by a NUL */
};

/* Begins a table. titles is the first row, with one title for each column. */
void table_init(struct table *, size_t columns, const char *const *titles);
void table_fini(struct table *);

/* Appends text in a form that is safe on a terminal: '?' replaces each control character, and each
 * character that is invisible or changes the direction of text, and each byte that is not UTF-8. */
void table_append_shown(struct buffer *, struct slice text);

/* Prints a line of text for people, which is printed as by table_append_shown. format must end with a
 * newline; other newlines are replaced. */
void table_print_line(FILE *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints JSON for people. These characters are written as \uXXXX, so it stays the same JSON. */
void table_print_json(const char *json);

/* Adds the next cell. Cells are added row by row, from left to right. NULL adds an empty cell. The cell is
 * added as by table_append_shown. */
void table_add(struct table *, const char *cell);
void table_add_number(struct table *, long long number);

/* Prints the table to stdout. */
void table_print(const struct table *);

#endif
