/* file.h - reads whole files. */
#ifndef DUEPOST_BASE_FILE_H
#define DUEPOST_BASE_FILE_H

#include "base/buffer.h"
#include "base/status.h"

/* Initialises content and fills it with the bytes of the file, at most max_bytes. If INVALID, problem says
 * why the file could not be read; content may have a part of its bytes. The caller frees content in both
 * cases. */
enum status file_read(const char *path, size_t max_bytes, struct buffer *content, struct problem *) MUST_USE;

#endif
