/* bearer.h - the token with which a command authenticates. */
#ifndef DUEPOST_CLI_BEARER_H
#define DUEPOST_CLI_BEARER_H

#include "base/buffer.h"
#include "base/status.h"

enum { BEARER_MAX = 1024 };

/* Appends "Authorization: Bearer ..." with the token on the only line of file. If file is NULL, the token
 * comes from the environment variable DUEPOST_TOKEN. If this variable is not set, nothing is appended. No
 * option takes the token itself, because every user of the host can read a command's arguments. Returns
 * STATUS_INVALID after an error; problem then says what is wrong. */
enum status bearer_read(const char *file, struct buffer *header, struct problem *) MUST_USE;

#endif
