/* duration.h - "500ms", "15s", "3m", "1h", "2d" or plain seconds ("1.5"). */
#ifndef DUEPOST_BASE_DURATION_H
#define DUEPOST_BASE_DURATION_H

#include "base/slice.h"

/* Not negative, finer than a millisecond rounded up, at most max_ms. */
bool duration_parse(struct slice text, int64_t max_ms, int64_t *ms);

/* The shortest exact spelling: 900000 is "15m". */
enum { DURATION_TEXT_MAX = 32 };
void duration_format(int64_t ms, char text[DURATION_TEXT_MAX]);

#endif
