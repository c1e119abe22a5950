/* embedded_redis.h - the private redis-server that duepost runs when no --redis is given.
 *
 * It owns a data directory, which one duepost at a time may use. duepost holds duepost.lock; the kernel
 * releases it when duepost dies. redis-server holds redis.lock, which it inherits from duepost, so there is
 * never a second redis-server on the same files. redis-server has a session of its own: Ctrl-C stops duepost,
 * which stops Redis last. When duepost is killed, redis-server keeps running; the next duepost finds
 * redis.lock held and takes it over.
 *
 * A redis-server that dies is started again after 0.1 s, 0.2 s, ... 10 s, and after 0.1 s again once it has
 * run for 30 s. */
#ifndef DUEPOST_SERVER_EMBEDDED_REDIS_H
#define DUEPOST_SERVER_EMBEDDED_REDIS_H

#include <sys/types.h>

#include "base/status.h"
#include "io/loop.h"

struct embedded_redis;

/* Checks for redis-server 7.0 or newer, creates data_dir with missing parents, and locks it. Blocks for a
 * moment. STATUS_FAILED: the environment does not allow it; problem has the reason. The loop must outlive
 * it. */
enum status embedded_redis_new(struct loop *, const char *data_dir, struct embedded_redis **,
                               struct problem *) MUST_USE;

/* why is "" with STATUS_OK. fn may free the embedded Redis. */
typedef void embedded_redis_fn(void *arg, enum status, const char *why);

/* Starts or takes over redis-server. on_started comes once. STATUS_OK: Redis has loaded its data and answers,
 * or is still loading after a minute, which its clients then see. STATUS_FAILED: it exited.
 * STATUS_UNAVAILABLE: it does not answer. After a failure only embedded_redis_stop may follow. */
void embedded_redis_start(struct embedded_redis *, embedded_redis_fn *on_started, void *arg);

/* Stops it cleanly, or kills it after 15 s. on_stopped comes once: STATUS_FAILED says that it was killed;
 * confirmed changes are safe all the same. A pending on_started does not come any more. */
void embedded_redis_stop(struct embedded_redis *, embedded_redis_fn *on_stopped, void *arg);

/* NULL is ignored. A redis-server that was not stopped keeps running. */
void embedded_redis_free(struct embedded_redis *);

/* Returns the socket to connect to, for this process only. A directory whose name is too long for a socket's
 * address is reached through /proc/self/fd. Borrowed. */
const char *embedded_redis_path(const struct embedded_redis *);

/* Returns 0 when it does not run. */
pid_t embedded_redis_pid(const struct embedded_redis *);

#endif
