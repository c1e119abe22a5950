/* token_file.h - reads the file of --tokens. */
#ifndef DUEPOST_SERVER_TOKEN_FILE_H
#define DUEPOST_SERVER_TOKEN_FILE_H

#include "job/token.h"

/* Reads the file. Returns STATUS_INVALID after an error; problem then says what to do. If users other than
 * the owner may write the file, sets warning, because these users could grant themselves any right; otherwise
 * warning is empty. Read access of other users is harmless, because the file contains only digests of tokens.
 */
enum status token_file_read(const char *path, struct token_table **, struct problem *warning,
                            struct problem *) MUST_USE;

/* Logs the number of tokens; warns when the file is empty. */
void token_file_log(const char *path, const struct token_table *);

#endif
