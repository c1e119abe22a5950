/* top_view.h - the screen of duepost top: the overview as lines of text. */
#ifndef DUEPOST_CLI_TOP_VIEW_H
#define DUEPOST_CLI_TOP_VIEW_H

#include <jansson.h>

#include "cli/top_line.h"
#include "cli/top_series.h"

struct top_view {
    const char *server;
    const json_t *overview; /* the last answer; NULL: unknown. Members may be missing */
    const struct top_series *series;
    const char *trouble; /* why the last request failed; NULL: it did not fail */
};

/* Writes at most as many lines as the terminal has rows. No line is wider than the terminal. */
void top_view_write(struct buffer *, const struct top_view *, const struct top_look *);

#endif
