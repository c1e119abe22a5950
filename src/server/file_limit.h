/* file_limit.h - the limit of open files of this process. */
#ifndef DUEPOST_SERVER_FILE_LIMIT_H
#define DUEPOST_SERVER_FILE_LIMIT_H

#include "server/options.h"

/* Returns the number of open files that the options may need: for clients, attempts and all other
 * descriptors. */
int64_t file_limit_wanted(const struct options *);

/* Returns the highest limit that this process may have, or INT64_MAX if there is no limit. */
int64_t file_limit_max(void);

/* Raises the limit to the highest value that this process may have, because a thousand attempts and their
 * clients need more than the usual 1,024 files. Logs a warning if this is not enough. */
void file_limit_raise(const struct options *);

#endif
