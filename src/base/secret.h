/* secret.h - a password that may change while other threads use it.
 *
 * The memory of a password is overwritten when the password is replaced or freed. */
#ifndef DUEPOST_BASE_SECRET_H
#define DUEPOST_BASE_SECRET_H

#include "base/slice.h"

struct secret;

/* Copies text. If text.data is NULL, the secret is empty. */
struct secret *secret_new(struct slice text);
void secret_free(struct secret *); /* NULL is ignored */

/* Replaces the text. Any thread may call secret_replace and secret_copy. */
void secret_replace(struct secret *, const char *text);

/* Returns a copy of the text, or NULL if the secret is NULL or empty. The caller frees the copy with
 * secret_free_copy. */
char *secret_copy(struct secret *);
void secret_free_copy(char *); /* NULL is ignored */

#endif
