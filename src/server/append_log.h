/* append_log.h - cuts a torn transaction off Redis's append-only file before redis-server starts.
 *
 * Redis writes a script's changes between MULTI and EXEC. If a power cut leaves only the beginning of a
 * transaction on disk and its last command is torn, Redis (seen with 7.0) removes only this command. The file
 * then ends with an open MULTI. New changes are appended after this MULTI. The next start of Redis then
 * executes the half transaction together with these new changes, which leaves, for example, jobs without a
 * lease. */
#ifndef DUEPOST_SERVER_APPEND_LOG_H
#define DUEPOST_SERVER_APPEND_LOG_H

#include <stdint.h>

/* Removes the bytes after the last whole change of the append-only file in the directory dir_fd. No
 * redis-server may use the file. Blocks while it reads the file. Returns the number of removed bytes. If the
 * file is missing, cannot be read or is damaged elsewhere, does nothing, because redis-server reports such
 * errors. */
int64_t append_log_cut(int dir_fd);

#endif
