/* terminal.h - the whole screen of a terminal, for a command that draws again and again; a progress bar for
 * commands that run for long; and the signals with which a user ends a command. */
#ifndef DUEPOST_CLI_TERMINAL_H
#define DUEPOST_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"

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
