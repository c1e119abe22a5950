/* token_table.h - all tokens in the file of --tokens.
 *
 * A table never changes, except for the state of its tokens' rates. Reactors share the table. A running
 * request keeps the table that was current when it began, even if the file is read again meanwhile. The last
 * reference that is released frees the table. */
#ifndef DUEPOST_JOB_TOKEN_TABLE_H
#define DUEPOST_JOB_TOKEN_TABLE_H

#include "job/token.h"

struct token_table;

enum { TOKENS_MAX = 1000, TOKENS_FILE_BYTES_MAX = 1 << 20 };

/* Parses one token per line. Blank lines and lines that begin with '#' are skipped. A table without tokens is
 * valid, and refuses every request. If INVALID, problem begins with path and line. */
enum status token_table_parse(const char *path, struct slice text, struct token_table **,
                              struct problem *) MUST_USE;

/* Add and release a reference. Releasing NULL is ignored. Any thread may call them. */
struct token_table *token_table_share(struct token_table *);
void token_table_release(struct token_table *);

/* Returns the token with this text, or NULL if it is unknown. Takes the same time for each text, so the time
 * does not show whether a token was found. The token is valid until the table is freed. */
struct token *token_table_find(struct token_table *, struct slice text);

/* Returns the token that has the same text as a token of another table, or NULL. */
const struct token *token_table_find_same(const struct token_table *, const struct token *);

/* Returns the token with this index, in the order of the file. */
const struct token *token_table_at(const struct token_table *, size_t number);

size_t token_table_count(const struct token_table *);

#endif
