/* top.h - the parts of the command top: the figures of the last minute, and the screen. */
#ifndef DUEPOST_CLI_TOP_TOP_H
#define DUEPOST_CLI_TOP_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* ---- series.c ---- */

enum top_figure {
    TOP_ACCEPTED,
    TOP_DELIVERED,
    TOP_RETRIED,
    TOP_DEAD,
    TOP_LATE_P50,
    TOP_LATE_P99,
    TOP_FIGURES
};

enum { TOP_SECONDS = 60 };

struct top_series {
    int64_t end_ms; /* end of the last second in the array; 0: the array has no figures */
    double seconds[TOP_FIGURES][TOP_SECONDS]; /* one number for each second, the newest last; -1: unknown */
};

/* Begins without figures. */
void top_series_init(struct top_series *);

/* Adds the member "series" of answer, which may be NULL. Figures of a second that the series already has
 * are replaced. */
void top_series_merge(struct top_series *, const json_t *answer);

/* Returns the time after which figures may be missing or incomplete. The next request must ask for the
 * figures from this time on. 0: all figures are missing. */
int64_t top_series_after_ms(const struct top_series *);

/* Returns the mean of the last five seconds, or -1 if they are unknown. */
double top_series_rate(const struct top_series *, enum top_figure);

/* Returns the last known number within the last ten seconds, or -1. */
double top_series_last(const struct top_series *, enum top_figure);

/* ---- view.c ---- */

struct top_look {
    size_t columns, rows; /* size of the terminal */
    bool has_color;
    bool is_utf8; /* true: bars are drawn with Unicode's block elements; false: with ASCII */
};

struct top_view {
    const char *server;
    const json_t *overview; /* the last answer; NULL: unknown. Members may be missing */
    const struct top_series *series;
    const char *trouble; /* why the last request failed; NULL: it did not fail */
};

/* Writes at most as many lines as the terminal has rows. No line is wider than the terminal. */
void top_view_write(struct buffer *, const struct top_view *, const struct top_look *);

#endif
