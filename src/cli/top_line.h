/* top_line.h - lines of text for a terminal: cut at its width, and with colours if the terminal has them. */
#ifndef DUEPOST_CLI_TOP_LINE_H
#define DUEPOST_CLI_TOP_LINE_H

#include "base/buffer.h"

struct top_look {
    size_t columns, rows; /* size of the terminal */
    bool has_color;
    bool is_utf8; /* true: bars are drawn with Unicode's block elements; false: with ASCII */
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

/* Adds a bar, one column wide, for each number. The height of a bar is in proportion to the highest number. A
 * negative number is unknown, and has no bar. */
void top_add_bars(struct top_lines *, enum top_style, const double *numbers, size_t count);

/* Adds spaces up to this column, unless the line is already longer. */
void top_indent(struct top_lines *, size_t column);

/* If the current line has less room than width, begins a new line at the column. */
void top_wrap(struct top_lines *, size_t width, size_t column);

void top_end_line(struct top_lines *);

/* Returns the number of lines that are left on the screen. */
size_t top_rows_left(const struct top_lines *);

#endif
