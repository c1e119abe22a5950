/* duration.h - durations as JSON numbers of seconds, and as text: "500ms", "15s", "3m", "1h", "2d", a
 * sequence of these ("1h30m"), or plain seconds ("1.5"). */
#ifndef DUEPOST_BASE_DURATION_H
#define DUEPOST_BASE_DURATION_H

#include "base/buffer.h"
#include "base/slice.h"

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
