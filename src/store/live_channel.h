/* live_channel.h - a channel of Redis on which processes tell each other figures. Nothing is written to
 * Redis, and nothing depends on a message: it may be lost.
 *
 * The channel "live" is in the first shard and has a connection of its own. If its use is denied, or if Redis
 * is away, no messages come, and published ones are lost. */
#ifndef DUEPOST_STORE_LIVE_CHANNEL_H
#define DUEPOST_STORE_LIVE_CHANNEL_H

#include "store/store.h"

typedef void store_live_fn(void *arg, struct slice text);

/* Calls fn for each message of any process, this one included, until the store is freed. Call it once. */
void store_listen_live(struct store *, store_live_fn *, void *arg);

/* Copies the text. */
void store_publish_live(struct store *, struct slice text);

#endif
