/* jwt_keys.h - the keys that sign deliveries: the current key, and the next key, which receivers also
 * accept.
 *
 * The keys are a member of the settings of the topic "qstash", so that each process gets them with the
 * settings of a job's topic. The keys are created when they are first needed. A rotation makes the next key
 * the current one.
 *
 * The development mode uses the two public keys that QStash's clients contain. If other keys exist, duepost
 * does not replace them in this mode, and refuses to publish. Without the development mode, the two public
 * keys are replaced by new keys. */
#ifndef DUEPOST_QSTASH_JWT_KEYS_H
#define DUEPOST_QSTASH_JWT_KEYS_H

#include "qstash/handler.h"

struct jwt_keys {
    struct slice current, next;
};

/* Reads the keys from the member of the settings. Returns false if there are no keys in it. The keys borrow
 * the member. */
bool jwt_keys_read(struct slice member, struct jwt_keys *);

/* Creates the keys, unless they exist. Does not ask Redis if the keys existed within the last two seconds.
 * The verdict is OK if they exist. Calls back once, perhaps before the call returns. */
void jwt_keys_ensure(struct exchange *, app_verdict_fn *, void *arg);

#endif
