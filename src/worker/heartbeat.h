/* heartbeat.h - the dead man's switch: calls a url of a monitor again and again, so that the monitor notices
 * when duepost stops.
 *
 * Only the owner of the carry lock of the first shard calls, and only after Redis has
 * answered it and while Redis can confirm changes. So the calls stop when no process works, and continue when
 * another process has taken the lock. The request is a GET. A call that fails is not repeated
 * before the next one is due. */
#ifndef DUEPOST_WORKER_HEARTBEAT_H
#define DUEPOST_WORKER_HEARTBEAT_H

#include "io/http/client.h"
#include "store/store.h"

struct heartbeat;

/* Borrows the client and the store; copies the url. every_ms: the time between two calls. */
struct heartbeat *heartbeat_new(struct http_client *, struct store *, const char *url, int64_t every_ms);

/* Calls if it is time. The owner of the lock calls this once a second, after Redis has answered. NULL is
 * ignored. */
void heartbeat_tick(struct heartbeat *);

/* Must be called before the client is freed. NULL is ignored. */
void heartbeat_free(struct heartbeat *);

#endif
