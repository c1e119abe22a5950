/* bearer.h - the token that a command shows to the server. */
#ifndef DUEPOST_CLI_BEARER_H
#define DUEPOST_CLI_BEARER_H

#include "base/buffer.h"
#include "base/status.h"

enum { BEARER_MAX = 1024 };

/* Appends "Authorization: Bearer ..." with the token on the only line of file or, without one, that of the
 * environment's DUEPOST_TOKEN; nothing where that is not set either. There is no option for the token itself:
 * everybody on the host can read those. INVALID: problem says what is wrong. */
enum status bearer_read(const char *file, struct buffer *header, struct problem *) MUST_USE;

#endif
