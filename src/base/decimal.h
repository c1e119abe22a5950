/* decimal.h - decimal numbers to integers, exactly: 2.675 s are 2675 ms, which
 * a binary float would not say. */
#ifndef DUEPOST_BASE_DECIMAL_H
#define DUEPOST_BASE_DECIMAL_H

#include "base/slice.h"

/* text is a number as JSON spells it, of any length; leading zeros are taken, too. *value is text
 * times multiplier, rounded up, and *is_exact says whether nothing was rounded (may be NULL).
 * False: not a number, negative, or over max. multiplier is at most 10^9. */
bool decimal_parse(struct slice text, int64_t multiplier, int64_t max, int64_t *value, bool *is_exact);

#endif
