/* embedded_redis.h - the private redis-server that duepost runs when it is given none.
 *
 * It owns a data directory, which one duepost at a time may use: duepost.lock
 * says so, and is let go by the kernel when duepost dies. The redis-server in it
 * holds redis.lock in the same way: a lock that it inherited, so that there is
 * never a second one on the same files, whoever died when. It has a session of
 * its own (Ctrl-C stops duepost, which then stops it last) and outlives a duepost that
 * is killed; the next one finds redis.lock held and takes it over.
 *
 * While it runs it is watched, and started again when it dies: after 0.1 s,
 * 0.2 s, ... 10 s, and again 0.1 s once it has run for 30 s. */
#ifndef DUEPOST_SERVER_EMBEDDED_REDIS_H
#define DUEPOST_SERVER_EMBEDDED_REDIS_H

#include <sys/types.h>

#include "base/status.h"
#include "io/loop.h"

struct embedded_redis;

/* Checks that there is a redis-server of 7.0 or newer, makes data_dir with its parents where it is
 * missing, and locks it; blocks for the moment that takes. STATUS_FAILED: it cannot be used, by
 * somebody else's fault; the problem says whose. The loop has to outlive it. */
enum status embedded_redis_new(struct loop *, const char *data_dir, struct embedded_redis **,
                               struct problem *) MUST_USE;

/* why is "" with STATUS_OK. fn may free the embedded Redis. */
typedef void embedded_redis_fn(void *arg, enum status, const char *why);

/* Starts or takes over redis-server. on_started comes once: with STATUS_OK when it has loaded its
 * data and answers (or goes on loading after a minute: it answers its clients so), with STATUS_FAILED
 * when it ended instead, with STATUS_UNAVAILABLE when it does not answer. After a failure there is
 * nothing more to come but stop. */
void embedded_redis_start(struct embedded_redis *, embedded_redis_fn *on_started, void *arg);

/* Ends it cleanly, or by force after 15 s: STATUS_FAILED then, though nothing that was confirmed is
 * lost. on_stopped comes once; on_started, if it is still due, no more. */
void embedded_redis_stop(struct embedded_redis *, embedded_redis_fn *on_stopped, void *arg);

/* A redis-server that was not stopped lives on. NULL is fine. */
void embedded_redis_free(struct embedded_redis *);

/* The socket to connect to, for this process only: a directory whose name is too long for a socket's
 * address is reached through /proc/self/fd. Borrowed. */
const char *embedded_redis_path(const struct embedded_redis *);

/* 0: none at the moment. */
pid_t embedded_redis_pid(const struct embedded_redis *);

#endif
