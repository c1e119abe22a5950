/* decimal.h - exact conversion of decimal numbers to integers. 2.675 s are exactly 2675 ms; a binary float
 * would round the number. */
#ifndef DUEPOST_BASE_DECIMAL_H
#define DUEPOST_BASE_DECIMAL_H

#include "base/slice.h"

/* Parses a number in JSON's spelling, of any length; leading zeros are allowed. *value becomes the number
 * times multiplier, rounded up. *is_exact becomes true if nothing was rounded; is_exact may be NULL. Returns
 * false if text is not a number, is negative, or exceeds max. multiplier is at most 10^9. */
bool decimal_parse(struct slice text, int64_t multiplier, int64_t max, int64_t *value, bool *is_exact);

#endif
