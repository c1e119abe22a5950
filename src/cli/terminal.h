/* terminal.h - the whole screen of a terminal, for a command that draws again and again; and the signals
 * with which its user ends a command. */
#ifndef DUEPOST_CLI_TERMINAL_H
#define DUEPOST_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
