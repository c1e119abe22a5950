/* file.h - reads whole files. */
#ifndef DUEPOST_BASE_FILE_H
#define DUEPOST_BASE_FILE_H

#include "base/buffer.h"
#include "base/status.h"

/* Initialises content and fills it with what the file holds, at most max_bytes. INVALID: problem says why the
 * file could not be read; content then holds what was read before. buffer_fini is needed in both cases. */
enum status file_read(const char *path, size_t max_bytes, struct buffer *content, struct problem *) MUST_USE;

#endif
