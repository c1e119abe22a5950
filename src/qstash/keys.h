/* keys.h - the keys that sign deliveries: the current one, and the next one, which receivers accept, too.
 *
 * They are a member of the settings of the topic "qstash", so that each process has them with the settings of
 * a job's topic. They are made when they are needed first. A rotation makes the next key the current one.
 *
 * In the development mode they are the two keys that QStash's clients contain. It never replaces other keys,
 * which would be lost: it refuses to publish. Without it, these two keys count as none, so that data that a
 * development server leaves get keys of their own. */
#ifndef DUEPOST_QSTASH_KEYS_H
#define DUEPOST_QSTASH_KEYS_H

#include "qstash/handler.h"

struct keys {
    struct slice current, next;
};

/* Reads the member. Returns false if it has no keys. Borrows member. */
bool keys_read(struct slice member, struct keys *);

/* Makes the keys unless they exist, or existed within the last two seconds. The end of the verdict is DONE if
 * they exist. Calls back once, perhaps
 * before the call returns. */
void keys_ensure(struct exchange *, app_verdict_fn *, void *arg);

#endif
