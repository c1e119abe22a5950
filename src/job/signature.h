/* signature.h - webhooks signed as Standard Webhooks 1.0.0 says: https://www.standardwebhooks.com
 *
 * What is signed is "id.seconds.body". A key is shared ("whsec_" and base64 of 16 to 64 bytes: HMAC-SHA256,
 * v1) or private
 * ("whsk_" and base64 of an ed25519 seed and its public key: v1a). Several keys sign at once, so that a
 * receiver can change from one to the next whenever it likes. */
#ifndef DUEPOST_JOB_SIGNATURE_H
#define DUEPOST_JOB_SIGNATURE_H

#include "base/buffer.h"
#include "base/status.h"

enum {
    SIGNING_KEYS_MAX = 8, /* that sign at once */
    SIGNING_KEY_BYTES_MAX = 64,
    SIGNATURE_MAX = SIGNING_KEYS_MAX * 96, /* bytes of all of a job's */
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

/* INVALID: *detail is a literal that says which rule. */
enum status signing_key_parse(struct slice text, struct signing_key *, const char **detail) MUST_USE;

/* The same text again. */
void signing_key_write(const struct signing_key *, struct buffer *);

/* What may be shown of it: "whsec_***", or "whpk_" and the public key in base64. */
void signing_key_show(const struct signing_key *, struct buffer *);

/* A file's keys, one a line; empty lines and those that begin with '#' are passed over. At least one. */
enum status signing_keys_parse(struct slice text, struct signing_keys *, struct problem *) MUST_USE;

/* The id of a job: it stays over retries and redrives, and is another one when its topic/jobId is scheduled
 * anew, at another millisecond. It has no '.', which jobId may have, and which would move what is signed. */
void webhook_id_make(struct slice id, int64_t created_ms, char text[WEBHOOK_ID_SIZE]);

/* The value of webhook-signature: one for each key, in their order, with spaces between. The buffer fails
 * where there is no memory for a copy of body. */
void signature_write(const struct signing_keys *, struct slice webhook_id, int64_t seconds, struct slice body,
                     struct buffer *);

#endif
