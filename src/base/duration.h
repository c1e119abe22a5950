/* duration.h - durations, and the exact decimal numbers in which they are given. */
#ifndef DUEPOST_BASE_DURATION_H
#define DUEPOST_BASE_DURATION_H

#include "base/buffer.h"
#include "base/slice.h"

/* ---- decimal numbers ---- */

/* Exact conversion of decimal numbers to integers. 2.675 s are exactly 2675 ms; a binary float
 * would round the number. */

/* Parses a number in JSON's spelling, of any length; leading zeros are allowed. *value becomes the number
 * times multiplier, rounded up. *is_exact becomes true if nothing was rounded; is_exact may be NULL. Returns
 * false if text is not a number, is negative, or exceeds max. multiplier is at most 10^9. */
bool decimal_parse(struct slice text, int64_t multiplier, int64_t max, int64_t *value, bool *is_exact);

/* ---- durations ---- */

/* Durations as JSON numbers of seconds, and as text: "500ms", "15s", "3m", "1h", "2d", a
 * sequence of these ("1h30m"), or plain seconds ("1.5"). */

/* Parses a duration of at most max_ms. Fractions of a millisecond round up. In a sequence each part has a
 * unit, and units descend without repeats. Returns false for any other text, also for negative values. */
bool duration_parse(struct slice text, int64_t max_ms, int64_t *ms);

/* Writes the shortest exact text of a duration: 900000 is "15m". */
enum { DURATION_TEXT_MAX = 32 };
void duration_format(int64_t ms, char text[DURATION_TEXT_MAX]);

/* Reads a JSON number of seconds, exactly. A number finer than a millisecond is rounded up. Returns false if
 * text is not a number, is negative, or exceeds max_ms. */
bool seconds_parse(struct slice number, int64_t max_ms, int64_t *ms);

/* Writes a JSON number of seconds: 1500 is 1.5, 2000 is 2. ms is not negative. */
void seconds_append(struct buffer *, int64_t ms);

#endif
