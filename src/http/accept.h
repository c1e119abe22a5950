/* accept.h - the header Accept of a request: RFC 9110, section 12.5.1. */
#ifndef DUEPOST_HTTP_ACCEPT_H
#define DUEPOST_HTTP_ACCEPT_H

#include "http/exchange.h"

enum { ACCEPT_WEIGHT_MAX = 1000 }; /* q=1 */

/* Returns the weight that the request gives to a media type, in thousandths: the largest of the items that
 * name this type, or 0. Ranges such as "text" with any subtype do not count. An item with a parameter version
 * counts only if the version is in versions, which ends with NULL. If versions is NULL, every version counts.
 */
int accept_weight(const struct exchange *, struct slice type, const char *const *versions);

#endif
