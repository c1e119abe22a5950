/* bearer.h - the token with which a command authenticates. */
#ifndef DUEPOST_CLI_BEARER_H
#define DUEPOST_CLI_BEARER_H

#include "base/buffer.h"
#include "base/status.h"

enum { BEARER_MAX = 1024 };

/* Appends "Authorization: Bearer ..." with the token on the only line of file. Without a file it uses the
 * environment variable DUEPOST_TOKEN; when that is not set it appends nothing. There is no option for the
 * token itself, because every user of the host can read a command's arguments. INVALID: problem says what is
 * wrong. */
enum status bearer_read(const char *file, struct buffer *header, struct problem *) MUST_USE;

#endif
