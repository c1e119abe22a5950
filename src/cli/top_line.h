/* top_line.h - lines of text for a terminal: cut at its width, and with colours if the terminal has them. */
#ifndef DUEPOST_CLI_TOP_LINE_H
#define DUEPOST_CLI_TOP_LINE_H

#include "base/buffer.h"

struct top_look {
    size_t columns, rows; /* size of the terminal */
    bool has_color;
    bool is_utf8; /* bars are drawn with block elements; otherwise with ASCII */
};

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_DIM, TOP_GOOD, TOP_WARN, TOP_BAD };

/* A screen of lines, each of which ends with a newline. */
struct top_lines {
    const struct top_look *look;
    struct buffer *text;
    size_t row, column; /* position of the next text */
};

/* Adds the part of a text that fits into the line and the screen. Control bytes are replaced. */
void top_add(struct top_lines *, enum top_style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a bar of one column for each number, in proportion to the highest; unknown numbers are negative. */
void top_add_bars(struct top_lines *, enum top_style, const double *numbers, size_t count);

/* Adds spaces up to this column, unless the line is already longer. */
void top_indent(struct top_lines *, size_t column);

/* Begins a new line at the column, if the line has less room than width. */
void top_wrap(struct top_lines *, size_t width, size_t column);

void top_end_line(struct top_lines *);

/* Returns the number of lines that are left on the screen. */
size_t top_rows_left(const struct top_lines *);

#endif
