#include "cli/top_line.h"

#include <stdarg.h>
#include <stdio.h>

#include "cli/table.h"

enum { TEXT_MAX = 512, LEVELS = 9 };

static const char *const styles[] = {
    [TOP_PLAIN] = "",        [TOP_TITLE] = "\033[1m", [TOP_DIM] = "\033[2m",
    [TOP_GOOD] = "\033[32m", [TOP_WARN] = "\033[33m", [TOP_BAD] = "\033[31m",
};

static bool is_shown(const struct top_lines *lines)
{
    return lines->row < lines->look->rows && lines->column < lines->look->columns;
}

static void begin_style(struct top_lines *lines, enum top_style style)
{
    if (lines->look->has_color)
        buffer_append(lines->text, slice_of(styles[style]));
}

static void end_style(struct top_lines *lines, enum top_style style)
{
    if (lines->look->has_color && style != TOP_PLAIN)
        buffer_append(lines->text, SLICE("\033[0m"));
}

/* Returns the size of the first character. A byte that is not valid UTF-8 counts as one character. */
static size_t character_size(struct slice text)
{
    size_t size = 1;
    while (size < text.size && ((unsigned char)text.data[size] & 0xc0) == 0x80)
        size++;
    return size;
}

static void add_text(struct top_lines *lines, struct slice text)
{
    while (text.size && is_shown(lines)) {
        size_t size = character_size(text);
        if (size == 1 || lines->look->is_utf8)
            buffer_append(lines->text, slice_from(text.data, size));
        else
            buffer_append_byte(lines->text, '?');
        text = slice_skip(text, size);
        lines->column++;
    }
}

void top_add(struct top_lines *lines, enum top_style style, const char *format, ...)
{
    char room[TEXT_MAX];
    struct buffer shown;
    va_list args;
    va_start(args, format);
    vsnprintf(room, sizeof room, format, args);
    va_end(args);
    if (!is_shown(lines) || !room[0])
        return;
    buffer_init(&shown, (size_t)2 * TEXT_MAX);
    table_append_shown(&shown, slice_of(room));
    begin_style(lines, style);
    add_text(lines, buffer_slice(&shown));
    end_style(lines, style);
    buffer_fini(&shown);
}

void top_add_bars(struct top_lines *lines, enum top_style style, const double *numbers, size_t count)
{
    static const char *const blocks[LEVELS] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const signs[LEVELS] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
    double highest = 0;
    for (size_t i = 0; i < count; i++)
        highest = numbers[i] > highest ? numbers[i] : highest;
    if (!is_shown(lines))
        return;
    begin_style(lines, style);
    for (size_t i = 0; i < count && is_shown(lines); i++) {
        int level = numbers[i] > 0 ? 1 + (int)(numbers[i] / highest * (LEVELS - 2)) : 0;
        buffer_append(lines->text, slice_of((lines->look->is_utf8 ? blocks : signs)[level]));
        lines->column++;
    }
    end_style(lines, style);
}

void top_indent(struct top_lines *lines, size_t column)
{
    while (lines->column < column && is_shown(lines)) {
        buffer_append_byte(lines->text, ' ');
        lines->column++;
    }
}

void top_end_line(struct top_lines *lines)
{
    if (lines->row < lines->look->rows) {
        while (lines->text->size && lines->text->data[lines->text->size - 1] == ' ')
            lines->text->size--;
        buffer_append_byte(lines->text, '\n');
    }
    lines->row++;
    lines->column = 0;
}

void top_wrap(struct top_lines *lines, size_t width, size_t column)
{
    if (lines->column <= column || lines->column + width <= lines->look->columns)
        return;
    top_end_line(lines);
    top_indent(lines, column);
}

size_t top_rows_left(const struct top_lines *lines)
{
    return lines->row < lines->look->rows ? lines->look->rows - lines->row : 0;
}
