/* table.h - rows of texts in columns as wide as they need. */
#ifndef DUEPOST_CLI_TABLE_H
#define DUEPOST_CLI_TABLE_H

#include "base/buffer.h"

enum { TABLE_COLUMNS_MAX = 12 };

struct table {
    size_t columns, cells;
    size_t widths[TABLE_COLUMNS_MAX];
    struct buffer text; /* cells, each with a NUL behind it */
};

/* titles: as many as there are columns; the first row. */
void table_init(struct table *, size_t columns, const char *const *titles);
void table_fini(struct table *);

/* A text as it may be shown on a terminal: without control bytes, for which '?' stands. */
void table_append_shown(struct buffer *, struct slice text);

/* The next cell, row by row, as table_append_shown shows it. NULL is an empty one. */
void table_add(struct table *, const char *cell);
void table_add_number(struct table *, long long number);

/* To stdout. */
void table_print(const struct table *);

#endif
