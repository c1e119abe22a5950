/* token.h - access tokens: a limit of their requests, a token, which is one line of the file of --tokens, and
 * the table of all tokens.
 *
 *   NAME sha256:<64 hex digits> scopes=schedule,read,cancel,admin,lease [topics=orders-*,mail]
 * [groups=shops-*] [rate=1000/s]
 *
 * The digest is the SHA-256 of the token's text as clients send it. Tokens are 256 random bits, which cannot
 * be guessed, so a slow hash with a salt would add nothing. */
#ifndef DUEPOST_JOB_TOKEN_H
#define DUEPOST_JOB_TOKEN_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"

/* ---- rates ----
 *
 * A limit on a token's jobs and other requests: "1000/s", "60/m", "10/h".
 *
 * The limit is a token bucket with room for the requests of one period. The bucket is refilled at the given
 * rate. So after a pause, a client may send all requests of one period at once. A bucket belongs to one
 * process, whose reactors share it. */

struct token_rate {
    int64_t period_ns;       /* 0: no limit */
    int64_t step_ns;         /* time for one request */
    _Atomic int64_t full_ns; /* time at which the bucket is full again, by the caller's clock */
};

enum { TOKEN_RATE_MAX = 1000000 };

/* Parses a rate; the bucket is then full. Returns false if text is not a rate. */
bool token_rate_parse(struct slice text, struct token_rate *);

/* Takes one request from the bucket, at now_ns. Returns false if the bucket is empty; *wait_ns is then the
 * time until it has room for one request. */
bool token_rate_take(struct token_rate *, int64_t now_ns, int64_t *wait_ns);

/* Takes more requests from the bucket, even if it is empty; count is their number. Later requests then wait
 * longer. */
void token_rate_charge(struct token_rate *, int64_t now_ns, size_t count);

/* ---- a token ---- */

/* The scopes: what a token allows. The scopes of a token are bits of one number. */
enum scope {
    SCOPE_SCHEDULE = 1 << 0,
    SCOPE_READ = 1 << 1,
    SCOPE_CANCEL = 1 << 2,
    SCOPE_ADMIN = 1 << 3,
    SCOPE_LEASE = 1 << 4,
};

enum {
    TOKEN_NAME_MAX = 64,
    TOKEN_RANDOM_BYTES = 32,
    TOKEN_TEXT_SIZE = 3 + 2 * TOKEN_RANDOM_BYTES,
    TOKEN_DIGEST_BYTES = 32,
    TOKEN_SCOPES_SIZE = 40, /* "schedule,read,cancel,admin,lease" and a NUL */
};

struct token {
    char *name;
    char *topics; /* patterns; NULL: all topics */
    char *groups; /* patterns; NULL: all groups if topics is NULL, else none */
    uint8_t digest[TOKEN_DIGEST_BYTES];
    unsigned scopes;
    struct token_rate rate;  /* any thread may change it */
    _Atomic int64_t used_ms; /* when a request last had the token, by the time of Redis; 0: since the start,
                                none. Any thread may change it */
    int64_t written_ms;      /* the value of used_ms that Redis has; 0: unknown. For app/token_uses.h */
};

/* Parses a line, which must not be empty. If INVALID, problem says which field is wrong, but never quotes
 * text that could be a token; struct token then has nothing to free. */
enum status token_parse(struct slice line, struct token *, struct problem *) MUST_USE;
void token_fini(struct token *);

/* Writes a new token, "dp_" and hex digits, without a NUL. */
void token_make(const uint8_t random[TOKEN_RANDOM_BYTES], char text[TOKEN_TEXT_SIZE]);

void token_digest(struct slice text, uint8_t digest[TOKEN_DIGEST_BYTES]);

/* Writes the line for a token whose text is given. fields is the rest of the line after the digest. */
void token_write(struct buffer *line, struct slice name, struct slice text, struct slice fields);

/* Writes the names of the scopes in set, such as "schedule,read". */
void token_scopes_text(unsigned set, char text[TOKEN_SCOPES_SIZE]);

/* ---- the table ----
 *
 * All tokens in the file of --tokens.
 *
 * A table never changes, except for the state of its tokens' rates and uses. Reactors share the table. A
 * running request keeps the table that was current when it began, even if the file is read again meanwhile.
 * The last reference that is released frees the table. */

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

/* The same for a caller that changes the state of its use. */
struct token *token_table_change(struct token_table *, size_t number);

size_t token_table_count(const struct token_table *);

#endif
