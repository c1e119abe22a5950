/* json_keys.h - the keys of all open objects, for json_check: finds a key that an object has twice.
 *
 * A stack, in which each object's keys lie behind those of the object around it. They are compared
 * when their object ends, so that the cost stays near linear whatever the keys are. */
#ifndef DUEPOST_JOB_JSON_KEYS_H
#define DUEPOST_JOB_JSON_KEYS_H

#include "base/buffer.h"
#include "base/status.h"

enum { JSON_KEYS_INLINE = 64 }; /* before the heap is asked */

struct json_key {
    const char *data; /* without escapes */
    size_t size;
    uint64_t head;  /* its first bytes: nearly every comparison ends here */
    const char *at; /* where it stands in the text */
};

struct json_keys {
    struct json_key *items;
    size_t count, capacity;
    struct json_key inline_items[JSON_KEYS_INLINE];
    struct buffer unescaped; /* keys that had escapes; never moves */
};

void json_keys_init(struct json_keys *);
void json_keys_fini(struct json_keys *);

/* Borrows string, a key with its quotes. text_left is the size of the text from there on, which
 * bounds what keys with escapes may still need. False: there is no memory for it. */
bool json_keys_add(struct json_keys *, struct slice string, bool has_escapes, size_t text_left) MUST_USE;

/* Takes away the keys from number first on. Where one of them stands a second time, or NULL. */
const char *json_keys_take(struct json_keys *, size_t first);

#endif
