/* json_keys.h - the keys of all open objects; with them json_check finds duplicate keys of an object.
 *
 * The keys are kept on a stack: the keys of an object come after the keys of the object that contains it. The
 * keys of an object are compared only when the object ends, so that even the worst text takes little more
 * than linear time. */
#ifndef DUEPOST_JOB_JSON_KEYS_H
#define DUEPOST_JOB_JSON_KEYS_H

#include "base/buffer.h"
#include "base/status.h"

enum { JSON_KEYS_INLINE = 64 }; /* number of keys that need no memory from the heap */

struct json_key {
    const char *data; /* decoded */
    size_t size;
    uint64_t head;  /* the first bytes of the key; nearly always, comparing these bytes is enough */
    const char *at; /* position of the key in the text */
};

struct json_keys {
    struct json_key *items;
    size_t count, capacity;
    struct json_key inline_items[JSON_KEYS_INLINE];
    struct buffer unescaped; /* the decoded texts of keys with escapes; this memory never moves */
};

void json_keys_init(struct json_keys *);
void json_keys_fini(struct json_keys *);

/* Adds a key. Borrows string, the key with its quotes, until the key is removed. text_left is the size of the
 * text from the key to the end; it limits the memory for keys with escapes. Returns false if there is no
 * memory. */
bool json_keys_add(struct json_keys *, struct slice string, bool has_escapes, size_t text_left) MUST_USE;

/* Removes the key with index first and all keys after it. Returns the position of a duplicate among the
 * removed keys, or NULL. */
const char *json_keys_take(struct json_keys *, size_t first);

#endif
