/* progress.h - a progress bar on standard error, for commands that run for long. */
#ifndef DUEPOST_CLI_PROGRESS_H
#define DUEPOST_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

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
