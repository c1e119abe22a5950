/* identity.h - the server's keys with which it says to receivers who it is: JSON Web Tokens (RFC 7519) that
 * they sign, and the set of public keys (RFC 7517) with which receivers check them.
 *
 * The file has private keys in PEM without a password: Ed25519 (EdDSA), EC P-256 (ES256), RSA from 2,048 bits
 * (RS256). The first key of an algorithm signs; all are published. So a new key is added at the end of the
 * file, moved to the front when receivers have read it, and the old one removed when its last tokens have
 * ended. The functions have no state, so several threads may use the same keys.
 *
 * At the end: the answers of token servers, which give tokens to receivers that do not read ours. */
#ifndef DUEPOST_JOB_DELIVERY_IDENTITY_H
#define DUEPOST_JOB_DELIVERY_IDENTITY_H

#include "base/buffer.h"
#include "base/status.h"

enum {
    IDENTITY_KEYS_MAX = 8,
    IDENTITY_FILE_MAX = 64 * 1024, /* bytes */
    IDENTITY_TOKEN_MAX = 8192,     /* bytes of a token: its longest claims, signed by the longest key */
    IDENTITY_TOKEN_S = 300,        /* how long a token is valid; a request has a token of its own */
};

/* Owned by the options; NULL: the server has no keys. */
struct identity_keys;

/* Reads a file's text. If INVALID, problem says which key is wrong, and why. */
enum status identity_keys_parse(struct slice text, struct identity_keys **, struct problem *) MUST_USE;
void identity_keys_free(struct identity_keys *); /* NULL is ignored */

/* Returns whether a key can sign with this algorithm; empty: any. keys may be NULL. */
bool identity_keys_have(const struct identity_keys *, struct slice algorithm);

/* Writes the set of public keys as JSON: {"keys":[...]}. keys may be NULL, which is an empty set. */
void identity_keys_publish(const struct identity_keys *, struct buffer *);

/* A request that a token belongs to. */
struct identity_claims {
    struct slice issuer, subject, audience; /* texts, written as JSON strings */
    struct slice token_id;                  /* another one for each request */
    int64_t seconds;                        /* since 1970 */
};

/* Appends a token, signed by the first key of this algorithm (empty: the first key). If there is no such key
 * any more, or no room, the buffer is marked as failed. */
void identity_token_write(const struct identity_keys *, struct slice algorithm,
                          const struct identity_claims *, struct buffer *);

/* ---- answers of token servers (RFC 6749, 5.1) ---- */

enum {
    ACCESS_TOKEN_MAX = 8192,             /* bytes */
    ACCESS_ANSWER_ROOM = 64 * 1024,      /* bytes; an answer is not longer */
    ACCESS_EXPIRES_DEFAULT_S = 300,      /* for an answer without expires_in */
    ACCESS_EXPIRES_MAX_S = 24 * 60 * 60, /* a longer life is not believed */
};

struct access_answer {
    struct slice token; /* visible ASCII, 1 to ACCESS_TOKEN_MAX bytes; borrows the answer, or room */
    int64_t seconds;    /* 1 to ACCESS_EXPIRES_MAX_S */
};

/* Reads an answer with the status 200. room, of ACCESS_ANSWER_ROOM bytes, is for a decoded token. Returns the
 * literal that says what is wrong with the answer, or NULL. */
const char *access_answer_read(struct slice text, struct buffer *room, struct access_answer *);

#endif
