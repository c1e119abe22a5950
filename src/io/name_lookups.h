/* name_lookups.h - how many look-ups of names go on behind posts that have given up waiting for them.
 *
 * libcurl looks a name up in a thread of its own, and libc cannot be stopped: where
 * a name server does not answer, the thread stays for as long as libc tries, though
 * its post has ended. Posts with short timeouts would leave threads behind without
 * bound. So there are at most NAME_LOOKUPS_MAX; when there are so many, only names that
 * were found lately, which libcurl still knows, may be asked for. */
#ifndef DUEPOST_IO_NAME_LOOKUPS_H
#define DUEPOST_IO_NAME_LOOKUPS_H

#include "base/slice.h"

enum { NAME_LOOKUPS_MAX = 2048 };

struct name_lookups;

struct name_lookups *name_lookups_new(void);
void name_lookups_free(struct name_lookups *); /* NULL is fine */

/* False: the post to url would add to what is too much. Times here and below: any clock that does not jump.
 */
bool name_lookups_may_begin(struct name_lookups *, struct slice url, int64_t now_us);

/* The name in url has an address, or url spells one. */
void name_lookups_found(struct name_lookups *, struct slice url, int64_t now_us);

/* A post has ended while the name was still looked for. */
void name_lookups_abandoned(struct name_lookups *, int64_t now_us);

#endif
