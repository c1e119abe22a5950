/* new_token.h - duepost token new NAME scopes=... [topics=...] [rate=...] [--for-qstash] */
#ifndef DUEPOST_CLI_NEW_TOKEN_H
#define DUEPOST_CLI_NEW_TOKEN_H

#include <stdbool.h>

#include "base/status.h"

/* Prints a new token, then the line with its digest for the file of the option --tokens. words are the
 * arguments after "token". Returns false after an error; problem then says what is wrong, and nothing was
 * printed. */
bool new_token_print(int count, char *const *words, struct problem *);

#endif
