/* token_file.h - reads the file of --tokens. */
#ifndef DUEPOST_SERVER_TOKEN_FILE_H
#define DUEPOST_SERVER_TOKEN_FILE_H

#include "job/token_table.h"

/* Reads the file. INVALID: problem says what to do. warning is set when users other than its owner may write
 * the file, and so grant themselves any right. Reading it is harmless, because it holds no tokens; otherwise
 * warning is empty. */
enum status token_file_read(const char *path, struct token_table **, struct problem *warning,
                            struct problem *) MUST_USE;

/* Logs the number of tokens; warns when the file is empty. */
void token_file_log(const char *path, const struct token_table *);

#endif
