/* output.h - text that commands print for people: cells without control bytes, tables, and times with their
 * distance from now. */
#ifndef DUEPOST_CLI_OUTPUT_H
#define DUEPOST_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/timestamp.h"

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

enum { WHEN_SPAN_SIZE = 64 };

/* Writes a time as RFC 3339 in UTC. text is "now", RFC 3339, or a duration: "-1h" is before now, "+15m" is
 * after now. Returns false if text has none of these forms. */
bool when_parse(const char *text, char time[TIMESTAMP_SIZE]);

/* Does the same for a time in the past, where a bare duration such as "1h" is before now. */
bool when_parse_past(const char *text, char time[TIMESTAMP_SIZE]);

/* Writes "in 14 min 3 s", "2 h 5 min ago" or "now", by this host's clock. Returns false if time is not RFC
 * 3339. */
bool when_span(const char *time, char span[WHEN_SPAN_SIZE]);

/* Writes how long ago a time was by this host's clock, in the largest unit that fits, such as "12m". Writes
 * "0s" for a time in the future. Returns false if time is not RFC 3339. */
bool when_age(const char *time, char age[WHEN_SPAN_SIZE]);

#endif
