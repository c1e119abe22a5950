/* live_channel.h - a Pub/Sub channel of Redis on which processes exchange their current figures (app/live.h).
 * Redis stores no messages, and messages may be lost, so duepost must work without them.
 *
 * The channel "live" is in the first shard and has a connection of its own. While Redis denies the use of
 * the channel or is unreachable, no messages come, and published messages are lost. */
#ifndef DUEPOST_STORE_LIVE_CHANNEL_H
#define DUEPOST_STORE_LIVE_CHANNEL_H

#include "store/store.h"

typedef void store_live_fn(void *arg, struct slice text);

/* Calls fn for each message of any process, this one included, until the store is freed. Call it once. */
void store_listen_live(struct store *, store_live_fn *, void *arg);

/* Copies the text. */
void store_publish_live(struct store *, struct slice text);

#endif
