/* output.h - what people see and press: cells without control bytes, tables, times with their distance from
 * now, and the terminal. */
#ifndef DUEPOST_CLI_OUTPUT_H
#define DUEPOST_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"
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

/* ---- terminal.c ---- */

/* The whole screen of a terminal, for a command that draws again and again; a progress bar for
 * commands that run for long; and the signals with which a user ends a command. */

struct terminal;

/* Returns a descriptor that does not block, from which the command reads the signals that end it (SIGINT,
 * SIGTERM and SIGHUP) and, if more is not 0, this signal. Ignores SIGPIPE. Threads that are started later do
 * not get these signals either. Returns -1 after an error; problem then says why. */
int terminal_signals(int more, struct problem *);

/* Takes over the screen of the terminal that is standard input and output. Keys are then read at once,
 * without echo. Returns NULL without a terminal, or if its settings cannot be changed. */
struct terminal *terminal_open(void);

/* Restores the screen. NULL is ignored. */
void terminal_close(struct terminal *);

/* Restores the screen, stops the process until it is continued, and takes over the screen again. */
void terminal_suspend(struct terminal *);

/* Replaces the contents of the screen by the lines in text. */
void terminal_show(struct terminal *, struct slice lines);

/* Returns the size of the terminal that is standard output. If the size is unknown, uses the variables
 * COLUMNS and LINES, or else 80 by 24. */
void terminal_size(size_t *columns, size_t *rows);

/* Returns whether the locale of the environment has UTF-8. */
bool terminal_is_utf8(void);

/* Returns whether to use colours: standard output is a terminal with colours, and NO_COLOR is not set.
 */
bool terminal_has_color(void);

struct progress {
    bool is_shown;    /* standard error is a terminal, and standard output is not */
    const char *what; /* text in front of the bar; NULL: nothing */
    long long total;  /* expected number of items; 0: unknown */
    int64_t began_ms; /* start, by clock_wall_ms */
    int64_t drawn_ms; /* time at which the bar was last drawn; 0: never */
};

/* Begins. Draws no bar if no terminal can show it. */
void progress_begin(struct progress *);

/* Draws the bar, at most ten times a second. */
void progress_show(struct progress *, long long done);

/* Removes the bar. */
void progress_end(struct progress *);

#endif
