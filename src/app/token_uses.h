/* token_uses.h - when each token of a client was used last.
 *
 * A request only notes its time in the memory of the process (struct token). The first reactor writes the
 * times of tokens that were used since the last write to Redis: each token within TOKEN_USES_TICK_MS after
 * its first use, and then at most once a minute. So the time survives restarts; if the process is killed, up
 * to a minute is lost. */
#ifndef DUEPOST_APP_TOKEN_USES_H
#define DUEPOST_APP_TOKEN_USES_H

#include "app/app.h"
#include "io/loop.h"
#include "job/token.h"

enum { TOKEN_USES_TICK_MS = 10000 };

struct token_uses;

/* Borrows both. */
struct token_uses *token_uses_new(struct loop *, struct app *);

/* Sets the tokens, at the start and after a reload; NULL: the server has none. Tokens that had another table
 * before keep their times. Shares the table. */
void token_uses_set(struct token_uses *, struct token_table *);

/* Call it when the store is freed and the loop has stopped. NULL is ignored. */
void token_uses_free(struct token_uses *);

/* Calls fn with the time of the last use of each token of the table, in its order, ms; 0: it is unknown, or
 * the token was never used. Without Redis, these are the times that this process knows. Borrows the table
 * until the callback. */
typedef void app_token_uses_fn(void *arg, const int64_t *times_ms);
void app_token_uses(struct app *, struct token_table *, app_token_uses_fn *, void *arg);

#endif
