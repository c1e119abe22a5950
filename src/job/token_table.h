/* token_table.h - all tokens that this duepost knows: what the file of --tokens says.
 *
 * A table never changes but for its tokens' rates. Reactors share it, and so do requests under way, which
 * keep the one that they began with: it ends with the last that holds it. */
#ifndef DUEPOST_JOB_TOKEN_TABLE_H
#define DUEPOST_JOB_TOKEN_TABLE_H

#include "job/token.h"

struct token_table;

enum { TOKENS_MAX = 1000, TOKENS_FILE_BYTES_MAX = 1 << 20 };

/* A line each; blank ones and those that begin with '#' are nothing. A table without a token is one: it lets
 * nobody in. INVALID: problem begins with path and line. */
enum status token_table_parse(const char *path, struct slice text, struct token_table **,
                              struct problem *) MUST_USE;

/* One more holds it, one holds it no more (NULL is fine). From any thread. */
struct token_table *token_table_share(struct token_table *);
void token_table_release(struct token_table *);

/* Whose text this is; NULL: nobody's. It takes the same time for each, found or not. The token lives as long
 * as the table. */
struct token *token_table_find(struct token_table *, struct slice text);

size_t token_table_count(const struct token_table *);

#endif
