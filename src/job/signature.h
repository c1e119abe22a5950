/* signature.h - webhook signatures of Standard Webhooks 1.0.0: https://www.standardwebhooks.com
 *
 * The signed text is "id.seconds.body". A key is shared ("whsec_" and base64 of 16 to 64 bytes: HMAC-SHA256,
 * v1) or private ("whsk_" and base64 of an ed25519 seed and its public key: v1a). Several keys sign each
 * delivery, so that a receiver can change from one key to the next at any time. */
#ifndef DUEPOST_JOB_SIGNATURE_H
#define DUEPOST_JOB_SIGNATURE_H

#include "base/buffer.h"
#include "base/library.h"
#include "base/status.h"

enum {
    SIGNING_KEYS_MAX = 8, /* maximum number of keys that sign one delivery */
    SIGNING_KEY_BYTES_MAX = 64,
    SIGNATURE_MAX = SIGNING_KEYS_MAX * 96, /* bytes of all signatures of a delivery */
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

/* Writes the part that may be shown: "whsec_***", or "whpk_" and the public key in base64. */
void signing_key_show(const struct signing_key *, struct buffer *);

/* Parses the keys of a file, one per line. Empty lines and lines that begin with '#' are skipped. The file
 * must have at least one key. */
enum status signing_keys_parse(struct slice text, struct signing_keys *, struct problem *) MUST_USE;

/* Writes the webhook id of a job. The id is the same for retries and redrives. The id differs when the same
 * topic/jobId is scheduled again at another millisecond. The id contains no '.', because a '.' would shift
 * the signed parts. This is why the id is not the jobId, which may contain a '.'. */
void webhook_id_make(struct slice id, int64_t created_ms, char text[WEBHOOK_ID_SIZE]);

/* Writes the value of webhook-signature: one signature for each key, in their order, separated by spaces. If
 * there is no memory for a copy of body, the buffer is marked as failed. */
void signature_write(const struct signing_keys *, struct slice webhook_id, int64_t seconds, struct slice body,
                     struct buffer *);

/* Names the library and its version. */
void signature_library(struct library *);

#endif
