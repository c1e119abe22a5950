/* embedded.h - the private redis-server, or valkey-server, that duepost runs when no --redis is given.
 *
 * The embedded Redis owns a data directory, which only one duepost may use at a time. duepost holds
 * duepost.lock; the kernel releases this lock when duepost dies. redis-server holds redis.lock, which it
 * inherits from duepost, so two redis-servers never use the same files. redis-server has a session of its
 * own, so Ctrl-C stops only duepost, and duepost stops redis-server last. If duepost is killed, redis-server
 * keeps running. The next duepost finds that redis.lock is held and takes over the running redis-server.
 *
 * If redis-server dies, it is started again after 0.1 s, 0.2 s, ... 10 s. When it has run for 30 s, the next
 * delay is 0.1 s again. Redis is not started while the disk of the data directory is full, because a
 * redis-server that fsyncs each write exits when a write fails. */
#ifndef DUEPOST_SERVER_REDIS_EMBEDDED_H
#define DUEPOST_SERVER_REDIS_EMBEDDED_H

#include <sys/types.h>

#include "base/status.h"
#include "io/loop.h"

struct embedded_redis;

/* Finds a program (see redis_program_find), creates data_dir with missing parents, and locks it. Blocks for a
 * moment. Returns STATUS_FAILED if the environment does not allow an embedded Redis; problem then has the
 * reason. Borrows the loop until embedded_redis_free. */
enum status embedded_redis_new(struct loop *, const char *data_dir, const char *program,
                               struct embedded_redis **, struct problem *) MUST_USE;

/* Receives the result of a start or a stop. why is "" with STATUS_OK. The function may free the embedded
 * Redis. */
typedef void embedded_redis_fn(void *arg, enum status, const char *why);

/* Returns whether the data directory has no files of jobs. */
bool embedded_redis_is_new(const struct embedded_redis *);

/* Starts or takes over redis-server. Calls on_started once. STATUS_OK means that Redis answers: it has loaded
 * its data, it is still loading after a minute, or the disk is full and Redis will be started when the disk
 * has room. STATUS_FAILED means that redis-server exited. STATUS_UNAVAILABLE means that it does not answer.
 * After a failure, call nothing but embedded_redis_stop. */
void embedded_redis_start(struct embedded_redis *, embedded_redis_fn *on_started, void *arg);

/* Stops redis-server cleanly, or kills it after 15 s. Calls on_stopped once. STATUS_FAILED means that
 * redis-server was killed; confirmed changes are still safe. A pending on_started is not called any more. */
void embedded_redis_stop(struct embedded_redis *, embedded_redis_fn *on_stopped, void *arg);

/* Frees the struct. NULL is ignored. A redis-server that was not stopped keeps running. */
void embedded_redis_free(struct embedded_redis *);

/* Returns the path of the socket, which only this process can use: if the directory's name is too long for a
 * socket's address, the path begins with /proc/self/fd. The path is valid until the embedded Redis is
 * freed. */
const char *embedded_redis_path(const struct embedded_redis *);

/* Returns a pointer to the reason why redis-server does not run, which is a literal, or NULL if no reason is
 * known. Any thread may read the reason until the embedded Redis is freed. */
const char *_Atomic *embedded_redis_outage(struct embedded_redis *);

/* Returns the pid of redis-server, or 0 if it does not run. */
pid_t embedded_redis_pid(const struct embedded_redis *);

#endif
