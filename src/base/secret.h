/* secret.h - a password that may change while other threads use it.
 *
 * Its memory is overwritten when it is replaced or freed. */
#ifndef DUEPOST_BASE_SECRET_H
#define DUEPOST_BASE_SECRET_H

#include "base/slice.h"

struct secret;

/* Copies text. A secret with NULL data is empty. */
struct secret *secret_new(struct slice text);
void secret_free(struct secret *); /* NULL is ignored */

/* Replaces the text. Both functions may be called by any thread. */
void secret_replace(struct secret *, const char *text);

/* Returns a copy of the text, for secret_free_copy. Returns NULL if the secret is NULL or empty. */
char *secret_copy(struct secret *);
void secret_free_copy(char *); /* NULL is ignored */

#endif
