/* http_place.h - inside the HTTP client: the parts of a plain http url. */
#ifndef DUEPOST_IO_HTTP_PLACE_H
#define DUEPOST_IO_HTTP_PLACE_H

#include "base/slice.h"

/* authority: host or host:port, as spelled. target: path and query. Both borrow from the url, or are static.
 */
struct http_place {
    struct slice authority, target;
};

/* Splits a url. Returns false for a url that libcurl might write differently in a request; libcurl must send
 * such a request. */
bool http_place_split(struct slice url, struct http_place *);

#endif
