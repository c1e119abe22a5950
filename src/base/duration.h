/* duration.h - "500ms", "15s", "3m", "1h", "2d", several of them ("1h30m") or plain seconds ("1.5"). */
#ifndef DUEPOST_BASE_DURATION_H
#define DUEPOST_BASE_DURATION_H

#include "base/slice.h"

/* Not negative, finer than a millisecond rounded up, at most max_ms. Of several parts each has a unit, the
 * larger ones first, each at most once. */
bool duration_parse(struct slice text, int64_t max_ms, int64_t *ms);

/* The shortest exact spelling: 900000 is "15m". */
enum { DURATION_TEXT_MAX = 32 };
void duration_format(int64_t ms, char text[DURATION_TEXT_MAX]);

#endif
