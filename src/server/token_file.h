/* token_file.h - the file that --tokens names, read. */
#ifndef DUEPOST_SERVER_TOKEN_FILE_H
#define DUEPOST_SERVER_TOKEN_FILE_H

#include "job/token_table.h"

/* INVALID: problem says what to do. warning is empty unless somebody else than its owner may write the file,
 * and so give himself any right. (That others may read it is no harm: it holds no token.) */
enum status token_file_read(const char *path, struct token_table **, struct problem *warning,
                            struct problem *) MUST_USE;

/* Says what was read, and what it means when that is nothing. */
void token_file_log(const char *path, const struct token_table *);

#endif
