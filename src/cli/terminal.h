/* terminal.h - the whole screen of a terminal, for a command that draws again and again. */
#ifndef DUEPOST_CLI_TERMINAL_H
#define DUEPOST_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

struct terminal;

/* Takes the screen of the terminal that is standard input and output: keys come at once and unechoed. Returns
 * NULL without a terminal, or if its settings cannot be changed. */
struct terminal *terminal_open(void);

/* Gives the screen back as it was. NULL is ignored. */
void terminal_close(struct terminal *);

/* Gives the screen back, stops the process until it is continued, and takes the screen again. */
void terminal_suspend(struct terminal *);

/* Replaces all that the screen shows by these lines. */
void terminal_show(struct terminal *, struct slice lines);

/* Returns the size of the terminal that is standard output. If it is unknown, COLUMNS and LINES say it, and
 * else it is 80 by 24. */
void terminal_size(size_t *columns, size_t *rows);

/* Returns whether the locale of the environment has UTF-8. */
bool terminal_is_utf8(void);

/* Returns whether colours are wanted: standard output is a terminal that has them, and NO_COLOR is not set.
 */
bool terminal_has_color(void);

#endif
