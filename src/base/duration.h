/* duration.h - durations as text: "500ms", "15s", "3m", "1h", "2d", a sequence of these ("1h30m"), or plain
 * seconds ("1.5"). */
#ifndef DUEPOST_BASE_DURATION_H
#define DUEPOST_BASE_DURATION_H

#include "base/slice.h"

/* Parses a duration of at most max_ms. Fractions of a millisecond round up. In a sequence each part has a
 * unit, and units descend without repeats. Returns false for anything else, negative values included. */
bool duration_parse(struct slice text, int64_t max_ms, int64_t *ms);

/* Writes the shortest exact spelling: 900000 is "15m". */
enum { DURATION_TEXT_MAX = 32 };
void duration_format(int64_t ms, char text[DURATION_TEXT_MAX]);

#endif
