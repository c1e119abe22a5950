/* append_log.h - finds the files of Redis's append-only file, and cuts a torn end off before redis-server
 * starts.
 *
 * Redis writes a script's changes between MULTI and EXEC. If a power cut leaves only the beginning of a
 * transaction on disk and its last command is torn, Redis (seen with 7.0) removes only this command. The file
 * then ends with an open MULTI. New changes are appended after this MULTI. The next start of Redis then
 * executes the half transaction together with these new changes, which leaves, for example, jobs without a
 * lease.
 *
 * Zeros at the end, up to 4,096 bytes, are cut, too: a file system may have written the size of the file
 * before its data. Redis would refuse such a file. */
#ifndef DUEPOST_SERVER_APPEND_LOG_H
#define DUEPOST_SERVER_APPEND_LOG_H

#include <stdint.h>

/* Without its manifest, redis-server ignores all other files of the append-only file: it starts with no jobs,
 * and writes new changes behind the old ones. */
enum append_log_state { APPEND_LOG_NONE, APPEND_LOG_WHOLE, APPEND_LOG_WITHOUT_MANIFEST };
enum append_log_state append_log_find(int dir_fd);

/* Removes the bytes after the last whole change of the append-only file in the directory dir_fd. No
 * redis-server may use the file. Blocks while it reads the file. Returns the number of removed bytes. If the
 * file is missing, cannot be read or is damaged elsewhere, does nothing, because redis-server reports such
 * errors. */
int64_t append_log_cut(int dir_fd);

#endif
