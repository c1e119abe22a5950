/* json_keys.h - the keys of all open objects; with them json_check finds duplicate keys of an object.
 *
 * The keys form a stack: the keys of an object follow the keys of the object around it. The keys of an object
 * are compared when the object ends, so that the cost stays near linear for any keys. */
#ifndef DUEPOST_JOB_JSON_KEYS_H
#define DUEPOST_JOB_JSON_KEYS_H

#include "base/buffer.h"
#include "base/status.h"

enum { JSON_KEYS_INLINE = 64 }; /* number of keys without memory from the heap */

struct json_key {
    const char *data; /* decoded */
    size_t size;
    uint64_t head;  /* the first bytes of the key, which decide nearly every comparison */
    const char *at; /* position of the key in the text */
};

struct json_keys {
    struct json_key *items;
    size_t count, capacity;
    struct json_key inline_items[JSON_KEYS_INLINE];
    struct buffer unescaped; /* keys that had escapes, without them; this memory never moves */
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
