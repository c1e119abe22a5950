/* sentinel.h - which Redis is the primary now, as the Sentinels say.
 *
 * One of the Sentinels is connected to and asked each second; when it is lost, the
 * next one is. What was said last stays the answer until another is given. */
#ifndef DUEPOST_IO_SENTINEL_H
#define DUEPOST_IO_SENTINEL_H

#include "io/redis.h"

struct sentinel;

/* address has Sentinels; borrowed. on_switch is called when another primary is named than before. */
struct sentinel *sentinel_new(struct loop *, const struct redis_address *address, loop_fn *on_switch,
                              void *arg);
void sentinel_free(struct sentinel *); /* NULL is fine */

/* False: none has said yet. For redis_link_events.find. */
bool sentinel_find(void *sentinel, struct redis_place *);

#endif
