/* seal.h - encrypts texts before they are stored, and opens them again (AES-256-GCM).
 *
 * A sealed text is base64url of: 1 (the format), 4 bytes that name a key of the file, 32 random bytes (the
 * salt), a nonce of 8 bytes, the encrypted text, and a tag of 16 bytes. Each thread that seals derives a data
 * key from the first key of the file and a salt of its own (HKDF-SHA256), and counts its nonces. A random
 * nonce would wear a key out: after 2^32 texts the chance of a repeated nonce is too high. A counter with a
 * new salt for each thread never repeats one, and processes need not agree on anything.
 *
 * Each text is sealed for an owner, such as the id of a job. A text that was copied to another owner does not
 * open.
 *
 * The keys belong to the process, because each record of a job passes here. Any thread may call all functions
 * of this header at any time. */
#ifndef DUEPOST_BASE_SEAL_H
#define DUEPOST_BASE_SEAL_H

#include "base/buffer.h"
#include "base/status.h"

enum {
    SEAL_KEYS_MAX = 16,
    SEAL_KEY_BYTES = 32,
    SEAL_NAME_SIZE = 9, /* the name of a key, 8 hexadecimal digits, and a NUL */
    SEAL_FILE_MAX = 16 * 1024,
    SEAL_DIGEST_BYTES = 32,
};

/* Number of bytes of the sealed text of size bytes. */
#define SEAL_SIZE(size) (((size) + 61) * 4 / 3 + 1)

/* The keys of a file. The first one seals; all of them open. */
struct seal_keys;

/* Reads the content of a file: a key in a line, 64 hexadecimal digits or base64 of 32 bytes. Empty lines and
 * lines that begin with # are ignored. If INVALID, problem says what is wrong in which line. */
enum status seal_keys_parse(struct slice text, struct seal_keys **, struct problem *) MUST_USE;
void seal_keys_free(struct seal_keys *); /* NULL is ignored. Keys in use stay until seal_use replaces them */

/* Returns the number of keys, and writes the name of one: the first bytes of a digest of the key. */
size_t seal_keys_count(const struct seal_keys *);
void seal_keys_name(const struct seal_keys *, size_t index, char name[SEAL_NAME_SIZE]);

/* Makes these keys those of the process, from the next call of each thread on. NULL: texts are not sealed,
 * and no sealed text opens. with_labels: labels are to be sealed, too, so lists cannot be filtered by them.
 */
void seal_use(struct seal_keys *, bool with_labels);

/* Return whether texts, and whether labels, are to be sealed. */
bool seal_is_on(void);
bool seal_has_labels(void);

/* Appends the sealed text. The process has keys. */
void seal_append(struct buffer *out, struct slice owner, struct slice plain);

enum seal_answer {
    SEAL_OPENED,
    SEAL_NO_KEY,  /* the process lacks the key */
    SEAL_DAMAGED, /* the text was changed, or belongs to another owner, or has another form */
};

/* Appends the text in plain. If plain has no room, it is marked as failed. */
enum seal_answer seal_open(struct slice sealed, struct slice owner, struct buffer *plain) MUST_USE;

/* Returns whether the first key of the process has sealed the text. */
bool seal_is_current(struct slice sealed);

/* Returns whether the process has the key that has sealed the text. */
bool seal_has_key(struct slice sealed);

/* Writes the name of the key that has sealed the text. Returns false if the text has another form. */
bool seal_name(struct slice sealed, char name[SEAL_NAME_SIZE]);

/* Writes HMAC-SHA256 of the text with the last key of the file, so that the text cannot be guessed from what
 * is in Redis. The process has keys. The last key is the oldest one, so digests stay the same while keys are
 * added in front of it. */
void seal_digest(struct slice text, unsigned char digest[SEAL_DIGEST_BYTES]);

#endif
