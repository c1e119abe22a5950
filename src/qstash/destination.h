/* destination.h - the destination of a publish: a url, or the name of a group, in the target of the request.
 *
 * The destination is raw, without any decoding, unless the whole url is percent-encoded (https%3A%2F%2F...).
 * The parameters of its query that belong to the request (the token, and settings whose names begin with
 * "upstash-") are removed. The rest is kept byte for byte, also a query inside an encoded url.
 */
#ifndef DUEPOST_QSTASH_DESTINATION_H
#define DUEPOST_QSTASH_DESTINATION_H

#include "qstash/settings.h"

struct destination {
    struct slice url;   /* empty: a group */
    struct slice group; /* name of the group */
    struct buffer text; /* owned; url points into it */
};

enum { DESTINATION_MAX = 2 * JOB_URL_MAX };

/* Reads a destination. Adds the settings in its query to settings, if settings is not NULL. If the
 * destination is invalid, returns false, with the error in settings, or in *fault if settings is NULL. The
 * caller frees the destination with destination_fini in both cases. */
bool destination_read(struct slice raw, struct destination *, struct settings *, const char **fault);
void destination_fini(struct destination *);

#endif
