/* http_date.h - dates in headers (RFC 9110, section 5.6.7). */
#ifndef DUEPOST_JOB_HTTP_DATE_H
#define DUEPOST_JOB_HTTP_DATE_H

#include "base/slice.h"

/* Parses a date in one of the three forms of RFC 9110: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94
 * 08:49:37 GMT", "Sun Nov 6 08:49:37 1994". Sets *ms to ms since 1970. */
bool http_date_parse(struct slice, int64_t *ms);

#endif
