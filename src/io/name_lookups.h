/* name_lookups.h - limits the name lookups that continue after their HTTP call has ended.
 *
 * libcurl resolves a name in a thread of its own, and libc's resolver cannot be stopped. When a name server
 * does not answer, the thread runs until libc gives up, although its HTTP call has ended. Without a limit,
 * calls with short timeouts could leave any number of such threads. The limit is NAME_LOOKUPS_MAX threads.
 * When it is reached, only calls to recently found names may begin, because libcurl has these names in its
 * cache. */
#ifndef DUEPOST_IO_NAME_LOOKUPS_H
#define DUEPOST_IO_NAME_LOOKUPS_H

#include "base/slice.h"

enum { NAME_LOOKUPS_MAX = 2048 };

struct name_lookups;

struct name_lookups *name_lookups_new(void);
void name_lookups_free(struct name_lookups *); /* NULL is ignored */

/* Returns false if a call to url would exceed the limit. now_us may come from any clock that does not
 * step. */
bool name_lookups_may_begin(struct name_lookups *, struct slice url, int64_t now_us);

/* Notes that the name in url was found, or that url has a literal address. */
void name_lookups_found(struct name_lookups *, struct slice url, int64_t now_us);

/* Notes that a call has ended during its name lookup. */
void name_lookups_abandoned(struct name_lookups *, int64_t now_us);

#endif
