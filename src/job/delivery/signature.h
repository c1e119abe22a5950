/* signature.h - signatures of deliveries: webhook signatures of Standard Webhooks 1.0.0
 * (https://www.standardwebhooks.com), HTTP message signatures (RFC 9421), and JSON Web Tokens.
 *
 * The signed text of Standard Webhooks is "id.seconds.body". A key is shared ("whsec_" and base64 of 16 to 64
 * bytes: HMAC-SHA256, v1) or private ("whsk_" and base64 of an ed25519 seed and its public key: v1a). Several
 * keys can sign the same delivery. So a receiver can change from the old key to the new key at any time. */
#ifndef DUEPOST_JOB_DELIVERY_SIGNATURE_H
#define DUEPOST_JOB_DELIVERY_SIGNATURE_H

#include "base/buffer.h"
#include "base/status.h"
#include "base/system.h"

enum {
    SIGNING_KEYS_MAX = 8, /* maximum number of keys that sign one delivery */
    SIGNING_KEY_BYTES_MAX = 64,
    SIGNATURE_MAX = SIGNING_KEYS_MAX * 96, /* maximum size of all signatures of a delivery in bytes */
    WEBHOOK_ID_SIZE = 4 + 32 + 1,          /* "msg_", 128 bits in hex, NUL */
};

struct signing_key {
    bool is_private; /* ed25519 */
    size_t size;
    unsigned char bytes[SIGNING_KEY_BYTES_MAX];
};

struct signing_keys {
    size_t count;
    struct signing_key items[SIGNING_KEYS_MAX];
};

/* Parses a key. If INVALID, *detail is a literal that names the broken rule. */
enum status signing_key_parse(struct slice text, struct signing_key *, const char **detail) MUST_USE;

/* Writes the key as it was parsed. */
void signing_key_write(const struct signing_key *, struct buffer *);

/* Writes the part of the key that clients may see: "whsec_***" for a shared key, "whpk_" and the public key
 * in base64 for a private key. */
void signing_key_show(const struct signing_key *, struct buffer *);

/* Parses the keys of a file, one per line. Empty lines and lines that begin with '#' are skipped. The file
 * must have at least one key. */
enum status signing_keys_parse(struct slice text, struct signing_keys *, struct problem *) MUST_USE;

/* Writes the webhook id of a job. All attempts of a job have the same id, also after the dead job is run
 * again. A job with the same topic/jobId that is created at another millisecond has another id. The id
 * contains no '.', because a receiver splits the signed text at each '.'. This is why the id is not the
 * jobId, which may contain a '.'. */
void webhook_id_make(struct slice id, int64_t created_ms, char text[WEBHOOK_ID_SIZE]);

/* Writes the value of webhook-signature: one signature for each key, in their order, separated by spaces. If
 * there is no memory for a copy of body, the buffer is marked as failed. */
void signature_write(const struct signing_keys *, struct slice webhook_id, int64_t seconds, struct slice body,
                     struct buffer *);

/* ---- HTTP message signatures ----
 *
 * RFC 9421, with the digest of the body of RFC 9530. A signature covers @method, @target-uri, content-digest
 * and webhook-id. The same keys sign: a shared key with hmac-sha256, a private key with ed25519. */

enum {
    CONTENT_DIGEST_MAX = 64,                             /* bytes of the value of Content-Digest */
    MESSAGE_SIGNATURE_MAX = SIGNING_KEYS_MAX * 224,      /* bytes of each value of signed_message_write */
    MESSAGE_SIGNED_TEXT_MAX = 4096 + CONTENT_DIGEST_MAX, /* with a url of JOB_URL_MAX bytes */
};

struct signed_message {
    struct slice method, url; /* as they are sent; a url has no fragment */
    struct slice digest;      /* the value of Content-Digest */
    struct slice webhook_id;
    int64_t seconds; /* the time of the signature, since 1970 */
};

/* Writes the value of Content-Digest. */
void content_digest_write(struct slice body, struct buffer *);

/* Writes the values of Signature-Input and Signature: one member for each key, sig1, sig2 and so on, in their
 * order. The keyid is the fingerprint (digest.h) of the shared key's bytes, or of the public key. */
void signed_message_write(const struct signing_keys *, const struct signed_message *, struct buffer *input,
                          struct buffer *signature);

/* Names the library and its version. */
void signature_library(struct library *);

/* ---- JSON Web Tokens ----
 *
 * JSON Web Tokens signed with HMAC-SHA256 (RFC 7519, RFC 7515: HS256). */

/* Appends a token with these claims; claims is a JSON object. If there is no room, the buffer is marked as
 * failed. */
void jwt_append(struct buffer *, struct slice key, struct slice claims);

/* Appends the SHA-256 of bytes in base64url. Claims use this form for the hash of a body. */
void jwt_append_digest(struct buffer *, struct slice bytes);

#endif
