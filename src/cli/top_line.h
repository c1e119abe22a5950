/* top_line.h - lines of text for a terminal: cut at its width, with colours if it has them. */
#ifndef DUEPOST_CLI_TOP_LINE_H
#define DUEPOST_CLI_TOP_LINE_H

#include "base/buffer.h"

struct top_look {
    size_t columns, rows; /* size of the terminal */
    bool has_color;
    bool is_utf8; /* bars are block elements; else ASCII */
};

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_DIM, TOP_GOOD, TOP_WARN, TOP_BAD };

/* A screen of lines, each of which ends with a newline. */
struct top_lines {
    const struct top_look *look;
    struct buffer *text;
    size_t row, column; /* where the next text is written */
};

/* Adds text, as far as it fits into its line and the screen. Control bytes are replaced. */
void top_add(struct top_lines *, enum top_style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds a bar of one column for each number, in proportion to the highest; unknown numbers are negative. */
void top_add_bars(struct top_lines *, enum top_style, const double *numbers, size_t count);

/* Continues at this column of the line, if the line has not come so far. */
void top_indent(struct top_lines *, size_t column);

/* Begins a new line at the column, if the width is more than the line has left. */
void top_wrap(struct top_lines *, size_t width, size_t column);

void top_end_line(struct top_lines *);

/* Returns how many lines the screen has left. */
size_t top_rows_left(const struct top_lines *);

#endif
