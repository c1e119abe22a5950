/* token.h - an access token: one line of the file of tokens.
 *
 *   NAME sha256:<64 hex digits> scopes=schedule,read,cancel,admin,lease [topics=orders-*,mail]
 * [groups=shops-*] [rate=1000/s]
 *
 * The digest is the SHA-256 of the token's text as clients send it. Tokens are 256 random bits, which cannot
 * be guessed, so a slow hash with a salt would add nothing. */
#ifndef DUEPOST_JOB_TOKEN_H
#define DUEPOST_JOB_TOKEN_H

#include "base/buffer.h"
#include "base/status.h"
#include "job/token_rate.h"

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
    struct token_rate rate; /* the only member that changes; any thread may change it */
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

#endif
