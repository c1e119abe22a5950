/* live.h - counts the figures of this process each second, and exchanges them with the other processes.
 *
 * The figures go through a channel of Redis (store/store.h), so nothing is stored in Redis. A process
 * sends "look" on the channel if a client has requested the figures within the last seconds. Then all
 * processes send their figures each second, until no "look" has come for 15 seconds. After the first "look"
 * of a process, they also send the figures of their last 15 minutes. At the start, the processes also compare
 * settings (agreement.h). */
#ifndef DUEPOST_APP_LIVE_H
#define DUEPOST_APP_LIVE_H

#include "app/live_board.h"
#include "io/http_limits.h"
#include "io/loop.h"
#include "store/store.h"

struct live;

/* Begins to count. One reactor of a process does this. Borrows all arguments. */
struct live *live_new(struct loop *, struct store *, struct metrics_board *, struct http_limits *,
                      struct live_board *);

/* Call it after the store has been freed. NULL is ignored. */
void live_free(struct live *);

#endif
