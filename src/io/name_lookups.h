/* name_lookups.h - when libcurl may look up a name, and when it must.
 *
 * libcurl resolves a name in a thread of its own, and libc's resolver cannot be stopped. When a name server
 * does not answer, the thread runs until libc gives up, although its HTTP call has ended. Without a limit,
 * calls with short timeouts could leave any number of such threads. The limit is NAME_LOOKUPS_MAX threads.
 * When it is reached, only calls to recently found names may begin, because libcurl has these names in its
 * cache.
 *
 * libcurl caches the addresses of a name for 60 s, also if no connection to them can be opened. After such a
 * failure, the next call looks the name up again, but at most once a second. */
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

/* Notes that no connection to the addresses of the name in url could be opened. */
void name_lookups_failed(struct name_lookups *, struct slice url);

enum { NAME_ENTRY_MAX = 300 };

/* Returns whether the call that begins now must look up the name in url again. If so, entry is the text for
 * CURLOPT_RESOLVE that removes the name from libcurl's cache. */
bool name_lookups_must_renew(struct name_lookups *, struct slice url, int64_t now_us,
                             char entry[NAME_ENTRY_MAX]);

/* Notes that a call has ended during its name lookup. */
void name_lookups_abandoned(struct name_lookups *, int64_t now_us);

#endif
