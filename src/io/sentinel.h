/* sentinel.h - which Redis is the primary now, as the Sentinels say.
 *
 * One of the Sentinels is connected to and asked each second; when it is lost, the
 * next one is. What was said last stays the answer until another is given. */
#ifndef DUEPOST_IO_SENTINEL_H
#define DUEPOST_IO_SENTINEL_H

#include "io/redis.h"

struct sentinel;

struct sentinel_events {
    loop_fn *on_switch; /* another primary is named than before */
    /* A node of the service, primary or replica; with each answer again. */
    void (*on_node)(void *arg, const struct redis_place *);
    void *arg;
};

/* address has Sentinels; borrowed. */
struct sentinel *sentinel_new(struct loop *, const struct redis_address *address, struct sentinel_events);
void sentinel_free(struct sentinel *); /* NULL is fine */

/* False: none has said yet. For redis_link_events.find. */
bool sentinel_find(void *sentinel, struct redis_place *);

#endif
